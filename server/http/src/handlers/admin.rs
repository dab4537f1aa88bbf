//! The operators' API under `/v1/admin`. Each handler checks the key, calls one thing and maps the answer.

pub(crate) mod audit;
pub(crate) mod caller;
pub(crate) mod control;
pub(crate) mod groups;
mod if_match;
pub(crate) mod keys;
pub(crate) mod live;
pub(crate) mod rooms;
pub(crate) mod site_keys;
pub(crate) mod stats;
pub(crate) mod tenants;
pub(crate) mod trail;
