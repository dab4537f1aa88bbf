//! What every database must do the same way: each clause of the Control contract. Knows no database: whoever includes
//! it hands in fresh, empty records.

pub(crate) mod audit;
pub(crate) mod groups;
pub(crate) mod keys;
pub(crate) mod rooms;

use jari_line::{Aimd, PacerKind, Settings};
use jari_ports::{Identity, OnStoreFailure, RoomDefinition};
use jari_units::Timestamp;

/// Makes one test of each clause; `$fresh` gives empty records and something that keeps them alive.
macro_rules! control_contract {
    ($fresh:path: $($module:ident { $($clause:ident),* $(,)? })*) => {
        $(mod $module {
            $(
                #[tokio::test]
                async fn $clause() {
                    let (control, _kept) = $fresh().await;
                    crate::contract::$module::$clause(control).await;
                }
            )*
        })*
    };
}
pub(crate) use control_contract;

/// A room that uses every field.
pub(crate) fn room(id: &str) -> RoomDefinition {
    RoomDefinition {
        id: id.parse().unwrap(),
        tenant: "default".parse().unwrap(),
        group: None,
        identity: Identity::Entry,
        title_ko: "수강 신청 \"대기실\"".to_owned(),
        title_en: "Course registration".to_owned(),
        target_url: "https://example.com/a?b=c".to_owned(),
        on_store_failure: OnStoreFailure::Refuse,
        settings: Settings {
            capacity: 77,
            rate_milli: 1_500,
            pacer: PacerKind::Aimd(Aimd::default()),
            admit_total: Some((1 << 53) - 1),
            opens_at: Some(Timestamp(1_900_000_000_000)),
            ..Settings::default()
        },
        version: 0,
        created_at: Timestamp(1_800_000_000_123),
    }
}
