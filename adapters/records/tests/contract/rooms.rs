//! Rooms: written whole, by version, listed by id.

use std::sync::Arc;

use jari_ports::{Control, ControlError, Identity, OnStoreFailure};
use jari_units::Timestamp;

use super::{note, room};

fn conflict(id: &str) -> ControlError {
    ControlError::Conflict(format!("room {id}"))
}

pub(crate) async fn a_room_comes_back_as_it_was_written(control: Arc<dyn Control>) {
    let mut written = room("shop");
    assert_eq!(control.put_room(written.clone(), note()).await, Ok(1));
    written.version = 1;
    assert_eq!(control.rooms().await.unwrap(), [written]);
}

pub(crate) async fn every_word_comes_back(control: Arc<dyn Control>) {
    let policies = [OnStoreFailure::Wait, OnStoreFailure::Refuse, OnStoreFailure::Pass];
    for identity in [Identity::Anonymous, Identity::Entry] {
        for policy in policies {
            let mut room = room("shop");
            (room.identity, room.on_store_failure) = (identity, policy);
            control.put_room(room.clone(), note()).await.unwrap();
            let read = control.rooms().await.unwrap().remove(0);
            assert_eq!((read.identity, read.on_store_failure), (identity, policy));
            control.delete_room(&room.id, note()).await.unwrap();
        }
    }
}

pub(crate) async fn rooms_are_listed_by_id(control: Arc<dyn Control>) {
    for id in ["b", "a-2", "c", "ab", "a", "a10"] {
        control.put_room(room(id), note()).await.unwrap();
    }
    let rooms = control.rooms().await.unwrap();
    let ids: Vec<_> = rooms.iter().map(|room| room.id.as_str()).collect();
    assert_eq!(ids, ["a", "a-2", "a10", "ab", "b", "c"]);
}

pub(crate) async fn creating_an_existing_room_conflicts(control: Arc<dyn Control>) {
    control.put_room(room("shop"), note()).await.unwrap();
    let mut again = room("shop");
    again.title_en = "Another".to_owned();
    assert_eq!(control.put_room(again, note()).await, Err(conflict("shop")));
    assert_eq!(control.rooms().await.unwrap()[0].title_en, room("shop").title_en);
}

pub(crate) async fn a_write_replaces_the_version_it_names(control: Arc<dyn Control>) {
    control.put_room(room("shop"), note()).await.unwrap();
    let mut second = room("shop");
    (second.version, second.title_en) = (1, "Second".to_owned());
    second.created_at = Timestamp(5);
    assert_eq!(control.put_room(second.clone(), note()).await, Ok(2));
    for stale in [1, 3, u64::MAX] {
        let mut stale_room = room("shop");
        stale_room.version = stale;
        assert_eq!(control.put_room(stale_room, note()).await, Err(conflict("shop")), "{stale}");
    }
    (second.version, second.created_at) = (2, room("shop").created_at);
    assert_eq!(control.rooms().await.unwrap(), [second]);
}

/// Many operators save the same version at once: one wins, nobody's write is lost unseen.
pub(crate) async fn one_of_many_concurrent_writes_wins(control: Arc<dyn Control>) {
    control.put_room(room("shop"), note()).await.unwrap();
    let writes = (0..16).map(|writer: u32| {
        let control = control.clone();
        tokio::spawn(async move {
            let mut mine = room("shop");
            (mine.version, mine.title_en) = (1, format!("writer {writer}"));
            (mine.title_en.clone(), control.put_room(mine, note()).await)
        })
    });
    let mut won = Vec::new();
    for write in writes.collect::<Vec<_>>() {
        match write.await.unwrap() {
            (title, Ok(version)) => won.push((title, version)),
            (_, refused) => assert_eq!(refused, Err(conflict("shop"))),
        }
    }
    let read = control.rooms().await.unwrap().remove(0);
    assert_eq!(won, [(read.title_en, 2)]);
}

pub(crate) async fn a_deleted_room_is_gone(control: Arc<dyn Control>) {
    let gone = ControlError::NotFound("room shop".to_owned());
    let id = room("shop").id;
    assert_eq!(control.delete_room(&id, note()).await, Err(gone.clone()));
    control.put_room(room("shop"), note()).await.unwrap();
    assert_eq!(control.delete_room(&id, note()).await, Ok(()));
    assert_eq!(control.rooms().await.unwrap(), []);
    assert_eq!(control.delete_room(&id, note()).await, Err(gone.clone()));
    let mut stale = room("shop");
    stale.version = 1;
    assert_eq!(control.put_room(stale, note()).await, Err(gone));
    assert_eq!(control.put_room(room("shop"), note()).await, Ok(1));
}
