//! The wire: bodies, problem codes and times as JSON. Holds no rule, reads no clock and speaks no HTTP but status codes.

pub mod admin;
mod pass;
mod problem;
mod room;
mod stream;
mod tenant;
mod utc;
mod visitor;

pub use pass::{
    ExtendAnswer, ExtendRequest, KeySet, PassState, PassStatus, PassesAnswer, PassesRequest,
    PublicKey, VerifiedPass, VerifyRequest,
};
pub use problem::{Code, PROBLEM_JSON, Problem};
pub use room::{Identity, LineState, LineView, Moved, NoticeView, RoomView, Title};
pub use stream::{Empty, Reconnect};
pub use tenant::{
    AdmitAnswer, AdmitRequest, EntryCreated, EntryRequest, Granted, LoadLevel, SignalAnswer,
    SignalRequest,
};
pub use utc::Utc;
pub use visitor::{
    ChallengeView, EstimateView, JoinRequest, NoEstimate, PassView, PlaceStatus, PlaceView,
    VisitorCreated,
};
