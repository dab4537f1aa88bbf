//! The protected site's two pages, in Korean and English. Asks nobody and checks nothing.

use jari_units::Millis;

pub(super) const STYLE: &str = include_str!("shop.css");
const PAGE: &str = include_str!("shop.html");

struct Texts {
    lang: &'static str,
    title: &'static str,
    lead: &'static str,
    seats: &'static str,
    done: &'static str,
    thanks: &'static str,
    thanks_lead: &'static str,
    again: &'static str,
}

const KO: Texts = Texts {
    lang: "ko",
    title: "가을 콘서트 예매",
    lead: "입장하셨습니다. 이 페이지는 대기실이 지키고 있으며, 입장권이 있는 사람만 볼 수 있습니다. 새로 고치면 입장권이 연장됩니다.",
    seats: "데모 사이트이므로 실제로 판매하는 좌석은 없습니다.",
    done: "마치고 나가기",
    thanks: "이용해 주셔서 감사합니다",
    thanks_lead: "입장권을 반납했습니다. 다음 분이 입장합니다.",
    again: "다시 줄 서기",
};

const EN: Texts = Texts {
    lang: "en",
    title: "Autumn concert tickets",
    lead: "You are in. The waiting room guards this page: only people with a pass see it. Each reload extends your pass.",
    seats: "This is a demo: there are no seats to sell.",
    done: "Done, leave",
    thanks: "Thank you",
    thanks_lead: "Your pass went back, and the next person comes in.",
    again: "Join the line again",
};

/// The protected page. Everything put into it is a number or a text of this file.
pub(super) fn tickets(korean: bool, seq: Option<u64>, left: Option<Millis>) -> String {
    let texts = if korean { KO } else { EN };
    let place = match (seq, korean) {
        (Some(seq), true) => format!("대기 {seq}번"),
        (Some(seq), false) => format!("No. {seq}"),
        (None, _) => String::new(),
    };
    let until = match (left, korean) {
        (Some(left), true) => format!("입장권 남은 시간 {}초", left.as_secs_ceil()),
        (Some(left), false) => format!("Your pass lasts {} more seconds", left.as_secs_ceil()),
        (None, _) => String::new(),
    };
    let body = format!(
        "<p class=\"place\">{place}</p><p>{}</p><p>{until}</p><p class=\"quiet\">{}</p>\
         <form method=\"post\" action=\"/done\"><button>{}</button></form>",
        texts.lead, texts.seats, texts.done
    );
    filled(texts.lang, texts.title, &body)
}

/// The page after the visit. `room_page` is an address that this process made.
pub(super) fn thanks(korean: bool, room_page: &str) -> String {
    let texts = if korean { KO } else { EN };
    let body =
        format!("<p>{}</p><p><a href=\"{room_page}\">{}</a></p>", texts.thanks_lead, texts.again);
    filled(texts.lang, texts.thanks, &body)
}

fn filled(lang: &str, title: &str, body: &str) -> String {
    PAGE.replace("{lang}", lang).replace("{title}", title).replace("{body}", body)
}
