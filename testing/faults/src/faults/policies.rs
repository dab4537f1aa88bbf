//! What each caller is told while the store is gone, in rooms of the three policies: soon after it went, once it has been
//! gone for longer than a gate waits before it opens to all, and when it is back.

use std::time::Duration;

use anyhow::{Context, Result};
use jari_api::PlaceStatus;
use reqwest::Method;
use tokio::time::{Instant, sleep};
use url::Url;

use crate::caps::Caps;
use crate::person::{Answer, Person, client};
use crate::row::Row;
use crate::seen::Call;
use crate::site::{Plan, room};
use crate::stage::Stage;

const POLICIES: [&str; 3] = ["wait", "refuse", "pass"];
/// Long enough that the nodes have met the store's absence, and shorter than a gate waits.
const SOON: Duration = Duration::from_secs(2);
/// After that, so long that a gate that opens to all has done so (5 s).
const LATER: Duration = Duration::from_secs(6);
/// A silent store is met by calls that run into their deadline (2 s), and a few of them.
const SILENCE_MET: Duration = Duration::from_secs(8);

/// How the store is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Away {
    Refusing,
    /// Nothing answers: slowness opens no gate, however long it lasts.
    Silent,
}
/// Longest until somebody is let in, or a room is whole.
const PATIENCE: Duration = Duration::from_secs(60);

/// Who asks what, and what each policy tells them while the store is gone: soon, later.
const CALLERS: [(&str, [(&str, &str); 3]); 6] = [
    ("the gate, a pass in use", [("served", "served"), (DOWN, DOWN), ("served", "served")]),
    ("the gate, a pass not used yet", [("served", "served"), (DOWN, DOWN), ("served", "served")]),
    ("the gate, without a pass", [(NO_PASS, NO_PASS), (DOWN, DOWN), (NO_PASS, "served")]),
    (
        "a poll of a place in line",
        [("served", "served"), ("served", "served"), ("served", "served")],
    ),
    ("a join of somebody new", [(DOWN, DOWN), (DOWN, DOWN), (DOWN, DOWN)]),
    ("a join of somebody in line", [(DOWN, DOWN), (DOWN, DOWN), (DOWN, DOWN)]),
];
const DOWN: &str = "503 store_unavailable";
const NO_PASS: &str = "428 pass_required: missing";

/// One room and the people of each kind.
struct Cast {
    policy: usize,
    room: String,
    node: Url,
    uses: Person,
    has: Person,
    waits: Person,
    /// Comes without anything but an identity.
    stranger: Person,
}

pub(super) async fn run(mut stage: Stage, away: Away, (name, title): (&str, &str)) -> Result<Row> {
    let mut casts = Vec::new();
    for policy in 0..POLICIES.len() {
        casts.push(cast(&mut stage, policy).await?);
    }
    stage.fault_begins(false);
    for wire in &stage.site.wires {
        match away {
            Away::Refusing => wire.refuse(),
            Away::Silent => wire.hold(),
        }
    }
    sleep(if away == Away::Refusing { SOON } else { SILENCE_MET }).await;
    let soon = ask_all(&mut casts).await;
    sleep(LATER).await;
    let later = ask_all(&mut casts).await;
    for wire in &stage.site.wires {
        wire.open();
    }
    stage.well_again().await;
    let mut policies = Vec::new();
    for (nth, cast) in casts.iter_mut().enumerate() {
        for (caller, (who, expected)) in CALLERS.iter().enumerate() {
            let (soon, later) = (&soon[nth][caller], &later[nth][caller]);
            let (at_first, then) = expected[cast.policy];
            let expected = (at_first, if away == Away::Refusing { then } else { at_first });
            if (soon.as_str(), later.as_str()) != expected {
                stage.broken(format!("{}: {who}: {soon}, {later}", POLICIES[cast.policy]));
            }
            let told =
                if soon == later { soon.clone() } else { format!("{soon}; after 5 s: {later}") };
            let policy = match away {
                Away::Refusing => POLICIES[cast.policy].to_owned(),
                Away::Silent => format!("{}, Redis silent", POLICIES[cast.policy]),
            };
            policies.push([policy, (*who).to_owned(), told]);
        }
        same_as_before(&stage, cast).await;
    }
    stage.note("afterwards everybody was where they had been");
    let mut row = stage.end(name, title).await;
    row.policies = policies;
    (row.acknowledged, row.kept) = (3 * casts.len(), 3 * casts.len());
    Ok(row)
}

