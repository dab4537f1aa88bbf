//! Rooms of which a part was taken away, where it is not the tick that finds it by a note of what should be there: a recovery that
//! comes first, a release that left no note, a room in which nobody is.

use jari_conformance::clauses::subject;
use jari_line::{Loss, Past, RecoverOutcome};
use jari_ports::{LineStore, StoreError};
use jari_servers::{Kind, Server};
use jari_units::Mark;

use crate::taken::{Scene, settings};

/// What is left of it would tell that those have ended who are missing in it.
#[tokio::test]
async fn issue_4_a_recovery_of_a_torn_room_ends_nobody() {
    let server = Server::start(Kind::Redis);
    for key in ["subj", "w", "pass", "o"] {
        let room = format!("shop-{key}");
        let mut scene = Scene::begin(&server, &room).await;
        assert_eq!(server.ask(&format!("DEL jari:{{{room}}}:{key}")), ":1", "{key}");
        // A node has seen more than the store has, and says so before any tick.
        let mark = scene.node.mark;
        scene.node.mark = Mark { event_no: mark.event_no + 1, ..mark };
        let loss = Loss::Seen(Past { mark: scene.node.mark, origin: None });
        let begun = scene.node.store.recover(&scene.node.room, settings(), loss, 1).await;
        let begun = begun.expect("answered");
        assert_eq!(begun.outcome, RecoverOutcome::Began, "{key}");
        scene.node.mark = begun.mark;
        let replica = scene.replica.clone();
        scene.node.tell(&replica).await;
        scene.show(&replica).await;
        scene.node.settle().await;
        scene.is_whole(key).await;
    }
}

/// As where the last event was an older node's, which notes nothing: what does not fit together is found all the same.
#[tokio::test]
async fn issue_4_what_is_missing_shows_without_a_note_of_what_was_there() {
    let server = Server::start(Kind::Redis);
    for key in ["cl", "o", "pass", "subj", "un", "w"] {
        let room = format!("shop-{key}");
        let mut scene = Scene::begin(&server, &room).await;
        server.ask(&format!("HDEL jari:{{{room}}}:s kept taken"));
        assert_eq!(server.ask(&format!("DEL jari:{{{room}}}:{key}")), ":1", "{key}");
        let ticked = scene.tick().await;
        assert!(matches!(ticked, Err(StoreError::UnknownRoom(_))), "{key}: {ticked:?}");
        scene.recover(key).await;
        scene.is_whole(key).await;
    }
}

/// Bitmaps that hold nobody are made again: who comes next is not taken for somebody who was lost.
#[tokio::test]
async fn issue_4_the_bitmaps_of_a_room_without_people_are_made_again() {
    let server = Server::start(Kind::Redis);
    for key in ["w", "o"] {
        let room = format!("shop-{key}");
        let mut scene = Scene::begin(&server, &room).await;
        let people = (1..=9).map(subject).collect();
        scene.node.store.leave(&scene.node.room, Mark::NONE, people).await.expect("left");
        scene.tick().await.expect("ticked");
        // No note either, by which the tick would know more than what it finds.
        server.ask(&format!("HDEL jari:{{{room}}}:s kept taken"));
        server.ask(&format!("DEL jari:{{{room}}}:{key}"));
        scene.tick().await.expect("nobody is lost");
        assert_eq!(scene.node.join(40..=40).await, [10], "{key}");
        assert_eq!(scene.tick().await.expect("nobody is lost").called, 1, "{key}");
    }
}
