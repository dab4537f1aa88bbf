//! What the page without scripts says: one person's place, or why there is none, as a template's values. No HTTP.

use std::sync::LazyLock;

use jari_api::{Code, LineState, LineView, Moved, PlaceStatus, PlaceView};
use jari_units::{Millis, Timestamp};

use super::language::Language;
use super::template::{Template, Values};
use super::words;
use super::{assets, frame};

/// A whole page reloads: more often than this is work for nobody, however near the front.
const REFRESH_MIN: Millis = Millis(5_000);
/// How often a page without a place looks again.
const LOOK_AGAIN: Millis = Millis(30_000);

static PLAIN: LazyLock<Template> = LazyLock::new(|| {
    Template::parse(include_str!("../../../../web/room/plain.html"))
        .expect("the template is part of the program and tested")
});

/// What is known when the page is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene<'a> {
    pub(super) language: Language,
    pub(super) frame: &'a frame::Frame,
    pub(super) place: Option<&'a PlaceView>,
    /// The room's own state, where it can be read.
    pub(super) line: Option<&'a LineView>,
    /// Why the call for the place was refused.
    pub(super) refusal: Option<Code>,
    /// Nobody is held up now: where to go.
    pub(super) go_to: Option<&'a str>,
    /// An entry token from the address, for the join.
    pub(super) entry: Option<&'a str>,
    pub(super) now: Timestamp,
}

pub(super) fn render(scene: &Scene<'_>) -> String {
    let language = scene.language;
    let mode = mode(scene);
    let mut values = scene.frame.values(language);
    values.insert("page_title", page_title(scene, mode));
    values.insert("headline", language.text(&format!("headline.{mode}")).to_owned());
    values.insert("icon_href", assets::icon_href(scene.frame.root()));
    values.insert("style_href", assets::style_href(scene.frame.root()));
    add_line(scene, mode, &mut values);
    if let Some(place) = scene.place {
        add_place(scene, mode, place, &mut values);
    }
    if let (Some(target), "off") = (scene.go_to, mode) {
        values.insert("target_url", target.to_owned());
    }
    add_forms(scene, mode, &mut values);
    PLAIN.render(&values, |key| language.text(key))
}

/// As `modeOf` in `line.js`: a key of the messages `headline.*` and `detail.*`.
fn mode(scene: &Scene<'_>) -> &'static str {
    let state = scene.line.map(|line| line.state);
    match (scene.place.map(|place| place.status), scene.refusal) {
        (Some(PlaceStatus::Admitted), _) if claimed(scene) => "inside",
        (Some(PlaceStatus::Admitted), _) => "admitted",
        _ if scene.go_to.is_some() => "off",
        (Some(PlaceStatus::Absent), _) => "absent",
        (Some(PlaceStatus::Ended), _) => without_place(state, "ended"),
        (Some(status), _) => in_line(status, state),
        (None, Some(Code::IdentityRequired)) => scene.frame.stranger(),
        (None, Some(code)) => refused(code, state, scene.frame.nowhere()),
        (None, None) => without_place(state, scene.frame.nowhere()),
    }
}

fn claimed(scene: &Scene<'_>) -> bool {
    scene.place.and_then(|place| place.pass.as_ref()).is_some_and(|pass| pass.claimed)
}

/// Where a position means something: not when nobody goes in any more.
fn position(scene: &Scene<'_>, mode: &str) -> Option<u64> {
    let nobody_waits = matches!(mode, "sold_out" | "off");
    scene.place.and_then(|place| place.position).filter(|_| !nobody_waits)
}

fn in_line(status: PlaceStatus, state: Option<LineState>) -> &'static str {
    match state {
        Some(LineState::Paused | LineState::Off) => "paused",
        Some(LineState::NotOpen) => "ready",
        Some(LineState::Closed) => "closed_kept",
        Some(LineState::SoldOut) => "sold_out",
        Some(LineState::Recovering) => "recovering",
        Some(LineState::Open) | None if status == PlaceStatus::Next => "next",
        Some(LineState::Open) | None => "waiting",
    }
}

