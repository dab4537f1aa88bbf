//! Bodies of the operator's API: definitions, live control, groups, keys, audit, statistics and the live view.

mod control;
mod group;
mod key;
mod live;
mod patch;
mod room;
mod settings;
mod site_key;
mod stats;
mod tenant;

pub use control::{AnnounceRequest, Changed, CloseRequest, SoldOutRequest, SubjectsRequest};
pub use group::{GroupBody, GroupList, GroupView};
pub use key::{
    ApiKeyCreated, ApiKeyList, ApiKeyScope, ApiKeyView, AuditEntryView, AuditPageView,
    NewApiKeyBody, RotateBody,
};
pub use live::{
    DwellView, GroupLive, HistoryList, LiveFrame, PacerName, RoomHistory, RoomLive, SecondView,
    UnlistedView,
};
pub use patch::{merge, merge_room};
pub use room::{ChallengeKind, Handover, OnStoreFailure, RoomBody, RoomDefinitionView, RoomList};
pub use settings::{
    AimdBody, ModeName, NumberError, PacerBody, SettingsBody, SignalBody, rate_milli, rate_per_s,
};
pub use site_key::{SiteKeyList, SiteKeyView};
pub use stats::{QueueReason, QueueingView, RoomStats, StatsList};
pub use tenant::{TenantBody, TenantList, TenantView};
