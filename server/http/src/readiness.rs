//! Whether this node can serve, as `/readyz` tells it: what the store, its parts and the records answer, kept for a moment so
//! that a flood of questions is none to them. Serves nothing itself.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jari_units::RoomId;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout, timeout_at};

use crate::directory::RoomEntry;
use crate::one_line::Apart;
use crate::state::AppState;

/// So long one look is told to everybody who asks: as often as balancers ask, and below the seconds in which they act on it.
const KEPT_FOR: Duration = Duration::from_secs(1);

/// A store or database that takes longer to say anything cannot serve.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// Rooms that one look asks for at most, of a store whose parts may be away one by one: few, for there may be ten thousand.
const ASKED_MAX: usize = 16;
/// So many in a row that do not answer, and the others are asked next time: below what makes a store's breaker open.
const AWAY_MAX: usize = 2;
/// For so long it counts that a room was answered for when nobody has used it since.
const ANSWER_COUNTS_FOR: Duration = Duration::from_secs(60);

/// Rooms that are named: enough to know which part of the store is meant.
const NAMED_MAX: usize = 5;

/// What a look has found.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// Why it cannot serve; nothing where it can.
    pub(crate) problems: Vec<String>,
    /// What else an operator should know.
    pub(crate) notes: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Readiness(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    last: Option<(Instant, Arc<Verdict>)>,
    /// Of rooms that nobody uses: when the store was asked, and what it said if it is away.
    asked: HashMap<RoomId, (Instant, Option<String>)>,
}

impl Readiness {
    /// The last look where it is a fresh one; else one look for all who ask meanwhile.
    pub(crate) async fn look(&self, state: &AppState) -> Arc<Verdict> {
        let mut kept = self.0.lock().await;
        if let Some((at, verdict)) = &kept.last
            && at.elapsed() < KEPT_FOR
        {
            return verdict.clone();
        }
        let verdict = Arc::new(look(state, &mut kept.asked).await);
        kept.last = Some((Instant::now(), verdict.clone()));
        verdict
    }
}

/// Records that are down are told and no reason to be passed over: visitors need none, and a database that all nodes share
/// would take all of them away at once. So it is with a part of the store: as long as any room is answered for, the others'
/// people are told when to come back.
async fn look(state: &AppState, asked: &mut HashMap<RoomId, (Instant, Option<String>)>) -> Verdict {
    let mut verdict = Verdict::default();
    let (store, records) = tokio::join!(
        timeout(PROBE_TIMEOUT, state.store.probe()),
        timeout(PROBE_TIMEOUT, state.control.revision()),
    );
    let mut problem = match store {
        Ok(Ok(warning)) => {
            verdict.notes.extend(warning.map(|text| format!("warning: {text}")));
            None
        }
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some(format!("the line store gave no answer in {PROBE_TIMEOUT:?}")),
    };
    if state.store.is_divided() {
        let rooms = state.rooms.list();
        ask(&rooms, asked).await;
        let (answered, away) = told(&rooms, asked);
        verdict.notes.extend(shown(&away, rooms.len()));
        // The part that the probe is in holds no room by itself.
        problem = match away.first() {
            _ if answered => None,
            Some((_, why)) => problem.or_else(|| Some(why.clone())),
            None => problem,
        };
    }
    verdict.problems.extend(problem);
    if let Some(Apart { text, is_ours_wrong, .. }) = state.one_line.apart() {
        match is_ours_wrong {
            true => verdict.problems.push(text),
            false => verdict.notes.push(format!("warning: {text}")),
        }
    }
    match records {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => verdict.notes.push(format!("operators wait: {error}")),
        Err(_) => verdict
            .notes
            .push(format!("operators wait: the records gave no answer in {PROBE_TIMEOUT:?}")),
    }
    verdict
}

/// Asks for rooms of which nothing is known: first those that were not found away, then those that were, longest ago first.
async fn ask(rooms: &[Arc<RoomEntry>], asked: &mut HashMap<RoomId, (Instant, Option<String>)>) {
    asked.retain(|id, _| rooms.iter().any(|room| room.definition().id == *id));
    let until = Instant::now() + PROBE_TIMEOUT;
    let mut unknown: Vec<_> = rooms.iter().filter(|room| !room.is_known()).collect();
    let known = |room: &Arc<RoomEntry>| asked.get(&room.definition().id).cloned();
    unknown.sort_by_cached_key(|room| {
        let last = known(room);
        (last.as_ref().is_some_and(|(_, away)| away.is_some()), last.map(|(at, _)| at))
    });
    let mut left = ASKED_MAX;
    for found_away in [false, true] {
        let mut silent = 0;
        for room in &unknown {
            let id = room.definition().id.clone();
            let was_away = asked.get(&id).is_some_and(|(_, away)| away.is_some());
            if was_away != found_away || silent == AWAY_MAX || left == 0 {
                continue;
            }
            left -= 1;
            let away = match timeout_at(until, room.reach()).await {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(error.to_string()),
                Err(_) => Some(format!("it gave no answer in {PROBE_TIMEOUT:?}")),
            };
            silent = if away.is_some() { silent + 1 } else { 0 };
            asked.insert(id, (Instant::now(), away));
        }
    }
}

/// Whether any room is answered for, and the rooms that are not, with what the store says.
fn told(
    rooms: &[Arc<RoomEntry>],
    asked: &HashMap<RoomId, (Instant, Option<String>)>,
) -> (bool, Vec<(RoomId, String)>) {
    let (mut answered, mut away) = (false, Vec::new());
    for room in rooms {
        let id = room.definition().id.clone();
        let last = asked.get(&id).filter(|(at, _)| at.elapsed() < ANSWER_COUNTS_FOR);
        match (room.is_known(), room.down_for(), last) {
            (true, None, _) | (false, _, Some((_, None))) => answered = true,
            (true, Some(down), last) => {
                let said = last.and_then(|(_, away)| away.clone());
                let said =
                    said.unwrap_or_else(|| format!("it has answered nothing for {down:.0?}"));
                away.push((id, said));
            }
            (false, _, Some((_, Some(why)))) => away.push((id, why.clone())),
            (false, _, None) => {}
        }
    }
    (answered, away)
}

fn shown(away: &[(RoomId, String)], rooms: usize) -> Option<String> {
    let (_, why) = away.first()?;
    let names: Vec<_> = away.iter().take(NAMED_MAX).map(|(id, _)| id.as_str()).collect();
    let more = if away.len() > NAMED_MAX { ", ..." } else { "" };
    let (count, names) = (away.len(), names.join(", "));
    Some(format!("rooms away: {count} of {rooms} ({names}{more}), what holds them: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_that_are_away_are_named_as_far_as_helps() {
        assert_eq!(shown(&[], 9), None);
        let away = |count: usize| -> Vec<_> {
            let room = |n: usize| (format!("r{n}").parse().expect("an id"), "refused".to_owned());
            (0..count).map(room).collect()
        };
        let told = shown(&away(2), 9).expect("some are away");
        assert_eq!(told, "rooms away: 2 of 9 (r0, r1), what holds them: refused");
        let told = shown(&away(7), 9).expect("some are away");
        assert!(told.starts_with("rooms away: 7 of 9 (r0, r1, r2, r3, r4, ...)"), "{told}");
    }
}
