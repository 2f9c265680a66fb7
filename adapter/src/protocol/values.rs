//! Variables and the values of expressions, on the wire.

use super::VariablePresentationHint;
use engine::LoadAddr;
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use std::sync::Arc;

/// A variable. The `dap` crate's has no places of declarations and values.
#[derive(Serialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct Variable<S = String> {
    /// Its name.
    pub name: S,
    /// Its value in one line.
    pub value: S,
    /// Its type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_field: Option<Arc<str>>,
    /// How to show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presentation_hint: Option<VariablePresentationHint>,
    /// An expression for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluate_name: Option<S>,
    /// Its number, 0 where there is nothing to open.
    pub variables_reference: i64,
    /// Children that have names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named_variables: Option<i64>,
    /// Children that have indices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexed_variables: Option<i64>,
    /// Where its bytes are, or where it points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_reference: Option<MemoryReference>,
    /// The number of the place where it is declared, for `locations`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declaration_location_reference: Option<i64>,
    /// The number of the place that its value is: a function's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_location_reference: Option<i64>,
}

/// A place in memory, as the client names it in later requests.
#[derive(Clone, Copy, Debug)]
pub struct MemoryReference(pub LoadAddr);

impl Serialize for MemoryReference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// The result of `variables` as JSON: there may be very many of them, so each becomes text before
/// the next one is made.
pub struct VariablesResponse(Vec<u8>);

impl VariablesResponse {
    /// Bytes that a variable takes, about.
    const USUAL: usize = 120;
    const HEAD: &[u8] = br#"{"variables":["#;

    /// None yet, and room for so many.
    pub fn for_about(count: usize) -> Self {
        // Text that has to move while it grows is copied, into memory that is touched anew.
        let mut json = Vec::with_capacity(Self::HEAD.len() + 2 + count * Self::USUAL);
        json.extend_from_slice(Self::HEAD);
        Self(json)
    }

    /// Writes one more.
    ///
    /// # Errors
    /// Never for strings and numbers.
    pub fn push<S: Serialize>(&mut self, variable: &Variable<S>) -> serde_json::Result<()> {
        if self.0.len() > Self::HEAD.len() {
            self.0.push(b',');
        }
        serde_json::to_writer(&mut self.0, variable)
    }

    /// The whole body.
    ///
    /// # Errors
    /// Never: what is written is UTF-8.
    pub fn into_json(mut self) -> serde_json::Result<String> {
        self.0.extend_from_slice(b"]}");
        String::from_utf8(self.0).map_err(serde_json::Error::custom)
    }
}

/// The result of `evaluate`.
#[derive(Serialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct EvaluateResponse {
    /// The value.
    pub result: String,
    /// Its type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_name: Option<Arc<str>>,
    /// How to show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presentation_hint: Option<VariablePresentationHint>,
    /// Its number, 0 where there is nothing to open.
    pub variables_reference: i64,
    /// Children that have names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named_variables: Option<i64>,
    /// Children that have indices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexed_variables: Option<i64>,
    /// Where its bytes are, or where it points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_reference: Option<MemoryReference>,
    /// The number of the place that the value is: a function's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_location_reference: Option<i64>,
}

/// The result of `setVariable`.
#[derive(Serialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct SetVariableResponse {
    /// The value as it is now.
    pub value: String,
    /// Its type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_name: Option<Arc<str>>,
    /// Its number, 0 where there is nothing to open.
    pub variables_reference: i64,
    /// Children that have names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named_variables: Option<i64>,
    /// Children that have indices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexed_variables: Option<i64>,
    /// Where its bytes are, or where it points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_reference: Option<MemoryReference>,
    /// The number of the place that the value is: a function's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_location_reference: Option<i64>,
}

/// The result of `setExpression`.
#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
pub struct SetExpressionResponse {
    /// The value as it is now.
    pub value: String,
    /// Its type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_name: Option<Arc<str>>,
    /// How to show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presentation_hint: Option<VariablePresentationHint>,
    /// Its number, 0 where there is nothing to open.
    pub variables_reference: i64,
    /// Children that have names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named_variables: Option<i64>,
    /// Children that have indices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexed_variables: Option<i64>,
    /// Where its bytes are, or where it points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_reference: Option<MemoryReference>,
    /// The number of the place that the value is: a function's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_location_reference: Option<i64>,
}

/// The result of `completions`.
#[derive(Serialize, Debug)]
pub struct CompletionsResponse {
    /// What may stand there.
    pub targets: Vec<CompletionItem>,
}

/// One of `completions`.
#[derive(Serialize, Debug)]
pub struct CompletionItem {
    /// What to write.
    pub label: String,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: CompletionItemType,
    /// Where it begins to replace the text, in units of UTF-16.
    pub start: i64,
    /// How many such units it replaces.
    pub length: i64,
}

/// What a completion is, in the specification's words.
#[derive(Serialize, Debug, Clone, Copy)]
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
