//! What each script's outcome says, as the outcome types of `jari_line`.

use jari_line::{
    AdmitNowOutcome, AdmitOutcome, ChangeOutcome, ClosedNext, EndOutcome, ExtendOutcome,
    JoinOutcome, LeaveOutcome, PassGrant, PassOutcome, ReattachOutcome, RecoverOutcome,
    RedeemOutcome, RestoreOutcome, RevokeOutcome, SignalOutcome,
};
use jari_units::{Incarnation, Millis, PassId, Timestamp};
use redis::Value;

use crate::answer::Answer;
use crate::error::Failure;

fn odd(word: &str) -> Failure {
    Failure::odd_answer(&format!("the outcome {word:?}"))
}

/// A pass as the scripts tell it: place, grant, how long, claimed.
fn grant(answer: &mut Answer, incarnation: Incarnation) -> Result<PassGrant, Failure> {
    let (seq, grant) = (answer.number()?, answer.number()?);
    let grant = u8::try_from(grant).map_err(|_| odd("grant"))?;
    let id = PassId { incarnation, seq, grant };
    let remaining = Millis(answer.number()?);
    Ok(PassGrant { id, remaining, claimed: answer.number()? == 1 })
}

pub(crate) fn join(
    mut answer: Answer,
    incarnation: Incarnation,
) -> Result<Vec<JoinOutcome>, Failure> {
    let mut outcomes = Vec::new();
    while !answer.is_empty() {
        let word = answer.text()?;
        outcomes.push(match word.as_str() {
            "joined" => JoinOutcome::Joined { seq: answer.number()? },
            "waiting" => JoinOutcome::Waiting { seq: answer.number()? },
            "absent" => JoinOutcome::Absent { seq: answer.number()? },
            "blocked" => JoinOutcome::Blocked,
            "admitted" => JoinOutcome::Admitted(grant(&mut answer, incarnation)?),
            "allowed" => JoinOutcome::Allowed(grant(&mut answer, incarnation)?),
            "recovering" => JoinOutcome::Recovering,
            "sold_out" => JoinOutcome::SoldOut,
            "not_open" => JoinOutcome::NotOpen { opens_at: Timestamp(answer.number()?) },
            "closed" => JoinOutcome::Closed(ClosedNext {
                reopens_at: answer.maybe_number()?.map(Timestamp),
                message: answer.text()?,
            }),
            "full" => JoinOutcome::Full,
            "off" => JoinOutcome::Off,
            other => return Err(odd(other)),
        });
    }
    Ok(outcomes)
}

