//! Stores that lose what they had under nodes that serve, through HTTP: who is back, in which order, and what nobody gets.

mod check;
mod crowded;
mod falling_back;
mod people;
mod receipts;
mod restored;
mod site;
mod two_nodes;
