//! A point in time as RFC 3339 text in UTC, to the millisecond. Reads no clock.

use std::fmt;

use jari_units::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use utoipa::openapi::{KnownFormat, ObjectBuilder, RefOr, Schema, SchemaFormat, schema::Type};

/// `2026-11-30T09:00:00.000Z` on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Utc(pub Timestamp);

/// The last millisecond that RFC 3339 can write: the end of the year 9999.
const MAX_MS: u64 = 253_402_300_799_999;

impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.0.min(MAX_MS);
        let at = OffsetDateTime::from_unix_timestamp((ms / 1_000).cast_signed())
            .expect("bounded by MAX_MS, which is in the year 9999");
        let (year, month, day) = (at.year(), u8::from(at.month()), at.day());
        let (hour, minute, second) = at.to_hms();
        let milli = ms % 1_000;
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
    }
}

impl Serialize for Utc {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Utc {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        let at = OffsetDateTime::parse(&text, &Rfc3339)
            .map_err(|_| D::Error::custom("a time is RFC 3339, as 2026-11-30T09:00:00Z"))?;
        let ms = at.unix_timestamp_nanos() / 1_000_000;
        let ms = u64::try_from(ms).map_err(|_| D::Error::custom("a time is after 1970"))?;
        Ok(Utc(Timestamp(ms)))
    }
}

impl From<Timestamp> for Utc {
    fn from(at: Timestamp) -> Self {
        Utc(at)
    }
}

impl utoipa::PartialSchema for Utc {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .into()
    }
}

impl utoipa::ToSchema for Utc {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_to_the_millisecond_and_read_with_any_offset() {
        let at = Utc(Timestamp(1_796_029_200_007));
        assert_eq!(serde_json::to_string(&at).expect("text"), r#""2026-11-30T09:00:00.007Z""#);
        for text in [r#""2026-11-30T09:00:00.007Z""#, r#""2026-11-30T18:00:00.007+09:00""#] {
            assert_eq!(serde_json::from_str::<Utc>(text).expect("a time"), at, "{text}");
        }
        for bad in [r#""1969-12-31T23:59:59Z""#, r#""tomorrow""#, "12"] {
            assert!(serde_json::from_str::<Utc>(bad).is_err(), "{bad}");
        }
        assert_eq!(Utc(Timestamp(u64::MAX)).to_string(), "9999-12-31T23:59:59.999Z");
    }
}
