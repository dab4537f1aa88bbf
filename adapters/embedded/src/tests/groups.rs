//! Limit groups: the sum over rooms keeps to the group's limits, through restarts and backups (Q4).

use jari_line::{GroupSettings, Settings};
use jari_ports::LineStore;
use jari_units::{GroupId, Mark, Millis, PassId, RoomId};

use super::{Bench, dump, room, subject};
use crate::EmbeddedStore;

const CAPACITY: u64 = 60;
const RATE: u64 = 12;

async fn three_rooms(store: &EmbeddedStore) -> (GroupId, Vec<RoomId>) {
    let rooms: Vec<RoomId> = ["a", "b", "c"].into_iter().map(room).collect();
    let pass_ttl = Millis::from_secs(20);
    for id in &rooms {
        let settings = Settings { grouped: true, pass_ttl, ..Settings::default() };
        store.create(id, settings).await.expect("it answers");
    }
    let group: GroupId = "all".parse().expect("an id");
    let settings = GroupSettings { capacity: CAPACITY, rate_milli: RATE * 1_000, burst: RATE };
    store.set_group(&group, settings, rooms.clone()).await.expect("it answers");
    (group, rooms)
}

/// Q4: whatever the rooms' own limits say and whoever ticks first; no room starves, and little is left unused.
#[tokio::test]
async fn three_rooms_keep_to_one_capacity_and_rate() {
    let bench = Bench::checkpointing(50);
    let mut store = bench.open();
    let (group, rooms) = three_rooms(&store).await;
    for (index, id) in rooms.iter().enumerate() {
        let first = index as u64 * 1_000;
        let people = (first..first + 400).map(subject).collect();
        store.join(id, Mark::NONE, people).await.expect("it answers");
    }
    let mut admitted_before = 0;
    let mut full = 0;
    for second in 1..=120u64 {
        bench.clock.advance(Millis(1_000));
        let (mut live, mut admitted, mut by_room) = (0, 0, Vec::new());
        for id in &rooms {
            store.admit(id, Mark::NONE).await.expect("it answers");
            claim_all(&store, id).await;
            let state = dump(&store, id).await;
            live += state.passes.len() as u64;
            admitted += state.totals.admitted;
            by_room.push(state.totals.admitted);
        }
        assert!(live <= CAPACITY, "second {second}: {live} inside");
        assert!(admitted <= RATE * second + RATE, "second {second}: {admitted} admitted");
        assert!(admitted >= admitted_before);
        admitted_before = admitted;
        full += u64::from(live == CAPACITY);
        let (least, most) = (by_room.iter().min(), by_room.iter().max());
        assert!(most.expect("three") - least.expect("three") <= 2 * RATE, "{by_room:?}");
        if second.is_multiple_of(17) {
            store.close();
            store = bench.open();
        }
        let held = {
            let group = group.clone();
            store.call(move |lines| Ok(lines.group(&group).map(jari_line::Group::held)))
        };
        assert!(held.await.expect("it answers").expect("the group") <= CAPACITY);
    }
    assert!(full > 60, "the group's capacity is used: {full} of 120 seconds");
}

/// Claims what was just granted, so that passes end by their ttl.
async fn claim_all(store: &EmbeddedStore, id: &RoomId) {
    let state = dump(store, id).await;
    let incarnation = state.mark.incarnation;
    let pass =
        |(seq, pass): &(u64, jari_line::Pass)| PassId { incarnation, seq: *seq, grant: pass.grant };
    let passes = state.passes.iter().map(pass).collect();
    store.claim(id, Mark::NONE, passes).await.expect("it answers");
}

#[tokio::test]
async fn a_room_belongs_to_one_group_and_outside_of_any_admits_nobody() {
    let bench = Bench::new();
    let store = bench.open();
    let (group, rooms) = three_rooms(&store).await;
    store.join(&rooms[0], Mark::NONE, vec![subject(1), subject(2)]).await.expect("it answers");
    let other: GroupId = "other".parse().expect("an id");
    let settings = GroupSettings { capacity: 1, rate_milli: 1_000, burst: 1 };
    store.set_group(&other, settings, vec![rooms[0].clone()]).await.expect("it answers");
    for _ in 0..3 {
        bench.clock.advance(Millis(1_000));
        store.admit(&rooms[0], Mark::NONE).await.expect("it answers");
    }
    assert_eq!(dump(&store, &rooms[0]).await.passes.len(), 1, "by the new group's capacity");
    store.set_group(&other, settings, Vec::new()).await.expect("it answers");
    store.set_group(&group, settings, rooms[1..].to_vec()).await.expect("it answers");
    store.join(&rooms[0], Mark::NONE, vec![subject(3)]).await.expect("it answers");
    bench.clock.advance(Millis(1_000));
    let tick = store.admit(&rooms[0], Mark::NONE).await.expect("it answers").outcome;
    assert_eq!(tick.called, 0);
}

/// A room that moves to another group keeps its passes and is admitted from at once, its high grant number included.
#[tokio::test]
async fn a_moved_room_is_served_by_its_new_group() {
    let bench = Bench::new();
    let store = bench.open();
    let (_, rooms) = three_rooms(&store).await;
    let people = (0..100).map(subject).collect();
    store.join(&rooms[0], Mark::NONE, people).await.expect("it answers");
    for _ in 0..4 {
        bench.clock.advance(Millis(1_000));
        store.admit(&rooms[0], Mark::NONE).await.expect("it answers");
    }
    let before = dump(&store, &rooms[0]).await.totals.admitted;
    let other: GroupId = "other".parse().expect("an id");
    let settings = GroupSettings { capacity: 1_000, rate_milli: 5_000, burst: 5 };
    store.set_group(&other, settings, vec![rooms[0].clone()]).await.expect("it answers");
    bench.clock.advance(Millis(1_000));
    store.admit(&rooms[0], Mark::NONE).await.expect("it answers");
    assert_eq!(dump(&store, &rooms[0]).await.totals.admitted, before + 5);
}
