//! What every database must do the same way: each clause of the Control contract, listed once. Knows no database:
//! whoever includes it hands in fresh, empty records.

pub(crate) mod audit;
pub(crate) mod groups;
pub(crate) mod keys;
pub(crate) mod nodes;
pub(crate) mod revision;
pub(crate) mod rooms;
pub(crate) mod tenants;

use jari_line::{Aimd, PacerKind, Settings};
use jari_ports::{
    AuditEntry, Challenge, ChallengeKind, Handover, Identity, OnStoreFailure, RoomDefinition,
};
use jari_units::Timestamp;

/// Hands every clause to the macro `$then`, with `$with` before.
macro_rules! control_contract {
    ($then:ident!($with:expr)) => {
        $then! { $with;
            rooms {
                a_room_comes_back_as_it_was_written,
                every_word_comes_back,
                rooms_are_listed_by_id,
                creating_an_existing_room_conflicts,
                a_write_replaces_the_version_it_names,
                one_of_many_concurrent_writes_wins,
                a_deleted_room_is_gone,
            }
            groups {
                groups_are_written_by_version_and_listed_by_id,
                a_deleted_group_is_gone,
                a_room_names_only_a_group_that_exists,
                a_group_with_rooms_is_not_deleted,
            }
            keys {
                an_api_key_comes_back_as_it_was_added,
                api_keys_are_listed_in_order_of_creation,
                an_api_key_is_added_once,
                one_of_many_first_keys_is_stored,
                revoking_is_idempotent_and_keeps_the_first_time,
                uses_are_noted_in_one_write_and_the_newest_stays,
                uses_noted_by_many_at_once_are_all_written,
                signing_keys_come_back_in_order_of_id,
                a_signing_key_is_added_once,
                a_rotated_api_key_ends_and_another_takes_its_place,
                site_keys_are_added_and_end_the_ones_before,
                a_replaced_site_key_is_ended_and_the_one_in_use_is_not,
            }
            nodes {
                the_newest_note_of_each_node_stays,
            }
            tenants {
                tenants_are_written_by_version_and_listed_by_id,
                what_names_no_tenant_is_refused,
                a_tenant_in_use_is_not_deleted,
                a_tenant_whose_keys_have_ended_is_deleted,
                a_tenant_has_no_more_rooms_than_it_may,
                a_room_and_its_tenants_end_do_not_cross,
            }
            audit {
                an_entry_comes_back_as_it_was_appended,
                concurrent_entries_get_every_number_once,
                pages_go_from_the_newest_to_the_first,
                a_target_filters_exactly,
                a_page_has_between_one_and_200_entries,
                each_entry_names_the_hash_of_the_one_before_it,
                writes_and_entries_at_once_make_one_chain,
            }
            revision {
                every_write_raises_the_revision_and_nothing_else_does,
                a_write_and_its_entry_are_there_together,
                a_refused_write_leaves_no_trace,
                what_is_read_after_a_revision_is_as_new,
            }
        }
    };
}
pub(crate) use control_contract;

/// An entry that goes with a write.
pub(crate) fn note() -> AuditEntry {
    AuditEntry {
        no: 0,
        at: Timestamp(1_800_000_000_000),
        actor: "key:abc".to_owned(),
        action: "test.write".to_owned(),
        target: "room:shop".to_owned(),
        before: String::new(),
        after: r#"{"왜": "시험"}"#.to_owned(),
    }
}

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
        handover: Handover::Token,
        challenge: Challenge { kind: ChallengeKind::ProofOfWork, difficulty: 54_321 },
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
