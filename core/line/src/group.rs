//! A limit group: several rooms share what the server behind them can take.
//!
//! Two steps keep the sum safe whatever is lost between them: the group lends a room a quota of live passes and some
//! admissions under a rising number; the room admits within it. A quota is raised at the group first and counts as
//! lowered only once the room has answered that it used the lower grant.

use std::collections::BTreeMap;

use jari_units::{Millis, RoomId, Timestamp, limits};
use serde::{Deserialize, Serialize};

use crate::GroupGrant;
use crate::ledger::{Ledger, TOKEN};

/// What the server behind the group can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupSettings {
    /// Live passes over all rooms at most.
    pub capacity: u64,
    /// Admissions per 1,000 s over all rooms.
    pub rate_milli: u64,
    pub burst: u64,
}

/// What a room tells the group before a tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomReport {
    pub room: RoomId,
    /// The newest grant the room has used, and the quota that it gave.
    pub used_grant: u64,
    pub live_quota: u64,
    pub live: u64,
    /// People who could be called now.
    pub wants: u64,
    /// It lost history: who is inside is being found out.
    pub recovering: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    settings: GroupSettings,
    now: Timestamp,
    bucket: u64,
    round: u64,
    rooms: BTreeMap<RoomId, Lent>,
}

/// What a room may believe it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Lent {
    grant_no: u64,
    /// The quota of the newest grant.
    given: u64,
    /// The most live passes the room could have now or later without asking.
    held: u64,
}

impl Group {
    #[must_use]
    pub fn new(settings: GroupSettings, now: Timestamp) -> Self {
        let bucket = settings.burst * TOKEN;
        Group { settings, now, bucket, round: 0, rooms: BTreeMap::new() }
    }

    /// New settings never refill the bucket.
    pub fn set(&mut self, settings: GroupSettings) {
        self.bucket = self.bucket.min(settings.burst.saturating_mul(TOKEN));
        self.settings = settings;
    }

    #[must_use]
    pub fn settings(&self) -> GroupSettings {
        self.settings
    }

