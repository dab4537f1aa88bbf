//! What a person sees instead of the page that they asked for, of a protected site or of Jari: why, that nothing is lost,
//! and when to look again.

use std::sync::LazyLock;

use axum::response::{IntoResponse as _, Response};
use http::HeaderMap;
use jari_api::Code;

use super::language::Language;
use super::room_handler::as_page;
use super::scripted::add_assets;
use super::template::{Template, Values};

static SITE: LazyLock<Template> = LazyLock::new(|| {
    Template::parse(include_str!("../../../../web/room/site.html"))
        .expect("the template is part of the program and tested")
});

/// The page for a refusal of `code`; it loads itself again after `again_s` seconds where that helps.
pub(crate) fn show(code: Code, root: &str, again_s: Option<u64>, headers: &HeaderMap) -> Response {
    let language = Language::choose(None, headers);
    as_page(render(code, root, again_s, language).into_response())
}

/// Title and text.
fn words(code: Code, language: Language) -> (&'static str, &'static str) {
    let (title, text) = match code {
        Code::SiteUnavailable | Code::SiteTimeout => ("site_down_title", "site_down_text"),
        Code::BadTarget
        | Code::BadRequest
        | Code::NotFound
        | Code::Misdirected
        | Code::MethodNotAllowed
        | Code::LoopDetected => ("site_address_title", "site_address_text"),
        Code::UnknownRoom => ("site_room_gone_title", "site_room_gone_text"),
        // Of the line or of this server; both come round by themselves.
        _ => ("site_busy_title", "site_busy_text"),
    };
    (language.text(title), language.text(text))
}

fn render(code: Code, root: &str, again_s: Option<u64>, language: Language) -> String {
    let (title, text) = words(code, language);
    let mut values = Values::from([
        ("lang", language.tag().to_owned()),
        ("title", title.to_owned()),
        ("text", text.to_owned()),
        ("again_s", again_s.map_or_else(String::new, |seconds| seconds.to_string())),
    ]);
    add_assets(root, &mut values);
    SITE.render(&values, |key| language.text(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_has_its_words_in_both_languages() {
        for code in Code::ALL {
            for language in Language::ALL {
                let html = render(*code, "/.jari", Some(5), language);
                let (title, text) = words(*code, language);
                assert!(!title.is_empty() && html.contains(title) && html.contains(text), "{html}");
                assert!(!html.contains("{{") && html.contains("\"/.jari/assets/"), "{html}");
            }
        }
        let gone = render(Code::UnknownRoom, "", None, Language::En);
        assert!(!gone.contains("are kept") && gone.contains("no longer"), "{gone}");
        assert!(!render(Code::BadTarget, "", None, Language::En).contains("refresh"));
    }
}
