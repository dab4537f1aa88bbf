//! Time, ids and named limits: the words every other crate speaks. Knows no rule, no I/O and no clock.

mod bundle;
mod ids;
pub mod limits;
mod mark;
mod time;

pub use bundle::{Bundle, BundleSet};
pub use ids::{GroupId, IdError, RoomId, SubjectKey, TenantId};
pub use mark::{EventNo, Incarnation, Mark, NodeId, PassId, Seq};
pub use time::{Millis, Timestamp};