    /// The most live passes that all rooms together could have: never above capacity, but for operators' grants by
    /// subject and a capacity lowered below use.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.rooms.values().map(|lent| lent.held).sum()
    }

    /// Lends each reporting room its share for one tick. A room of the group that does not report keeps what it has.
    pub fn grant(&mut self, now: Timestamp, reports: &[RoomReport]) -> Vec<GroupGrant> {
        self.fill(now);
        for report in reports {
            let lent = self.rooms.entry(report.room.clone()).or_default();
            if report.used_grant > lent.grant_no {
                // An older copy of the group answers: it has lent more than it knows of.
                lent.grant_no = report.used_grant;
                lent.given = report.live_quota;
                lent.held = lent.held.max(report.live_quota).max(report.live);
            } else if report.used_grant == lent.grant_no {
                lent.held = lent.given.max(report.live);
            } else {
                lent.held = lent.held.max(report.live);
            }
        }
        let quotas = self.quotas(reports);
        let wants: Vec<u64> = reports
            .iter()
            .zip(&quotas)
            .map(|(report, quota)| report.wants.min(quota.saturating_sub(report.live)))
            .collect();
        let tokens = shares(self.bucket / TOKEN, &wants, self.round);
        self.bucket -= tokens.iter().sum::<u64>() * TOKEN;
        self.round += 1;
        let given = reports.iter().zip(quotas).zip(tokens);
        given.map(|((report, quota), tokens)| self.lend(&report.room, quota, tokens)).collect()
    }

    /// Takes a room out of the group; its passes no longer count.
    pub fn release(&mut self, room: &RoomId) {
        self.rooms.remove(room);
    }

    /// Takes in a member whose newest grant is not this group's: it joined with a history, or the group was restored
    /// from an older copy. Its quota counts until it has used a lower one, and grants go on above its number.
    pub fn learn(&mut self, room: &RoomId, ledger: &Ledger) {
        let known = self.rooms.get(room).map_or(0, |lent| lent.grant_no);
        if ledger.grant_no <= known {
            return;
        }
        let lent = self.rooms.entry(room.clone()).or_default();
        lent.grant_no = ledger.grant_no;
        lent.given = ledger.live_quota;
        lent.held = lent.held.max(ledger.live_quota).max(ledger.passes.live());
    }

    fn fill(&mut self, now: Timestamp) {
        let now = now.max(self.now);
        // As in a room: a time in which nobody ticked earns no admissions.
        let since = Some(now.since(self.now)).filter(|since| *since <= limits::TICK_LATE);
        let fill = self.settings.rate_milli.saturating_mul(since.unwrap_or(Millis::ZERO).0);
        let full = self.settings.burst.saturating_mul(TOKEN);
        self.bucket = self.bucket.saturating_add(fill).min(full);
        self.now = now;
    }

    /// The quota of each report: what is live there plus a fair share of what is free in all. What a room holds above
    /// its share is lowered now and free for others once it has used the lower grant.
    fn quotas(&self, reports: &[RoomReport]) -> Vec<u64> {
        let reported = |room: &RoomId| reports.iter().any(|report| report.room == *room);
        let silent = self.rooms.iter().filter(|(room, _)| !reported(room));
        let silent: u64 = silent.map(|(_, lent)| lent.held).sum();
        let live: u64 = reports.iter().map(|report| report.live).sum();
        let free = self.settings.capacity.saturating_sub(silent + live);
        let wants: Vec<u64> = reports.iter().map(|report| report.wants).collect();
        let fair = shares(free, &wants, self.round);
        // What a room that lost history holds is known at its window's end: nobody is lent more until then.
        let settled = reports.iter().all(|report| !report.recovering);
        let spare = self.settings.capacity.saturating_sub(self.held());
        let mut spare = if settled { spare } else { 0 };
        let quota = |(report, fair): (&RoomReport, u64)| {
            let held = self.rooms.get(&report.room).map_or(0, |lent| lent.held);
            let target = report.live + fair;
            let raise = target.saturating_sub(held).min(spare);
            spare -= raise;
            target.min(held + raise)
        };
        reports.iter().zip(fair).map(quota).collect()
    }

    fn lend(&mut self, room: &RoomId, live_quota: u64, tokens: u64) -> GroupGrant {
        let lent = self.rooms.entry(room.clone()).or_default();
        lent.grant_no += 1;
        lent.given = live_quota;
        lent.held = lent.held.max(live_quota);
        GroupGrant { grant_no: lent.grant_no, tokens, live_quota }
    }
}