fn without_place(state: Option<LineState>, else_mode: &'static str) -> &'static str {
    match state {
        Some(LineState::Closed) => "closed",
        Some(LineState::SoldOut) => "sold_out",
        Some(LineState::NotOpen) => "not_open",
        _ => else_mode,
    }
}

fn refused(code: Code, state: Option<LineState>, nowhere: &'static str) -> &'static str {
    match code {
        // No token yet, or one that is not good any more: a join finds the place of the same identity.
        Code::PlaceRequired | Code::InvalidToken => without_place(state, nowhere),
        Code::ChallengeRequired => "challenge",
        Code::Blocked => "blocked",
        Code::NotOpen => "not_open",
        Code::RoomClosed => "closed",
        Code::RoomSoldOut => "sold_out",
        Code::RoomFull => "room_full",
        Code::Recovering => "recovering",
        _ => "busy",
    }
}

fn page_title(scene: &Scene<'_>, mode: &str) -> String {
    let title = scene.frame.title(scene.language);
    match position(scene, mode) {
        _ if mode == "admitted" => format!("{} · {title}", scene.language.text("turn_title")),
        Some(position) => format!("({}) {title}", words::count(position)),
        None => title.to_owned(),
    }
}

fn add_line(scene: &Scene<'_>, mode: &str, values: &mut Values<'_>) {
    let language = scene.language;
    let message = scene.line.map_or("", |line| line.message.as_str());
    let told = matches!(mode, "closed" | "closed_kept" | "sold_out") && !message.is_empty();
    let detail = if told { message } else { language.text(&format!("detail.{mode}")) };
    // "This page gets your place by itself" is true only of the page with scripts.
    let detail = if mode == "not_open" { "" } else { detail };
    values.insert("detail", detail.to_owned());
    let Some(line) = scene.line else { return };
    let until = |at: Option<jari_api::Utc>, key: &str| {
        let left = at.map(|at| at.0.since(scene.now)).filter(|left| *left > Millis::ZERO)?;
        Some(words::say(language, key, &[("span", &words::span(language, left))]))
    };
    let opens = match mode {
        "not_open" | "ready" => until(line.opens_at, "opens_after"),
        "closed" | "closed_kept" => until(line.reopens_at, "reopens_after"),
        _ => None,
    };
    values.insert("opens", opens.unwrap_or_default());
    values
        .insert("notice", line.notice.as_ref().map_or(String::new(), |notice| notice.text.clone()));
    // Why an estimate moved is no news to who is shown none.
    let estimate = scene.place.is_some_and(|place| place.estimate.is_some());
    let moved = line.moved.filter(|moved| estimate || *moved == Moved::Resumed);
    values.insert("moved", moved.map_or("", |moved| language.text(moved_key(moved))).to_owned());
}

fn moved_key(moved: Moved) -> &'static str {
    match moved {
        Moved::Slowed => "moved.slowed",
        Moved::SpedUp => "moved.sped_up",
        Moved::Resumed => "moved.resumed",
        Moved::Lull => "moved.lull",
    }
}

fn add_place(scene: &Scene<'_>, mode: &str, place: &PlaceView, values: &mut Values<'_>) {
    let language = scene.language;
    if let Some(position) = position(scene, mode) {
        values.insert("position", words::count(position));
        values.insert("unit", language.text("unit").to_owned());
        let estimate = words::estimate(language, place.estimate.as_ref(), place.no_estimate);
        values.insert("estimate", estimate);
        let behind = words::count(place.behind.unwrap_or(0));
        values.insert("behind", words::say(language, "people", &[("n", &behind)]));
    }
    if let Some(pass) = &place.pass {
        values.insert("target_url", pass.target_url.clone());
        let span = words::span(language, Millis(pass.remaining_ms));
        let key = if pass.claimed { "remaining_claimed" } else { "remaining" };
        values.insert("remaining", words::say(language, key, &[("span", &span)]));
    }
}

fn add_forms(scene: &Scene<'_>, mode: &str, values: &mut Values<'_>) {
    let language = scene.language;
    let join = match mode {
        "none" => "join",
        "ended" => "join_again",
        "room_full" | "busy" if scene.place.is_none() => "join",
        _ => "",
    };
    values.insert("join", language.text(join).to_owned());
    values.insert("entry", scene.entry.unwrap_or_default().to_owned());
    let held = scene.place.is_some_and(|place| {
        matches!(place.status, PlaceStatus::Waiting | PlaceStatus::Next | PlaceStatus::Absent)
    });
    if held {
        values.insert("leave", language.text("leave").to_owned());
    } else if mode != "none" {
        values.remove("about_away");
    }
    let lasting = matches!(mode, "ended" | "blocked" | "challenge" | "entry" | "identity" | "off");
    if !lasting {
        values.insert("refresh", language.text("refresh").to_owned());
    }
    // Someone who is about to press a button must not have the page taken from under the finger.
    if !lasting && mode != "none" {
        let after = scene.place.and_then(|place| place.poll_after_ms).map_or(LOOK_AGAIN, Millis);
        values.insert("refresh_s", after.max(REFRESH_MIN).as_secs_ceil().to_string());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jari_api::{EstimateView, NoticeView, PassView, Utc};

    use super::*;

    fn line(state: LineState) -> LineView {
        LineView {
            state,
            serving: 200,
            served: 200,
            waiting: 1_321,
            rate_per_s: 50.0,
            notice: None,
            moved: None,
            opens_at: None,
            reopens_at: None,
            message: String::new(),
        }
    }

    fn place(status: PlaceStatus) -> PlaceView {
        let waiting = status == PlaceStatus::Waiting;
        PlaceView {
            room: "shop".into(),
            status,
            seq: 1_201,
            position: waiting.then_some(1_001),
            behind: waiting.then_some(320),
            line: Arc::new(line(LineState::Open)),
            estimate: waiting.then_some(EstimateView { low_ms: 190_000, high_ms: 290_000 }),
            no_estimate: None,
            poll_after_ms: Some(7_200),
            stream: true,
            place_token: None,
            stream_key: None,
            visitor_token: None,
            pass: None,
            go_to: None,
            server_time: Utc(Timestamp(0)),
        }
    }

    fn page(place: Option<&PlaceView>, line: &LineView, refusal: Option<Code>) -> String {
        let frame = frame::tests::frame();
        let scene = Scene {
            language: Language::Ko,
            frame: &frame,
            place,
            line: Some(line),
            refusal,
            go_to: None,
            entry: None,
            now: Timestamp(0),
        };
        render(&scene)
    }

    #[test]
    fn every_name_in_the_template_is_given_somewhere() {
        let given = [
            "lang",
            "other_lang",
            "room",
            "title",
            "plain_href",
            "room_href",
            "about_away",
            "page_title",
            "headline",
            "icon_href",
            "style_href",
            "detail",
            "opens",
            "notice",
            "moved",
            "position",
            "unit",
            "estimate",
            "behind",
            "target_url",
            "remaining",
            "join",
            "entry",
            "leave",
            "refresh",
            "refresh_s",
        ];
        for name in PLAIN.names() {
            match name.strip_prefix("t.") {
                Some(key) => assert!(!Language::En.text(key).is_empty(), "{name}"),
                None => assert!(given.contains(&name), "{name}"),
            }
        }
    }

    #[test]
    fn who_waits_reads_position_estimate_and_may_leave() {
        let html = page(Some(&place(PlaceStatus::Waiting)), &line(LineState::Open), None);
        for want in [
            "1,001",
            "약 3~5분",
            "320명",
            "content=\"8; url=/rooms/shop/plain\"",
            "plain/leave",
            "10분 안에",
        ] {
            assert!(html.contains(want), "{want} is missing: {html}");
        }
        assert!(!html.contains("plain/join") && !html.contains("id=\"enter\""), "{html}");
    }

    #[test]
    fn who_is_admitted_gets_the_link_and_who_has_no_place_the_button() {
        let mut admitted = place(PlaceStatus::Admitted);
        admitted.pass = Some(PassView {
            token: "secret".into(),
            expires_at: Utc(Timestamp(120_000)),
            remaining_ms: 120_000,
            claimed: false,
            target_url: "https://shop.example/?a=1&b=2".into(),
        });
        let html = page(Some(&admitted), &line(LineState::Open), None);
        assert!(html.contains("href=\"https://shop.example/?a=1&amp;b=2\""), "{html}");
        assert!(html.contains("2분 안에 입장") && !html.contains("secret"), "{html}");

        let html = page(None, &line(LineState::Open), Some(Code::PlaceRequired));
        assert!(html.contains("plain/join") && !html.contains("http-equiv=\"refresh\""), "{html}");
    }

    /// The work before a place needs scripts: nobody is shown a button that would not help.
    #[test]
    fn a_room_that_wants_some_work_says_that_it_needs_scripts() {
        let frame = frame::tests::frame_with_challenge();
        let shown = |place: Option<&PlaceView>, refusal| {
            let line = line(LineState::Open);
            let (language, line, now) = (Language::Ko, Some(&line), Timestamp(0));
            let (go_to, entry) = (None, None);
            render(&Scene { language, frame: &frame, place, line, refusal, go_to, entry, now })
        };
        for refusal in [Code::PlaceRequired, Code::InvalidToken, Code::ChallengeRequired] {
            let html = shown(None, Some(refusal));
            assert!(html.contains(Language::Ko.text("headline.challenge")), "{html}");
            assert!(!html.contains("plain/join") && !html.contains("http-equiv"), "{html}");
            assert!(html.contains("href=\"/rooms/shop\""), "the way to the page that can: {html}");
        }
        let html = shown(Some(&place(PlaceStatus::Waiting)), None);
        assert!(html.contains("1,001"), "who has a place waits here as anywhere: {html}");
    }

    #[test]
    fn who_went_in_already_is_told_so() {
        let mut inside = place(PlaceStatus::Admitted);
        inside.pass = Some(PassView {
            token: "secret".into(),
            expires_at: Utc(Timestamp(60_000)),
            remaining_ms: 60_000,
            claimed: true,
            target_url: "https://shop.example/".into(),
        });
        let html = page(Some(&inside), &line(LineState::Open), None);
        assert!(html.contains(Language::Ko.text("headline.inside")), "{html}");
        assert!(html.contains("id=\"enter\"") && !html.contains("차례입니다"), "{html}");
    }

    #[test]
    fn a_position_is_not_shown_where_nobody_goes_in_any_more() {
        let html = page(Some(&place(PlaceStatus::Waiting)), &line(LineState::SoldOut), None);
        assert!(!html.contains("1,001") && html.contains("plain/leave"), "{html}");
    }

    #[test]
    fn why_an_estimate_moved_is_told_beside_an_estimate_only() {
        let mut slowed = line(LineState::Open);
        slowed.moved = Some(Moved::Slowed);
        let mut waiting = place(PlaceStatus::Waiting);
        let text = Language::Ko.text("moved.slowed");
        assert!(page(Some(&waiting), &slowed, None).contains(text));
        waiting.estimate = None;
        assert!(!page(Some(&waiting), &slowed, None).contains(text));
    }

    #[test]
    fn who_need_not_wait_is_shown_the_way_on() {
        let frame = frame::tests::frame();
        for place in [None, Some(&place(PlaceStatus::Waiting))] {
            let scene = Scene {
                language: Language::Ko,
                frame: &frame,
                place,
                line: Some(&line(LineState::Off)),
                refusal: place.is_none().then_some(Code::PlaceRequired),
                go_to: Some("/tickets?a=1&b=2"),
                entry: None,
                now: Timestamp(0),
            };
            let html = render(&scene);
            assert!(html.contains(Language::Ko.text("headline.off")), "{html}");
            assert!(
                html.contains("id=\"enter\" class=\"button\" href=\"/tickets?a=1&amp;b=2\""),
                "{html}"
            );
            assert!(!html.contains("plain/join") && !html.contains("1,001"), "{html}");
        }
    }

    #[test]
    fn every_state_has_its_own_words() {
        let waiting = place(PlaceStatus::Waiting);
        for (place, state, refusal, want) in [
            (Some(&waiting), LineState::Paused, None, "headline.paused"),
            (Some(&waiting), LineState::NotOpen, None, "headline.ready"),
            (Some(&waiting), LineState::Closed, None, "headline.closed_kept"),
            (Some(&place(PlaceStatus::Next)), LineState::Open, None, "headline.next"),
            (Some(&place(PlaceStatus::Absent)), LineState::Open, None, "headline.absent"),
            (Some(&place(PlaceStatus::Ended)), LineState::Open, None, "headline.ended"),
            (Some(&place(PlaceStatus::Ended)), LineState::SoldOut, None, "headline.sold_out"),
            (None, LineState::NotOpen, Some(Code::PlaceRequired), "headline.not_open"),
            (None, LineState::Open, Some(Code::Blocked), "headline.blocked"),
            (None, LineState::Open, Some(Code::RoomFull), "headline.room_full"),
            (None, LineState::Recovering, Some(Code::Recovering), "headline.recovering"),
            (None, LineState::Open, Some(Code::IdentityRequired), "headline.identity"),
            (None, LineState::Open, Some(Code::StoreUnavailable), "headline.busy"),
        ] {
            let text = Language::Ko.text(want);
            assert!(!text.is_empty(), "{want}");
            assert!(page(place, &line(state), refusal).contains(text), "{want}");
        }
    }

    #[test]
    fn notices_and_messages_are_shown_and_harmless() {
        let mut closed = line(LineState::Closed);
        closed.message = "내일 <b>다시</b> 엽니다".into();
        closed.reopens_at = Some(Utc(Timestamp(90_000)));
        closed.notice =
            Some(NoticeView { text: "<script>1</script>".into(), at: Utc(Timestamp(0)) });
        let html = page(None, &closed, Some(Code::PlaceRequired));
        assert!(
            html.contains("내일 &lt;b&gt;다시") && html.contains("약 1분 30초 후에 다시"),
            "{html}"
        );
        assert!(!html.contains("<script>"), "{html}");
    }
}
