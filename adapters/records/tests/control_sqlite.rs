//! The Control contract on SQLite. What only SQLite can do wrong is in `sqlite_file.rs`.

#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

mod contract;

use std::sync::Arc;

use jari_ports::Control;
use jari_records::Records;

async fn fresh() -> (Arc<dyn Control>, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("records.db");
    let records = Records::open(file.to_str().expect("a path in text")).await.expect("records");
    (Arc::new(records), folder)
}

contract::control_contract! { super::fresh:
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
        revoking_is_idempotent_and_keeps_the_first_time,
        uses_are_noted_in_one_write_and_the_newest_stays,
        signing_keys_come_back_in_order_of_id,
        a_signing_key_is_added_once,
    }
    audit {
        an_entry_comes_back_as_it_was_appended,
        concurrent_entries_get_every_number_once,
        pages_go_from_the_newest_to_the_first,
        a_target_filters_exactly,
        a_page_has_between_one_and_200_entries,
    }
}
