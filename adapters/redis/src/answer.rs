//! Taking a script's answer apart: numbers, texts, lists, in the order in which the script put them.

use redis::Value;

use crate::error::Failure;

/// The values of one list that have not been taken yet.
#[derive(Debug)]
pub(crate) struct Answer(std::vec::IntoIter<Value>);

fn odd(wanted: &str, value: &Option<Value>) -> Failure {
    let found = match value {
        None => "nothing more".to_owned(),
        Some(value) => format!("{value:?}").chars().take(80).collect(),
    };
    Failure::odd_answer(&format!("{found} for {wanted}"))
}

impl Answer {
    pub(crate) fn of(value: Value) -> Result<Answer, Failure> {
        match value {
            Value::Array(values) => Ok(Answer(values.into_iter())),
            other => Err(odd("a list", &Some(other))),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_slice().is_empty()
    }

    pub(crate) fn left(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn value(&mut self) -> Result<Value, Failure> {
        self.0.next().ok_or_else(|| odd("a value", &None))
    }

    pub(crate) fn list(&mut self) -> Result<Answer, Failure> {
        Answer::of(self.value()?)
    }

    pub(crate) fn number(&mut self) -> Result<u64, Failure> {
        match self.0.next() {
            Some(Value::Int(number)) if number >= 0 => Ok(number.cast_unsigned()),
            Some(Value::BulkString(bytes)) => {
                let number = std::str::from_utf8(&bytes).ok().and_then(|text| text.parse().ok());
                number.ok_or_else(|| odd("a number", &Some(Value::BulkString(bytes))))
            }
            other => Err(odd("a number", &other)),
        }
    }

    pub(crate) fn bytes(&mut self) -> Result<Vec<u8>, Failure> {
        match self.0.next() {
            Some(Value::BulkString(bytes)) => Ok(bytes),
            Some(Value::SimpleString(text)) => Ok(text.into_bytes()),
            // A key that is not there.
            Some(Value::Nil) => Ok(Vec::new()),
            other => Err(odd("a text", &other)),
        }
    }

    pub(crate) fn text(&mut self) -> Result<String, Failure> {
        let bytes = self.bytes()?;
        String::from_utf8(bytes).map_err(|_| Failure::odd_answer("a text that is not UTF-8"))
    }

    /// The number in a text, or nothing where it is empty.
    pub(crate) fn maybe_number(&mut self) -> Result<Option<u64>, Failure> {
        let text = self.text()?;
        if text.is_empty() {
            return Ok(None);
        }
        text.parse().map(Some).map_err(|_| Failure::odd_answer("a text for a number"))
    }
}
