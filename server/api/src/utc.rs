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
        let (year, month, day) = (at.year().unsigned_abs(), u8::from(at.month()), at.day());
        let (hour, minute, second) = at.to_hms();
        // In every answer to a visitor: seven numbers by the formatter's general way take longer than half a signature.
        let mut text = *b"0000-00-00T00:00:00.000Z";
        for (at, digits, number) in [
            (0, 4, year),
            (5, 2, month.into()),
            (8, 2, day.into()),
            (11, 2, hour.into()),
            (14, 2, minute.into()),
            (17, 2, second.into()),
            (20, 3, (ms % 1_000) as u32),
        ] {
            put(&mut text[at..at + digits], number);
        }
        f.write_str(std::str::from_utf8(&text).expect("digits are ASCII"))
    }
}

/// Writes a number into its digits, from the last to the first.
fn put(digits: &mut [u8], mut number: u32) {
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
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
        assert_eq!(Utc(Timestamp(951_782_399_999)).to_string(), "2000-02-28T23:59:59.999Z");
        assert_eq!(Utc(Timestamp(0)).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Utc(Timestamp(u64::MAX)).to_string(), "9999-12-31T23:59:59.999Z");
    }
}
