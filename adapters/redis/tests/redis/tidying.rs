//! What nobody can tell from outside: a room that has served many keeps only those who are here.

use jari_conformance::SetClock;
use jari_conformance::clauses::subject;
use jari_conformance::history::START;
use jari_line::{JoinOutcome, PassOutcome, Settings};
use jari_ports::LineStore;
use jari_redis::{RedisOptions, RedisStore};
use jari_servers::{Kind, Server};
use jari_units::{Mark, Millis, RoomId};

/// Wave after wave comes, is let in and leaves; one person stays inside from the first wave on.
#[tokio::test]
async fn who_has_gone_leaves_nothing_behind() {
    let server = Server::start(Kind::Redis);
    let clock = SetClock::at(START);
    let options = RedisOptions::new(server.url()).prefix("waves").tidy_early(64);
    let store = RedisStore::open(options.clock(clock.clone() as _)).expect("the store opens");
    let room: RoomId = "beach".parse().expect("an id");
    store.create(&room, Settings::default()).await.expect("created");
    let mut stays = None;
    for wave in 0..20 {
        let people = (wave * 200..wave * 200 + 200).map(subject).collect::<Vec<_>>();
        store.join(&room, Mark::NONE, people.clone()).await.expect("joined");
        clock.advance(Millis(1_000));
        assert_eq!(store.admit(&room, Mark::NONE).await.expect("ticked").outcome.called, 200);
        let gone = if stays.is_none() { people[1..].to_vec() } else { people };
        store.leave(&room, Mark::NONE, gone).await.expect("left");
        let first = store.join(&room, Mark::NONE, vec![subject(0)]).await.expect("joined").outcome;
        let [JoinOutcome::Admitted(grant)] = first[..] else { panic!("{first:?}") };
        let touched = store.touch(&room, Mark::NONE, vec![grant.id]).await.expect("touched");
        assert!(matches!(touched.outcome[..], [PassOutcome::Live(_)]), "{:?}", touched.outcome);
        stays = Some(grant.id);
    }
    for _ in 0..4 {
        clock.advance(Millis(1_000));
        store.admit(&room, Mark::NONE).await.expect("ticked");
    }
    let number = |command: &str| -> u64 {
        server.ask(command).trim_start_matches(':').parse().expect("a number")
    };
    assert!(number("HGET waves:{beach}:s base") >= 3_900, "the bitmaps were cut off");
    for bitmap in ["w", "p0", "p1", "o"] {
        assert!(number(&format!("STRLEN waves:{{beach}}:{bitmap}")) < 128, "{bitmap}");
    }
    assert!(number("HLEN waves:{beach}:subj") <= 2, "the index was cleared");
    for scratch in ["t", "t2"] {
        assert_eq!(number(&format!("EXISTS waves:{{beach}}:{scratch}")), 0, "{scratch}");
    }
    let dump = store.dump(&room).await.expect("dumped").outcome;
    assert_eq!((dump.passes.len(), dump.next_seq), (1, 4_001));
    let pass = stays.expect("it stayed");
    let ended = store.end_pass(&room, Mark::NONE, vec![pass]).await.expect("ended");
    assert_eq!(ended.outcome, [jari_line::EndOutcome::Ended], "below the base, and known");
}
