//! The HTTP server: router, handlers, gate, streams and pages.
//!
//! Start at `router.rs`: every address is there, each leads to one file under `handlers`. Handlers answer polls from
//! the rooms' replicas (`room.rs`, `directory.rs`) and reach the store only through a room's batches. `serve.rs` is the
//! listener, `admitter.rs` ticks the rooms that `leases.rs` holds,
//! `control_watch.rs` notices what other nodes changed. Which store and which database are behind the ports is not known here.

pub mod admitter;
mod alarm;
mod answers;
pub mod api_keys;
mod call_log;
mod challenge;
mod changes;
mod client_address;
pub mod control_watch;
mod cookies;
mod cors;
mod directory;
mod drain;
mod elsewhere;
mod event_frames;
mod event_stream;
mod first_room;
mod gate;
mod guard;
mod handlers;
mod head_timer;
mod header_text;
mod identity;
mod jitter;
mod join_limit;
mod json_body;
mod key_ring;
mod leases;
mod leaving;
mod losses;
pub mod metrics;
mod newcomers;
mod one_line;
pub mod operator_feed;
pub mod ops;
mod options;
mod original_url;
mod pages;
mod pass_limit;
mod passes;
mod path;
mod place_view;
mod places;
mod problem_response;
mod protect;
mod query;
mod rate_cells;
mod reader;
mod readiness;
mod receipts;
mod request;
mod roles;
mod room;
mod router;
mod serve;
mod site_keys;
mod site_token;
mod starting;
mod state;
mod store_calls;
mod store_health;
mod stream_hub;
mod stream_keys;
mod stream_slots;
mod take_over;
mod tenant_limits;
mod tenants;
mod timed_io;
mod trace;
mod turned_away;
mod visit;
mod workers;

pub use directory::{PrepareError, RoomDirectory, RoomEntry};
pub use drain::Drain;
pub use first_room::ensure_room;
pub use key_ring::{KeyRingError, SUBJECT_KEY, key_ring};
pub use leases::Leases;
pub use one_line::lines_apart;
pub use options::{
    ConnectionLimits, Deadlines, ForwardedHeader, HttpOptions, JoinLimit, Joins, PassLimit,
    StreamLimits,
};
pub use problem_response::Refusal;
pub use protect::{HostHeader, PREFIX, ProtectOptions, UpstreamLimits, UpstreamTls};
pub use roles::{Role, Roles};
pub use room::{BatchError, Joined, Live, RoomRuntime};
pub use router::{layered, openapi, router};
pub use serve::{serve, serve_routes, serve_site};
pub use site_keys::SiteKeys;
pub use starting::Starting;
pub use state::{AppParts, AppState, Shared, StartError};
pub use tenant_limits::TenantLimits;
pub use trace::{SampleRatio, TraceOptions};
pub use workers::Workers;
