//! Makes random messages for each definition of DAP's schema, some of them wrong, and compares what the
//! tests' checks say of them with what a general validator says.
//!
//!     cargo run --release --manifest-path tests/schema/compare/Cargo.toml [-- MESSAGES-PER-DEFINITION]

use fastrand::Rng;
use serde_json::{Map, Value, json};

const SCHEMA: &str = include_str!("../../debugAdapterProtocol.json");

/// Makes a value that mostly satisfies a schema.
fn make(root: &Value, schema: &Value, rng: &mut Rng, depth: usize) -> Value {
    if rng.u8(..) < 6 || depth > 12 {
        return any(rng);
    }
    if let Some(name) = schema["$ref"].as_str() {
        return make(
            root,
            root.pointer(&name[1..]).expect("a definition"),
            rng,
            depth + 1,
        );
    }
    for keyword in ["oneOf", "anyOf"] {
        if let Some(parts) = schema[keyword].as_array() {
            return make(root, &parts[rng.usize(..parts.len())], rng, depth + 1);
        }
    }
    if let Some(parts) = schema["allOf"].as_array() {
        let mut members = Map::new();
        for part in parts {
            if let Value::Object(more) = make(root, part, rng, depth + 1) {
                members.extend(more);
            }
        }
        return Value::Object(members);
    }
    if let Some(values) = schema["enum"].as_array() {
        return values[rng.usize(..values.len())].clone();
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        Value::String(name) => vec![name],
        _ => return any(rng),
    };
    match types[rng.usize(..types.len())] {
        "array" => (0..rng.usize(..4))
            .map(|_| make(root, &schema["items"], rng, depth + 1))
            .collect(),
        "boolean" => json!(rng.bool()),
        "integer" => json!(rng.i64(-2..1 << 33)),
        "null" => Value::Null,
        "number" => json!(rng.f64() * 100.0),
        "object" => {
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            let mut members = Map::new();
            for (name, member) in schema["properties"].as_object().into_iter().flatten() {
                let is_required = required.iter().any(|it| it == name.as_str());
                if (is_required && rng.u8(..) > 4) || rng.bool() {
                    members.insert(name.clone(), make(root, member, rng, depth + 1));
                }
            }
            if schema["additionalProperties"].is_object() {
                members.insert("extra".to_owned(), any(rng));
            }
            Value::Object(members)
        }
        _ => json!("text"),
    }
}

/// Makes a value of any type.
fn any(rng: &mut Rng) -> Value {
    let values = [
        Value::Null,
        json!(true),
        json!(-1),
        json!(7),
        json!(1.5),
        json!("event"),
        json!([1, "a"]),
        json!({"a": 1}),
    ];
    values[rng.usize(..values.len())].clone()
}

fn main() {
    let rounds = std::env::args().nth(1);
    let rounds: usize = rounds.and_then(|it| it.parse().ok()).unwrap_or(300);
    let root: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    let definitions = root["definitions"].as_object().expect("definitions");
    let mut rng = Rng::with_seed(1);
    let (mut passed, mut failed) = (0, 0);
    for name in definitions.keys() {
        let schema = json!({
            "$schema": "http://json-schema.org/draft-04/schema#",
            "allOf": [{"$ref": format!("#/definitions/{name}")}],
            "definitions": definitions,
        });
        let validator = jsonschema::validator_for(&schema).expect("the schema compiles");
        for _ in 0..rounds {
            let message = make(&root, &definitions[name], &mut rng, 0);
            let ours = json_schema::violations(&root, &format!("#/definitions/{name}"), &message);
            let theirs = validator.is_valid(&message);
            assert_eq!(ours.is_empty(), theirs, "{name}: {ours:?}\n{message}");
            *if theirs { &mut passed } else { &mut failed } += 1;
        }
    }
    println!("{passed} messages satisfy the schema, {failed} do not; both checks agree");
    assert!(passed > 0 && failed > 0);
}
