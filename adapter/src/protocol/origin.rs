//! The origin of a value, requests that are not in the specification.

use serde::{Deserialize, Serialize};

/// The response to `stillpoint/originHops`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct OriginHops {
    /// The expression.
    pub name: String,
    /// The places on the way back, the last write first. The last one is the origin.
    pub hops: Vec<OriginHop>,
}

/// A place on the way to the origin of a value.
#[derive(Serialize, Deserialize, Debug, Default, Clone)]
#[serde(rename_all = "camelCase", default)]
pub struct OriginHop {
    /// Its number, from 1 on.
    pub number: i64,
    /// What has happened to the value there: `stored`, `copied`, `argument`, `returned`, `computed`,
    /// `systemCall`, `initial`.
    pub kind: String,
    /// The same in a few words.
    pub text: String,
    /// The value.
    pub value: String,
    /// The function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// Its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<i64>,
    /// The instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction_pointer_reference: Option<String>,
    /// Where the value was copied from, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_reference: Option<String>,
    /// Whether `stillpoint/visitHop` can show it.
    pub can_be_shown: bool,
}

/// Arguments of `stillpoint/visitHop`.
#[derive(Serialize, Deserialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct VisitHopArguments {
    /// The number of the place, from 1 on.
    pub number: i64,
}
