//! What all pages of a room share: its titles, addresses and what happens to who is away. Knows no single person.

use jari_line::Settings;
use jari_ports::{Identity, RoomDefinition};
use jari_units::Millis;

use super::language::Language;
use super::template::Values;
use super::words;
use crate::newcomers;

/// The part of a room's definition that its pages show.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    /// What this server's addresses begin with.
    root: &'static str,
    room: String,
    title_ko: String,
    title_en: String,
    identity: Identity,
    /// Newcomers do some work first, which needs scripts.
    challenge: bool,
    absence_grace: Millis,
}

impl Frame {
    pub(super) fn new(definition: &RoomDefinition, root: &'static str) -> Frame {
        let Settings { absence_grace, .. } = definition.settings;
        Frame {
            root,
            room: definition.id.to_string(),
            title_ko: definition.title_ko.clone(),
            title_en: definition.title_en.clone(),
            identity: definition.identity,
            challenge: newcomers::work(definition),
            absence_grace,
        }
    }

    /// The title in `language`, else in the other, else the room's id.
    pub(super) fn title(&self, language: Language) -> &str {
        let (first, second) = match language {
            Language::Ko => (&self.title_ko, &self.title_en),
            Language::En => (&self.title_en, &self.title_ko),
        };
        [first, second, &self.room]
            .into_iter()
            .find(|title| !title.is_empty())
            .unwrap_or(&self.room)
    }

    pub(super) fn plain_href(&self) -> String {
        format!("{}/rooms/{}/plain", self.root, self.room)
    }

    pub(super) fn root(&self) -> &'static str {
        self.root
    }

    /// What someone is told who cannot be known here: a key of the messages `headline.*`.
    pub(super) fn stranger(&self) -> &'static str {
        match self.identity {
            Identity::Anonymous => "identity",
            Identity::Entry => "entry",
        }
    }

    /// What someone without a place is told on a page without scripts: a key of the messages `headline.*`.
    pub(super) fn nowhere(&self) -> &'static str {
        if self.challenge { "challenge" } else { "none" }
    }

    pub(super) fn values(&self, language: Language) -> Values<'static> {
        let identity = match self.identity {
            Identity::Anonymous => "anonymous",
            Identity::Entry => "entry",
        };
        Values::from([
            ("lang", language.tag().to_owned()),
            ("other_lang", language.other().tag().to_owned()),
            ("room", self.room.clone()),
            ("title", self.title(language).to_owned()),
            ("identity", identity.to_owned()),
            ("root", self.root.to_owned()),
            ("room_href", format!("{}/rooms/{}", self.root, self.room)),
            ("plain_href", self.plain_href()),
            ("about_away", self.about_away(language)),
        ])
    }

    fn about_away(&self, language: Language) -> String {
        if self.absence_grace == Millis::ZERO {
            return language.text("about_away_never").to_owned();
        }
        words::say(language, "about_away", &[("n", &words::span(language, self.absence_grace))])
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::pages) fn frame() -> Frame {
        Frame {
            root: "",
            room: "shop".into(),
            title_ko: "가을 <공연>".into(),
            title_en: String::new(),
            identity: Identity::Anonymous,
            challenge: false,
            absence_grace: Millis::from_mins(10),
        }
    }

    pub(in crate::pages) fn frame_with_challenge() -> Frame {
        Frame { challenge: true, ..frame() }
    }

    #[test]
    fn a_missing_title_is_taken_from_the_other_language() {
        assert_eq!(frame().title(Language::En), "가을 <공연>");
        let untitled = Frame { title_ko: String::new(), ..frame() };
        assert_eq!(untitled.title(Language::Ko), "shop");
    }

    #[test]
    fn who_cannot_return_is_not_promised_it() {
        let strict = Frame { absence_grace: Millis::ZERO, ..frame() };
        assert_eq!(strict.about_away(Language::Ko), Language::Ko.text("about_away_never"));
        assert!(frame().about_away(Language::Ko).contains("10분"));
    }
}