/// One word a subject or pass.
fn words<T>(mut answer: Answer, of: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, Failure> {
    let mut outcomes = Vec::with_capacity(answer.left());
    while !answer.is_empty() {
        let word = answer.text()?;
        outcomes.push(of(&word).ok_or_else(|| odd(&word))?);
    }
    Ok(outcomes)
}

pub(crate) fn leave(answer: Answer) -> Result<Vec<LeaveOutcome>, Failure> {
    words(answer, |word| match word {
        "pass_ended" => Some(LeaveOutcome::PassEnded),
        "left" => Some(LeaveOutcome::Left),
        "unknown" => Some(LeaveOutcome::Unknown),
        _ => None,
    })
}

pub(crate) fn revoke(answer: Answer) -> Result<Vec<RevokeOutcome>, Failure> {
    words(answer, |word| match word {
        "revoked" => Some(RevokeOutcome::Revoked),
        "no_pass" => Some(RevokeOutcome::NoPass),
        _ => None,
    })
}

pub(crate) fn end_pass(answer: Answer) -> Result<Vec<EndOutcome>, Failure> {
    words(answer, |word| match word {
        "ended" => Some(EndOutcome::Ended),
        "unknown" => Some(EndOutcome::Unknown),
        _ => None,
    })
}

pub(crate) fn passes(
    answer: Answer,
    incarnation: Incarnation,
) -> Result<Vec<PassOutcome>, Failure> {
    grants(answer, incarnation).map(|grants| {
        let outcome =
            |grant: Option<PassGrant>| grant.map_or(PassOutcome::Ended, PassOutcome::Live);
        grants.into_iter().map(outcome).collect()
    })
}

/// A pass each, or a word where there is none.
fn grants(mut answer: Answer, incarnation: Incarnation) -> Result<Vec<Option<PassGrant>>, Failure> {
    let mut grants = Vec::with_capacity(answer.left());
    while !answer.is_empty() {
        grants.push(match answer.value()? {
            told @ Value::Array(_) => Some(grant(&mut Answer::of(told)?, incarnation)?),
            _ => None,
        });
    }
    Ok(grants)
}

pub(crate) fn extend(
    mut answer: Answer,
    incarnation: Incarnation,
) -> Result<ExtendOutcome, Failure> {
    Ok(match answer.text()?.as_str() {
        "ended" => ExtendOutcome::Ended,
        "limit_reached" => ExtendOutcome::LimitReached(grant(&mut answer, incarnation)?),
        "extended" => ExtendOutcome::Extended(grant(&mut answer, incarnation)?),
        other => return Err(odd(other)),
    })
}

pub(crate) fn redeem(
    mut answer: Answer,
    incarnation: Incarnation,
) -> Result<RedeemOutcome, Failure> {
    Ok(match answer.text()?.as_str() {
        "ended" => RedeemOutcome::Ended,
        "used" => RedeemOutcome::Used,
        "redeemed" => RedeemOutcome::Redeemed(grant(&mut answer, incarnation)?),
        other => return Err(odd(other)),
    })
}

pub(crate) fn admit_now(
    mut answer: Answer,
    incarnation: Incarnation,
) -> Result<AdmitNowOutcome, Failure> {
    Ok(match answer.text()?.as_str() {
        "called" => AdmitNowOutcome::Called(answer.number()?),
        "mass_absence" => AdmitNowOutcome::MassAbsence,
        "granted" => AdmitNowOutcome::Granted(grants(answer, incarnation)?),
        other => return Err(odd(other)),
    })
}

pub(crate) fn change(mut answer: Answer) -> Result<ChangeOutcome, Failure> {
    match answer.text()?.as_str() {
        "changed" => Ok(ChangeOutcome::Changed),
        "unchanged" => Ok(ChangeOutcome::Unchanged),
        other => Err(odd(other)),
    }
}

pub(crate) fn signal(mut answer: Answer) -> Result<SignalOutcome, Failure> {
    match answer.text()?.as_str() {
        "unheeded" => Ok(SignalOutcome::Unheeded),
        "unchanged" => Ok(SignalOutcome::Unchanged),
        "heard" => Ok(SignalOutcome::Heard),
        other => Err(odd(other)),
    }
}

pub(crate) fn recover(mut answer: Answer) -> Result<RecoverOutcome, Failure> {
    match answer.text()?.as_str() {
        "nothing_lost" => Ok(RecoverOutcome::NothingLost),
        "asking" => Ok(RecoverOutcome::Asking),
        "under_way" => Ok(RecoverOutcome::UnderWay),
        "began" => Ok(RecoverOutcome::Began),
        other => Err(odd(other)),
    }
}

pub(crate) fn restore(mut answer: Answer) -> Result<RestoreOutcome, Failure> {
    match answer.text()?.as_str() {
        "late" => Ok(RestoreOutcome::Late),
        "foreign" => Ok(RestoreOutcome::Foreign),
        "merged" => Ok(RestoreOutcome::Merged),
        other => Err(odd(other)),
    }
}

pub(crate) fn reattach(
    mut answer: Answer,
    incarnation: Incarnation,
) -> Result<Vec<ReattachOutcome>, Failure> {
    let mut outcomes = Vec::with_capacity(answer.left());
    while !answer.is_empty() {
        let mut one = answer.list()?;
        outcomes.push(match one.text()?.as_str() {
            "blocked" => ReattachOutcome::Blocked,
            "admitted" => ReattachOutcome::Admitted(grant(&mut one, incarnation)?),
            "waiting" => ReattachOutcome::Waiting { seq: one.number()? },
            "absent" => ReattachOutcome::Absent { seq: one.number()? },
            "restored" => ReattachOutcome::Restored { seq: one.number()? },
            "ended" => ReattachOutcome::Ended,
            other => return Err(odd(other)),
        });
    }
    Ok(outcomes)
}

/// The tick's numbers, after the word that says it was one.
pub(crate) fn admit(answer: &mut Answer) -> Result<AdmitOutcome, Failure> {
    Ok(AdmitOutcome {
        called: answer.number()?,
        ended: answer.number()?,
        lull_began: answer.number()? == 1,
        mass_absence: answer.number()? == 1,
        unlisted: answer.number()?,
        without_group: answer.number()? == 1,
    })
}