/// A room of the policy with two inside, of whom one has used the pass, and one in line.
async fn cast(stage: &mut Stage, policy: usize) -> Result<Cast> {
    let caps = Caps { capacity: 2, rate_per_s: 10, burst: 10 };
    let plan = Plan { caps, on_store_failure: POLICIES[policy], ..stage.plan };
    let id = format!("policy-{}", POLICIES[policy]);
    stage.site.operate(Method::POST, "/v1/admin/rooms", &room(&id, &plan)).await?;
    let (client, node) = (client(), stage.site.nodes[0].url());
    let mut people = Vec::new();
    for nth in 0..4 {
        let mut person = Person::new(nth, client.clone(), 0);
        anyhow::ensure!(person.identify(&node).await, "no identity");
        people.push(person);
    }
    let mut people = people.into_iter();
    let mut next = || people.next().context("four were made");
    let (uses, has, waits, stranger) = (next()?, next()?, next()?, next()?);
    let mut cast = Cast { policy, room: id, node, uses, has, waits, stranger };
    let (node, room) = (&cast.node, cast.room.as_str());
    for person in [&mut cast.uses, &mut cast.has] {
        until(person, node, room, Call::Join, None).await?;
        until(person, node, room, Call::Poll, Some(PlaceStatus::Admitted)).await?;
    }
    until(&mut cast.uses, node, room, Call::Gate, None).await?;
    until(&mut cast.waits, node, room, Call::Join, None).await?;
    until(&mut cast.waits, node, room, Call::Poll, Some(PlaceStatus::Waiting)).await?;
    Ok(cast)
}

/// Asks until served, and told this status if one is wanted.
async fn until(
    person: &mut Person,
    node: &Url,
    room: &str,
    call: Call,
    status: Option<PlaceStatus>,
) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = person.ask(call, node, room).await;
        if let Answer::Served(view) = &answer
            && status.is_none_or(|wanted| view.as_ref().is_some_and(|view| view.status == wanted))
        {
            if let Some(view) = view {
                person.place.seq = view.seq;
            }
            return Ok(());
        }
        anyhow::ensure!(Instant::now() < deadline, "{} in {room}: {answer:?}", call.name());
        sleep(Duration::from_millis(600)).await;
    }
}

/// What everybody in [`CALLERS`] is told now, room by room.
async fn ask_all(casts: &mut [Cast]) -> Vec<Vec<String>> {
    let mut told = Vec::new();
    for cast in casts {
        let (node, room) = (cast.node.clone(), cast.room.clone());
        // Each asks as if for the first time: what one call sets, another need not have.
        let (mut new, mut again) = (cast.stranger.clone(), cast.waits.clone());
        let asked = [
            word(&cast.uses.ask(Call::Gate, &node, &room).await),
            word(&cast.has.clone().ask(Call::Gate, &node, &room).await),
            word(&cast.stranger.ask(Call::Gate, &node, &room).await),
            word(&cast.waits.ask(Call::Poll, &node, &room).await),
            word(&new.ask(Call::Join, &node, &room).await),
            word(&again.ask(Call::Join, &node, &room).await),
        ];
        told.push(asked.into());
    }
    told
}

fn word(answer: &Answer) -> String {
    match answer {
        Answer::Served(_) => "served".to_owned(),
        Answer::Refused { code, .. } => code.clone(),
        Answer::Nothing => "no answer".to_owned(),
    }
}

async fn same_as_before(stage: &Stage, cast: &mut Cast) {
    let (node, room, policy) = (&cast.node, cast.room.as_str(), POLICIES[cast.policy]);
    for (person, status) in [
        (&mut cast.uses, PlaceStatus::Admitted),
        (&mut cast.has, PlaceStatus::Admitted),
        (&mut cast.waits, PlaceStatus::Waiting),
    ] {
        let seq = person.place.seq;
        let asked = until(person, node, room, Call::Poll, Some(status)).await;
        if let Err(error) = asked {
            stage.broken(format!("{policy}: {error}"));
        } else if person.place.seq != seq {
            stage.broken(format!("{policy}: {seq} has become {}", person.place.seq));
        }
    }
}
