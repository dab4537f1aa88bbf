//! Queries on signing keys: the only secrets here, never in an error or a log.

use jari_ports::{AuditEntry, ControlError, SigningKey, SigningKeyState};
use sqlx::any::AnyRow;

use crate::Records;
use crate::column::{bytes32, damaged, hex, named, number, signed, time};
use crate::failure::unavailable;

const ADD: &str = "INSERT INTO signing_keys (id, secret, state, created_at) \
                   VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING";

impl Records {
    pub(crate) async fn read_signing_keys(&self) -> Result<Vec<SigningKey>, ControlError> {
        let all = sqlx::query("SELECT id, secret, state, created_at FROM signing_keys ORDER BY id");
        let rows = all.fetch_all(&self.pool).await;
        let keys = rows.and_then(|rows| rows.iter().map(signing_key).collect());
        keys.map_err(|error| unavailable(&self.place, &error))
    }

    pub(crate) async fn write_signing_key(
        &self,
        key: SigningKey,
        entry: AuditEntry,
    ) -> Result<(), ControlError> {
        let mut write = self.begin_write().await?;
        let add = sqlx::query(ADD)
            .bind(i64::from(key.id))
            .bind(hex(&key.secret))
            .bind(state_word(key.state))
            .bind(signed(key.created_at.0));
        match add.execute(write.conn()).await {
            Ok(done) if done.rows_affected() == 0 => {
                let name = format!("signing key {}", key.id);
                Err(write.refuse(ControlError::Conflict(name)).await)
            }
            Ok(_) => write.commit(entry).await,
            Err(error) => Err(write.failed(&error)),
        }
    }
}

fn signing_key(row: &AnyRow) -> Result<SigningKey, sqlx::Error> {
    let id = number(row, "id")?;
    Ok(SigningKey {
        id: u8::try_from(id).map_err(|_| damaged(format!("signing key id {id}")))?,
        secret: bytes32(row, "secret")?,
        state: named(row, "state", state)?,
        created_at: time(row, "created_at")?,
    })
}

fn state_word(state: SigningKeyState) -> &'static str {
    match state {
        SigningKeyState::Active => "active",
        SigningKeyState::Retiring => "retiring",
    }
}

fn state(word: &str) -> Option<SigningKeyState> {
    let all = [SigningKeyState::Active, SigningKeyState::Retiring];
    all.into_iter().find(|known| state_word(*known) == word)
}
