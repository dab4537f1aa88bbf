//! The visitor's page and the page for a room that is not there, as bodies. The same for everybody in a room, so each is
//! rendered and compressed once per room and language. No HTTP handling.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use jari_ports::RoomDefinition;
use jari_units::{RoomId, Timestamp};
use parking_lot::Mutex;

use super::assets;
use super::encoded::Encoded;
use super::frame::Frame;
use super::language::Language;
use super::template::{Template, Values};

/// Pages kept ready, of all rooms; beyond it the store of pages begins anew. About 10 KB each.
const PAGES_MAX: usize = 1_024;

static ROOM: LazyLock<Template> =
    LazyLock::new(|| template(include_str!("../../../../web/room/room.html")));
static MISSING: LazyLock<Template> =
    LazyLock::new(|| template(include_str!("../../../../web/room/missing.html")));

fn template(text: &'static str) -> Template {
    Template::parse(text).expect("the template is part of the program and tested")
}

/// Pages rendered and compressed, by room and language, each of one version of the room's definition.
#[derive(Debug)]
pub(super) struct ReadyPages {
    /// What this server's addresses begin with on these pages.
    root: &'static str,
    pages: Mutex<HashMap<(RoomId, Language), Ready>>,
}

#[derive(Debug)]
struct Ready {
    /// Of the room's definition: a room that was deleted and made again counts its versions anew.
    of: (Timestamp, u64),
    page: Arc<Encoded>,
}

impl ReadyPages {
    pub(super) fn below(root: &'static str) -> ReadyPages {
        ReadyPages { root, pages: Mutex::default() }
    }

    pub(super) fn root(&self) -> &'static str {
        self.root
    }

    /// The page, and whether it was ready.
    pub(super) fn get(
        &self,
        definition: &RoomDefinition,
        language: Language,
    ) -> (Arc<Encoded>, bool) {
        let key = (definition.id.clone(), language);
        let of = (definition.created_at, definition.version);
        if let Some(ready) = self.pages.lock().get(&key)
            && ready.of == of
        {
            return (ready.page.clone(), true);
        }
        // Rendered outside the lock: two requests may do it twice, nobody waits for a compressor.
        let page = Arc::new(Encoded::new(room_page(&Frame::new(definition, self.root), language)));
        let mut pages = self.pages.lock();
        if pages.len() >= PAGES_MAX {
            pages.clear();
        }
        pages.insert(key, Ready { of, page: page.clone() });
        (page, false)
    }
}

fn room_page(frame: &Frame, language: Language) -> String {
    let mut values = frame.values(language);
    values.insert("script_href", assets::script_href(frame.root(), language));
    values.insert("proof_href", assets::proof_href(frame.root()));
    add_assets(frame.root(), &mut values);
    ROOM.render(&values, |key| language.text(key))
}

/// Says in both languages that there is no such room.
pub(super) fn missing_page(root: &str, language: Language) -> String {
    let other = language.other();
    let mut values = Values::from([
        ("lang", language.tag().to_owned()),
        ("other_lang", other.tag().to_owned()),
        ("other_text", other.text("missing_text").to_owned()),
    ]);
    add_assets(root, &mut values);
    MISSING.render(&values, |key| language.text(key))
}

pub(super) fn add_assets(root: &str, values: &mut Values<'_>) {
    values.insert("icon_href", assets::icon_href(root));
    values.insert("style_href", assets::style_href(root));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::frame;

    #[test]
    fn the_page_is_small_says_its_language_and_escapes_the_title() {
        for language in Language::ALL {
            let html = room_page(&frame::tests::frame(), language);
            assert!(html.contains(&format!("<html lang=\"{}\">", language.tag())), "{html}");
            assert!(html.contains("가을 &lt;공연&gt;"), "{html}");
            assert!(!html.contains("{{") && !html.contains("\"\""), "an empty value: {html}");
            assert!(!html.contains("<style") && !html.contains(" style="), "{html}");
            assert!(Encoded::new(html).gzip_len() < assets::tests::HTML_MAX_BYTES);
        }
    }

    #[test]
    fn every_text_the_templates_name_exists() {
        for name in [&*ROOM, &*MISSING].into_iter().flat_map(Template::names) {
            let Some(key) = name.strip_prefix("t.") else { continue };
            assert!(!Language::Ko.text(key).is_empty(), "{key}");
        }
    }

    #[test]
    fn a_missing_room_is_told_in_both_languages() {
        let html = missing_page("", Language::Ko);
        for language in Language::ALL {
            assert!(html.contains(language.text("missing_text")), "{html}");
        }
    }

    /// A room that was deleted and made again is another room, though its versions count from one again.
    #[test]
    fn a_room_made_again_shows_its_own_page() {
        let mut definition = RoomDefinition {
            id: "shop".parse().expect("an id"),
            tenant: "default".parse().expect("an id"),
            group: None,
            identity: jari_ports::Identity::Anonymous,
            title_ko: String::new(),
            title_en: "One".to_owned(),
            target_url: "/".to_owned(),
            on_store_failure: jari_ports::OnStoreFailure::Wait,
            handover: jari_ports::Handover::Cookie,
            challenge: jari_ports::Challenge::default(),
            settings: jari_line::Settings::default(),
            version: 1,
            created_at: Timestamp(1),
        };
        let pages = ReadyPages::below("");
        let (first, _) = pages.get(&definition, Language::En);
        definition.title_en = "Another".to_owned();
        definition.created_at = definition.created_at + jari_units::Millis(1);
        let (second, ready) = pages.get(&definition, Language::En);
        assert!(!ready && !Arc::ptr_eq(&first, &second));
        let (again, ready) = pages.get(&definition, Language::En);
        assert!(ready && Arc::ptr_eq(&second, &again));
    }
}
