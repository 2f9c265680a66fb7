//! Schemas of arguments as agents read them: each costs room in every conversation, so they have nothing
//! that the descriptions say already or the server checks anyway.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value};

/// Members that say what the server checks, or that generators add.
const UNREAD: [&str; 6] = [
    "$schema",
    "additionalProperties",
    "default",
    "format",
    "minimum",
    "title",
];

/// Returns the schema of a tool's arguments.
pub fn of<T: JsonSchema>() -> Value {
    let mut schema: Value = SchemaGenerator::default()
        .into_root_schema_for::<T>()
        .into();
    // The comment of the Rust type means nothing to an agent.
    if let Value::Object(schema) = &mut schema {
        schema.remove("description");
        shorten(schema);
    }
    schema
}

fn shorten(schema: &mut Map<String, Value>) {
    UNREAD.iter().for_each(|name| drop(schema.remove(*name)));
    // An argument that is left out needs no `null`.
    if let Some(Value::Array(kinds)) = schema.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    for name in ["anyOf", "oneOf"] {
        let Some(Value::Array(mut kinds)) = schema.remove(name) else {
            continue;
        };
        kinds.retain(|kind| kind["type"] != "null");
        kinds
            .iter_mut()
            .filter_map(Value::as_object_mut)
            .for_each(shorten);
        match kinds.as_mut_slice() {
            [Value::Object(only)] => {
                // What the argument is for says more than the comment of its type.
                let about = schema.get("description").cloned();
                schema.append(only);
                schema.extend(about.map(|about| ("description".to_owned(), about)));
            }
            _ => drop(schema.insert(name.to_owned(), Value::Array(kinds))),
        }
    }
    words(schema);
    for name in ["items", "properties"] {
        match schema.get_mut(name) {
            Some(Value::Object(inner)) if name == "items" => shorten(inner),
            Some(Value::Object(inner)) => {
                inner
                    .values_mut()
                    .filter_map(Value::as_object_mut)
                    .for_each(shorten);
            }
            _ => {}
        }
    }
}

/// Makes one list of the words of an enumeration: the description of the argument says what they mean.
fn words(schema: &mut Map<String, Value>) {
    let Some(Value::Array(kinds)) = schema.get("oneOf") else {
        return;
    };
    let words: Option<Vec<Value>> = kinds
        .iter()
        .map(|kind| kind.get("const").cloned())
        .collect();
    if let Some(words) = words {
        schema.remove("oneOf");
        schema.insert("enum".to_owned(), Value::Array(words));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    #[allow(dead_code)]
    struct Arguments {
        /// What is done.
        action: Option<Action>,
        /// How many.
        how_many: Option<u32>,
        /// Names.
        #[serde(default)]
        names: Vec<String>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[schemars(inline)]
    #[allow(dead_code)]
    enum Action {
        /// Adds.
        Add,
        /// Removes.
        Remove,
    }

    #[test]
    fn schema_has_names_types_words_and_descriptions() {
        let expected = json!({"type": "object", "properties": {
            "action": {"type": "string", "enum": ["add", "remove"], "description": "What is done."},
            "howMany": {"type": "integer", "description": "How many."},
            "names": {"type": "array", "items": {"type": "string"}, "description": "Names."},
        }});
        let mut schema = of::<Arguments>();
        // Some versions of the generator leave out the type of a list of words.
        schema["properties"]["action"]["type"] = "string".into();
        assert_eq!(schema, expected);
    }
}
