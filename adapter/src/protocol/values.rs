//! Variables and the values of expressions, on the wire.

use super::VariablePresentationHint;
use engine::LoadAddr;
use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::sync::Arc;

/// A variable. The type in the `dap` crate lacks the location references.
/// [`VariablesWriter::push`] writes it.
#[derive(Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct Variable<S = String> {
    /// Its name.
    pub name: S,
    /// Its value in one line.
    pub value: S,
    /// Its type.
    pub r#type: Option<Arc<str>>,
    /// Presentation hint.
    pub presentation_hint: Option<VariablePresentationHint>,
    /// An expression that evaluates to it.
    pub evaluate_name: Option<S>,
    /// Its variables reference; 0 if it has no children.
    pub variables_reference: i64,
    /// Number of named children.
    pub named_variables: Option<i64>,
    /// Number of indexed children.
    pub indexed_variables: Option<i64>,
    /// The address of its bytes, or the target of a pointer.
    pub memory_reference: Option<MemoryReference>,
    /// The location reference of its declaration.
    pub declaration_location_reference: Option<i64>,
    /// The location reference of its value, a function.
    pub value_location_reference: Option<i64>,
}

/// An address in memory, as clients send it in later requests.
#[derive(Clone, Copy, Debug)]
pub struct MemoryReference(pub LoadAddr);

impl Serialize for MemoryReference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for MemoryReference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        let digits = text.strip_prefix("0x").unwrap_or_default();
        let address = u64::from_str_radix(digits, 16);
        let wrong = |_| D::Error::invalid_value(Unexpected::Str(&text), &"an address");
        Ok(Self(LoadAddr(address.map_err(wrong)?)))
    }
}

/// The result of `variables`, as clients read it; [`VariablesWriter`] writes it.
#[derive(Deserialize, Debug)]
pub struct VariablesResponse {
    /// The variables.
    pub variables: Vec<Variable>,
}

/// The body of the `variables` response as JSON. There may be very many variables, so each is
/// serialized before the next one is created.
#[derive(Debug)]
pub struct VariablesWriter(Vec<u8>);

impl VariablesWriter {
    /// Typical size of a variable in bytes.
    const TYPICAL_VARIABLE_BYTES: usize = 120;
    const HEAD: &[u8] = br#"{"variables":["#;

    /// Creates an empty body with capacity for `count` variables.
    pub fn for_about(count: usize) -> Self {
        // Growing would copy the text and touch new pages.
        let mut json =
            Vec::with_capacity(Self::HEAD.len() + 2 + count * Self::TYPICAL_VARIABLE_BYTES);
        json.extend_from_slice(Self::HEAD);
        Self(json)
    }

