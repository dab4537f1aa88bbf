//! A room's definition on the wire. Checks nothing: that is the handler's and the line's.

use jari_ports::{Challenge, RoomDefinition};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::admin::SettingsBody;
use crate::{Identity, Title, Utc};

/// What the gate does while the store is down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnStoreFailure {
    /// Passes go on, newcomers wait.
    #[default]
    Wait,
    /// Nobody passes.
    Refuse,
    /// Everybody passes, counted and alarmed.
    Pass,
}

/// How an admitted person shows their pass to the site.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Handover {
    /// By the pass cookie: the gate is on the site's own host.
    #[default]
    Cookie,
    /// By a one-time token in the address that they are sent to.
    Token,
}

/// What newcomers do before they get a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChallengeKind {
    /// Nothing.
    #[default]
    Off,
    /// Their device does a short calculation; in anonymous rooms only.
    ProofOfWork,
}

impl From<jari_ports::ChallengeKind> for ChallengeKind {
    fn from(kind: jari_ports::ChallengeKind) -> Self {
        match kind {
            jari_ports::ChallengeKind::Off => ChallengeKind::Off,
            jari_ports::ChallengeKind::ProofOfWork => ChallengeKind::ProofOfWork,
        }
    }
}

impl From<ChallengeKind> for jari_ports::ChallengeKind {
    fn from(kind: ChallengeKind) -> Self {
        match kind {
            ChallengeKind::Off => jari_ports::ChallengeKind::Off,
            ChallengeKind::ProofOfWork => jari_ports::ChallengeKind::ProofOfWork,
        }
    }
}

fn default_difficulty() -> u32 {
    Challenge::default().difficulty
}

impl From<jari_ports::Handover> for Handover {
    fn from(handover: jari_ports::Handover) -> Self {
        match handover {
            jari_ports::Handover::Cookie => Handover::Cookie,
            jari_ports::Handover::Token => Handover::Token,
        }
    }
}

impl From<Handover> for jari_ports::Handover {
    fn from(handover: Handover) -> Self {
        match handover {
            Handover::Cookie => jari_ports::Handover::Cookie,
            Handover::Token => jari_ports::Handover::Token,
        }
    }
}

/// A room as its operator writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RoomBody {
    /// `[a-z0-9-]{1,64}`, unique in the installation; never changes.
    pub room: String,
    /// Whose room it is; left out, the calling key's tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The limit group it shares, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    pub identity: Identity,
    pub title: Title,
    /// Where an admitted person goes: an absolute http(s) URL, or a path on Jari's own origin.
    pub target_url: String,
    #[serde(default)]
    pub on_store_failure: OnStoreFailure,
    /// How an admitted person shows their pass to the site.
    #[serde(default)]
    pub handover: Handover,
    /// What newcomers do before they get a place.
    #[serde(default)]
    pub challenge: ChallengeKind,
    /// Tries that solve a challenge at the latest, half of them on average; 100 to 1,000,000.
    #[serde(default = "default_difficulty")]
    pub challenge_difficulty: u32,
    #[serde(default)]
    pub settings: SettingsBody,
}

/// A room's definition as stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RoomDefinitionView {
    #[serde(flatten)]
    pub body: RoomBody,
    /// Rises with each write; `If-Match` names it.
    pub version: u64,
    pub created_at: Utc,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RoomList {
    /// In order of id.
    pub rooms: Vec<RoomDefinitionView>,
}

impl From<jari_ports::OnStoreFailure> for OnStoreFailure {
    fn from(policy: jari_ports::OnStoreFailure) -> Self {
        match policy {
            jari_ports::OnStoreFailure::Wait => OnStoreFailure::Wait,
            jari_ports::OnStoreFailure::Refuse => OnStoreFailure::Refuse,
            jari_ports::OnStoreFailure::Pass => OnStoreFailure::Pass,
        }
    }
}

impl From<OnStoreFailure> for jari_ports::OnStoreFailure {
    fn from(policy: OnStoreFailure) -> Self {
        match policy {
            OnStoreFailure::Wait => jari_ports::OnStoreFailure::Wait,
            OnStoreFailure::Refuse => jari_ports::OnStoreFailure::Refuse,
            OnStoreFailure::Pass => jari_ports::OnStoreFailure::Pass,
        }
    }
}

impl From<&RoomDefinition> for RoomBody {
    fn from(room: &RoomDefinition) -> Self {
        RoomBody {
            room: room.id.to_string(),
            tenant: Some(room.tenant.to_string()),
            group: room.group.as_ref().map(ToString::to_string),
            identity: room.identity.into(),
            title: Title { ko: room.title_ko.clone(), en: room.title_en.clone() },
            target_url: room.target_url.clone(),
            on_store_failure: room.on_store_failure.into(),
            handover: room.handover.into(),
            challenge: room.challenge.kind.into(),
            challenge_difficulty: room.challenge.difficulty,
            settings: (&room.settings).into(),
        }
    }
}

impl From<&RoomDefinition> for RoomDefinitionView {
    fn from(room: &RoomDefinition) -> Self {
        RoomDefinitionView {
            body: room.into(),
            version: room.version,
            created_at: room.created_at.into(),
        }
    }
}
