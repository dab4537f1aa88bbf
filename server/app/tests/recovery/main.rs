//! Stores that lose what they had under nodes that serve, through HTTP: who is back, in which order, and what nobody gets.

mod check;
mod crowded;
mod falling_back;
mod gates;
mod people;
mod receipts;
mod restored;
mod site;
mod told;
mod two_nodes;
