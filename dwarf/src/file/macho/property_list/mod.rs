//! Property lists, the files in which macOS keeps preferences: as XML and in Apple's binary format.

mod binary;
mod xml;

/// How deep values may be in others; the lists that are read have two levels.
const MAX_DEPTH: usize = 16;
/// Maximum number of values in a list. In a binary one they can refer to the same bytes.
const MAX_VALUES: usize = 1 << 16;
/// Maximum length of all texts of a list together in bytes.
const MAX_TEXT: usize = 4 << 20;

/// A value of a property list.
#[derive(Debug, PartialEq)]
pub(super) enum Value {
    Text(String),
    Integer(i64),
    Array(Vec<Value>),
    /// Keys and values in the order of the file.
    Dictionary(Vec<(String, Value)>),
    /// A kind that no list read here needs: a date, data, a boolean or a fraction.
    Other,
}

impl Value {
    /// Reads a list of either format.
    ///
    /// # Errors
    /// The bytes are no property list, or one with too many or too deep values.
    pub(super) fn parse(bytes: &[u8]) -> Result<Value, String> {
        match bytes.starts_with(binary::MAGIC) {
            true => binary::parse(bytes),
            false => xml::parse(bytes),
        }
    }

    /// Returns the value of a key; `None` also if this is no dictionary.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        let Value::Dictionary(pairs) = self else {
            return None;
        };
        let mut pairs = pairs.iter();
        pairs.find_map(|(name, value)| (name == key).then_some(value))
    }

    /// Takes the value of a key out of a dictionary.
    pub(super) fn remove(&mut self, key: &str) -> Option<Value> {
        let Value::Dictionary(pairs) = self else {
            return None;
        };
        let at = pairs.iter().position(|(name, _)| name == key)?;
        Some(pairs.swap_remove(at).1)
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns a number, also one that is written as text.
    pub(super) fn integer(&self) -> Option<i64> {
        match self {
            Value::Integer(number) => Some(*number),
            Value::Text(text) => text.trim().parse().ok(),
            _ => None,
        }
    }
}

/// What may still be read of a list.
struct Budget {
    values: usize,
    text: usize,
}

impl Budget {
    fn new() -> Budget {
        Budget {
            values: MAX_VALUES,
            text: MAX_TEXT,
        }
    }

    /// Takes one value, `depth` levels deep, with so many bytes of text.
    fn take(&mut self, depth: usize, text: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err(format!("values are more than {MAX_DEPTH} levels deep"));
        }
        let values = self.values.checked_sub(1);
        let text = self.text.checked_sub(text);
        let (Some(values), Some(text)) = (values, text) else {
            return Err(format!(
                "more than {MAX_VALUES} values or {MAX_TEXT} bytes of text"
            ));
        };
        (self.values, self.text) = (values, text);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