/// Splits `total` so that nobody gets more than wanted and the rest is as even as can be; `turn` moves the remainder on.
fn shares(total: u64, wants: &[u64], turn: u64) -> Vec<u64> {
    let mut shares = vec![0; wants.len()];
    let mut left = total;
    loop {
        let hungry: Vec<usize> = (0..wants.len()).filter(|i| shares[*i] < wants[*i]).collect();
        if hungry.is_empty() || left == 0 {
            return shares;
        }
        let each = left / hungry.len() as u64;
        if each == 0 {
            let start = (turn % hungry.len() as u64) as usize;
            for i in hungry.iter().cycle().skip(start).take(left as usize) {
                shares[*i] += 1;
            }
            return shares;
        }
        for i in hungry {
            let share = each.min(wants[i] - shares[i]);
            shares[i] += share;
            left -= share;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(capacity: u64, rate: u64) -> Group {
        let settings = GroupSettings { capacity, rate_milli: rate * 1_000, burst: rate };
        Group::new(settings, Timestamp(0))
    }

    fn report(room: &str, used_grant: u64, live: u64, wants: u64) -> RoomReport {
        let room = room.parse().expect("an id");
        RoomReport { room, used_grant, live_quota: live, live, wants, recovering: false }
    }

    #[test]
    fn shares_are_even_bounded_and_take_turns() {
        assert_eq!(shares(10, &[100, 2, 100], 0), [4, 2, 4]);
        assert_eq!(shares(1, &[5, 5], 0), [1, 0]);
        assert_eq!(shares(1, &[5, 5], 1), [0, 1]);
        assert_eq!(shares(100, &[5, 0], 0), [5, 0]);
    }

    /// Q4 over rooms: a lost answer leaves the lent quota counted.
    #[test]
    fn a_grant_whose_use_is_unknown_stays_counted() {
        let mut group = group(10, 100);
        let first = group.grant(Timestamp(0), &[report("a", 0, 0, 10)]);
        assert_eq!(first, [GroupGrant { grant_no: 1, tokens: 10, live_quota: 10 }]);
        // Room a has not answered for grant 1: it may have ten inside.
        let second = group.grant(Timestamp(1_000), &[report("a", 0, 0, 0), report("b", 0, 0, 10)]);
        assert_eq!(second[1].live_quota, 0);
        // It used grant 2, whose quota was 0, and nobody is inside: now the ten are free.
        let third = group.grant(Timestamp(2_000), &[report("a", 2, 0, 0), report("b", 1, 0, 10)]);
        assert_eq!(third[1].live_quota, 10);
    }

    /// Q4 over rooms: a room that comes with passes and a high grant number is counted, and its grants are fresh to it.
    #[test]
    fn a_member_with_a_history_is_counted_from_its_own_numbers() {
        let mut room = crate::join::tests::room();
        room.ledger.grant_no = 57;
        room.ledger.live_quota = 8;
        let mut group = group(10, 100);
        let id: RoomId = "a".parse().expect("an id");
        group.learn(&id, &room.ledger);
        assert_eq!(group.held(), 8);
        let grants = group.grant(Timestamp(0), &[report("b", 0, 0, 10)]);
        assert_eq!(grants[0].live_quota, 2);
        let grants = group.grant(Timestamp(0), &[report("a", 57, 0, 0)]);
        assert_eq!(grants[0].grant_no, 58);
        let before = group.clone();
        group.learn(&id, &room.ledger);
        assert_eq!(group, before, "what the group lent itself it knows already");
    }

    /// Q4 over rooms: a copy of the group that lags behind its rooms counts what it does not know that it lent.
    #[test]
    fn a_group_that_fell_back_goes_on_above_what_its_rooms_have_used() {
        let mut group = group(10, 100);
        let used = RoomReport { live_quota: 8, ..report("a", 57, 3, 0) };
        let grants = group.grant(Timestamp(0), &[used, report("b", 0, 0, 10)]);
        assert_eq!((grants[0].grant_no, grants[1].live_quota), (58, 2));
        let lowered = RoomReport { live_quota: 3, ..report("a", 58, 3, 0) };
        let grants = group.grant(Timestamp(1_000), &[lowered, report("b", 1, 2, 10)]);
        assert_eq!(grants[1].live_quota, 7);
    }

    /// Q4 over rooms: made anew after a loss, a group lends nobody what a room may still turn out to hold.
    #[test]
    fn nobody_is_lent_more_while_a_room_recovers() {
        let mut group = group(10, 100);
        let found_out = RoomReport { recovering: true, ..report("b", 0, 1, 0) };
        let grants = group.grant(Timestamp(0), &[report("a", 0, 4, 10), found_out]);
        assert_eq!((grants[0].tokens, grants[0].live_quota), (0, 4));
        let grants = group.grant(Timestamp(0), &[report("a", 1, 4, 10), report("b", 1, 5, 0)]);
        assert_eq!((grants[0].tokens, grants[0].live_quota), (1, 5));
    }

    #[test]
    fn a_full_room_shares_what_it_frees() {
        let mut group = group(100, 1_000);
        let mut live = [100u64, 0];
        let mut used = [0u64, 0];
        for second in 0..200u64 {
            let reports = [report("a", used[0], live[0], 500), report("b", used[1], live[1], 500)];
            let grants = group.grant(Timestamp(second * 1_000), &reports);
            for (room, grant) in grants.iter().enumerate() {
                live[room] += grant.tokens.min(grant.live_quota.saturating_sub(live[room]));
                used[room] = grant.grant_no;
            }
            assert!(live[0] + live[1] <= 100, "{live:?}");
            live = live.map(|inside| inside - inside.div_ceil(10));
        }
        let (a, b) = (live[0] as f64, live[1] as f64);
        assert!(a / b < 1.3 && b / a < 1.3, "{live:?}");
    }
}
