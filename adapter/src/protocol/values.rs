//! Variables and the values of expressions, on the wire.

use super::VariablePresentationHint;
use engine::LoadAddr;
use serde::{Serialize, Serializer};
use std::sync::Arc;

/// A variable. The `dap` crate's has no places of declarations and values.
#[derive(Serialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value in one line.
    pub value: String,
    /// Its type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_field: Option<Arc<str>>,
    /// How to show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presentation_hint: Option<VariablePresentationHint>,
    /// An expression for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evaluate_name: Option<String>,
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

/// The result of `variables`.
#[derive(Serialize, Debug)]
pub struct VariablesResponse<V = Vec<Variable>> {
    /// They.
    pub variables: V,
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