    /// Appends a variable. (A derived `Serialize` would scan each key for characters to escape,
    /// too.)
    ///
    /// # Errors
    /// Never for strings and numbers.
    pub fn push<S: AsRef<str>>(&mut self, variable: &Variable<S>) -> serde_json::Result<()> {
        let Variable {
            name,
            value,
            r#type,
            presentation_hint,
            evaluate_name,
            variables_reference,
            named_variables,
            indexed_variables,
            memory_reference,
            declaration_location_reference,
            value_location_reference,
        } = variable;
        if self.0.len() > Self::HEAD.len() {
            self.0.push(b',');
        }
        self.text(r#"{"name":"#, name.as_ref())?;
        self.text(r#","value":"#, value.as_ref())?;
        if let Some(name) = r#type {
            self.text(r#","type":"#, name)?;
        }
        if let Some(hint) = presentation_hint {
            self.key(r#","presentationHint":"#);
            serde_json::to_writer(&mut self.0, hint)?;
        }
        if let Some(expression) = evaluate_name {
            self.text(r#","evaluateName":"#, expression.as_ref())?;
        }
        self.number(r#","variablesReference":"#, Some(*variables_reference))?;
        self.number(r#","namedVariables":"#, *named_variables)?;
        self.number(r#","indexedVariables":"#, *indexed_variables)?;
        if let Some(MemoryReference(place)) = memory_reference {
            self.key(r#","memoryReference":"#);
            self.address(*place);
        }
        let declared = *declaration_location_reference;
        self.number(r#","declarationLocationReference":"#, declared)?;
        self.number(r#","valueLocationReference":"#, *value_location_reference)?;
        self.0.push(b'}');
        Ok(())
    }

    fn key(&mut self, key: &str) {
        self.0.extend_from_slice(key.as_bytes());
    }

    fn text(&mut self, key: &str, text: &str) -> serde_json::Result<()> {
        self.key(key);
        // Checks every byte without a branch, so that the compiler can vectorize it.
        let is_special = |byte: u8| byte < b' ' || byte == b'"' || byte == b'\\';
        if text.bytes().fold(false, |any, byte| any | is_special(byte)) {
            return serde_json::to_writer(&mut self.0, text);
        }
        self.0.push(b'"');
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(b'"');
        Ok(())
    }

    fn number(&mut self, key: &str, number: Option<i64>) -> serde_json::Result<()> {
        let Some(number) = number else { return Ok(()) };
        self.key(key);
        serde_json::to_writer(&mut self.0, &number)
    }

    /// Writes an address in the format of [`LoadAddr`]'s `Display`.
    fn address(&mut self, LoadAddr(place): LoadAddr) {
        self.key("\"0x");
        let digits = (u64::BITS - place.leading_zeros()).div_ceil(4).max(1);
        for at in (0..digits).rev() {
            let digit = place >> (4 * at) & 0xf;
            self.0.push(b"0123456789abcdef"[digit as usize]);
        }
        self.0.push(b'"');
    }

    /// Returns the complete body.
    ///
    /// # Errors
    /// Never: what is written is UTF-8.
    pub fn into_json(mut self) -> serde_json::Result<String> {
        self.0.extend_from_slice(b"]}");
        String::from_utf8(self.0).map_err(serde::ser::Error::custom)
    }
}

/// The result of `evaluate`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct EvaluateResponse {
    /// The value.
    pub result: String,
    /// Its type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_name: Option<Arc<str>>,
    /// Presentation hint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presentation_hint: Option<VariablePresentationHint>,
    /// Its variables reference; 0 if it has no children.
    pub variables_reference: i64,
    /// Number of named children.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named_variables: Option<i64>,
    /// Number of indexed children.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexed_variables: Option<i64>,
    /// The address of its bytes, or the target of a pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_reference: Option<MemoryReference>,
    /// The location reference of the value, a function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_location_reference: Option<i64>,
}

/// The result of `setVariable`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct SetVariableResponse {
    /// The value as it is now.
    pub value: String,
    /// Its type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_name: Option<Arc<str>>,
    /// Its variables reference; 0 if it has no children.
    pub variables_reference: i64,
    /// Number of named children.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named_variables: Option<i64>,
    /// Number of indexed children.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexed_variables: Option<i64>,
    /// The address of its bytes, or the target of a pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_reference: Option<MemoryReference>,
    /// The location reference of the value, a function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_location_reference: Option<i64>,
}

/// The result of `setExpression`.
#[derive(Serialize, Deserialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct SetExpressionResponse {
    /// The value as it is now.
    pub value: String,
    /// Its type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_name: Option<Arc<str>>,
    /// Presentation hint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presentation_hint: Option<VariablePresentationHint>,
    /// Its variables reference; 0 if it has no children.
    pub variables_reference: i64,
    /// Number of named children.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named_variables: Option<i64>,
    /// Number of indexed children.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexed_variables: Option<i64>,
    /// The address of its bytes, or the target of a pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_reference: Option<MemoryReference>,
    /// The location reference of the value, a function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_location_reference: Option<i64>,
}

/// The result of `completions`.
#[derive(Serialize, Deserialize, Debug)]
pub struct CompletionsResponse {
    /// The candidates.
    pub targets: Vec<CompletionItem>,
}

/// One of `completions`.
#[derive(Serialize, Deserialize, Debug)]
pub struct CompletionItem {
    /// The text to insert.
    pub label: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: CompletionItemType,
    /// Start of the range that it replaces, in UTF-16 code units.
    pub start: i64,
    /// Length of that range, in UTF-16 code units.
    pub length: i64,
}

/// What a completion is, in the specification's words.
#[derive(Serialize, Deserialize, Debug, Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub enum CompletionItemType {
    /// A variable.
    Variable,
    /// A member.
    Field,
    /// A method.
    Method,
    /// A register.
    Value,
    /// An enumerator.
    Enum,
    /// A command, or a word of one.
    Keyword,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::VariablePresentationHintKind;
    use serde_json::{Value, json};

    fn written(variable: &Variable<&str>) -> Value {
        let mut body = VariablesWriter::for_about(2);
        body.push(&Variable::<&str>::default()).unwrap();
        body.push(variable).unwrap();
        let mut body: Value = serde_json::from_str(&body.into_json().unwrap()).unwrap();
        body["variables"][1].take()
    }

    #[test]
    fn every_field_is_written() {
        let variable = Variable {
            name: "n",
            value: "v",
            r#type: Some("t".into()),
            presentation_hint: Some(VariablePresentationHint {
                kind: Some(VariablePresentationHintKind::Virtual),
                ..VariablePresentationHint::default()
            }),
            evaluate_name: Some("e"),
            variables_reference: 1,
            named_variables: Some(i64::MAX),
            indexed_variables: Some(-3),
            memory_reference: Some(MemoryReference(LoadAddr(0x10))),
            declaration_location_reference: Some(4),
            value_location_reference: Some(5),
        };
        let expected = json!({
            "name": "n", "value": "v", "type": "t", "presentationHint": {"kind": "virtual"},
            "evaluateName": "e", "variablesReference": 1, "namedVariables": i64::MAX,
            "indexedVariables": -3, "memoryReference": "0x10",
            "declarationLocationReference": 4, "valueLocationReference": 5,
        });
        assert_eq!(written(&variable), expected);
        let expected = json!({"name": "", "value": "", "variablesReference": 0});
        assert_eq!(written(&Variable::default()), expected);
    }

    #[test]
    fn texts_round_trip() {
        let all: String = (0..0x300).filter_map(char::from_u32).collect();
        let mut texts = vec![all, "a long text, and behind it \"".to_owned()];
        texts.extend((0..0x80_u8).map(|byte| format!("x{}", char::from(byte))));
        for text in &texts {
            let variable = Variable {
                name: text.as_str(),
                value: text,
                r#type: Some(text.as_str().into()),
                evaluate_name: Some(text),
                ..Variable::default()
            };
            let written = written(&variable);
            for field in ["name", "value", "type", "evaluateName"] {
                assert_eq!(written[field], text.as_str());
            }
        }
    }

    #[test]
    fn addresses_are_written_as_they_are_displayed() {
        let rest = (0..64).map(|bit| u64::MAX >> bit);
        for place in (0..64).map(|bit| 1 << bit).chain(rest).chain([0]) {
            let variable = Variable {
                memory_reference: Some(MemoryReference(LoadAddr(place))),
                ..Variable::default()
            };
            let displayed = LoadAddr(place).to_string();
            assert_eq!(written(&variable)["memoryReference"], displayed);
        }
    }
}
