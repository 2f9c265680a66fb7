//! Checks JSON against a schema, with the keywords that DAP's schema and the schemas of our own tools use.
//!
//! A general validator takes longer to compile than all other dependencies of the tests together.
//! `compare` beside this crate holds the answers against such a validator's; it runs in `.ci/full`. A
//! keyword that is not known here is an error: nothing passes because it was not looked at.

use serde_json::Value;

/// Keywords that do not restrict values.
const ANNOTATIONS: &[&str] = &[
    "$schema",
    "_enum",
    "default",
    "definitions",
    "$defs",
    "description",
    "enumDescriptions",
    "examples",
    "format",
    "title",
];
/// The names of types; an integer is a number, too.
const TYPES: &[&str] = &[
    "array", "boolean", "integer", "null", "number", "object", "string",
];
/// Maximum depth of a schema and of what it describes.
const MAX_DEPTH: usize = 64;

/// Checks a value against a definition of `root`, such as `#/definitions/StoppedEvent`. Returns what is
/// wrong: a path in the value and the rule; nothing if it satisfies all rules.
pub fn violations(root: &Value, definition: &str, value: &Value) -> Vec<String> {
    let mut checker = Checker {
        root,
        found: Vec::new(),
    };
    match root.pointer(definition.trim_start_matches('#')) {
        Some(schema) => checker.check(schema, value, "", 0),
        None => checker.found.push(format!("no definition {definition}")),
    }
    checker.found
}

/// Checks that a schema has only keywords that are known here, with values that they can have. Returns
/// what is wrong.
pub fn faults(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    well_formed(schema, schema, "", 0, &mut found);
    found
}

struct Checker<'a> {
    root: &'a Value,
    found: Vec<String>,
}

impl Checker<'_> {
    fn check(&mut self, schema: &Value, value: &Value, at: &str, depth: usize) {
        let Some(rules) = schema.as_object() else {
            if schema == &Value::Bool(false) {
                self.found.push(format!("{at}: is not allowed"));
            }
            return;
        };
        if depth > MAX_DEPTH {
            self.found.push(format!("{at}: too deep"));
            return;
        }
        // In the draft that DAP's schema is of, nothing beside a reference counts.
        if let Some(name) = rules.get("$ref").and_then(Value::as_str) {
            match self.root.pointer(name.trim_start_matches('#')) {
                Some(schema) => self.check(schema, value, at, depth + 1),
                None => self.found.push(format!("{at}: no definition {name}")),
            }
            return;
        }
        for (keyword, rule) in rules {
            self.check_rule(keyword, rule, (rules, value), at, depth + 1);
        }
    }

    fn check_rule(
        &mut self,
        keyword: &str,
        rule: &Value,
        (rules, value): (&serde_json::Map<String, Value>, &Value),
        at: &str,
        depth: usize,
    ) {
        let list = || rule.as_array().into_iter().flatten();
        match keyword {
            "type" => {
                let names = rule
                    .as_array()
                    .map_or(std::slice::from_ref(rule), Vec::as_slice);
                let is = |name: &Value| name.as_str().is_some_and(|name| is_of(value, name));
                self.expect(names.iter().any(is), || {
                    format!("{at}: {value} is no {rule}")
                });
            }
            "enum" => {
                let is_one = list().any(|one| one == value);
                self.expect(is_one, || format!("{at}: {value} is none of {rule}"));
            }
            "const" => self.expect(value == rule, || format!("{at}: {value} is not {rule}")),
            "required" => {
                let Some(members) = value.as_object() else {
                    return;
                };
                for name in list().filter_map(Value::as_str) {
                    let has = members.contains_key(name);
                    self.expect(has, || format!("{at}: has no {name}"));
                }
            }
            "properties" => {
                for (name, schema) in rule.as_object().into_iter().flatten() {
                    if let Some(member) = value.get(name) {
                        self.check(schema, member, &format!("{at}/{name}"), depth);
                    }
                }
            }
            "additionalProperties" => {
                let known = rules.get("properties").and_then(Value::as_object);
                for (name, member) in value.as_object().into_iter().flatten() {
                    if known.is_none_or(|known| !known.contains_key(name)) {
                        self.check(rule, member, &format!("{at}/{name}"), depth);
                    }
                }
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    self.check(rule, item, &format!("{at}/{index}"), depth);
                }
            }
            "allOf" => list().for_each(|part| self.check(part, value, at, depth)),
            "anyOf" | "oneOf" => {
                let fitting = list().filter(|part| {
                    let mut checker = Checker {
                        root: self.root,
                        found: Vec::new(),
                    };
                    checker.check(part, value, at, depth);
                    checker.found.is_empty()
                });
                let count = fitting.count();
                let fits = count == 1 || (count > 1 && keyword == "anyOf");
                self.expect(fits, || format!("{at}: fits {count} of {keyword}"));
            }
            "minimum" | "maximum" => {
                let (Some(number), Some(limit)) = (value.as_f64(), rule.as_f64()) else {
                    return;
                };
                let within = match keyword {
                    "minimum" => number >= limit,
                    _ => number <= limit,
                };
                self.expect(within, || {
                    format!("{at}: {value} is beyond the {keyword} {rule}")
                });
            }
            _ if ANNOTATIONS.contains(&keyword) => {}
            _ => self.found.push(format!("{at}: unknown keyword {keyword}")),
        }
    }

    fn expect(&mut self, holds: bool, message: impl FnOnce() -> String) {
        if !holds {
            self.found.push(message());
        }
    }
}

fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "array" => value.is_array(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "object" => value.is_object(),
        "string" => value.is_string(),
        _ => false,
    }
}

fn well_formed(root: &Value, schema: &Value, at: &str, depth: usize, found: &mut Vec<String>) {
    let Some(rules) = schema.as_object() else {
        if !schema.is_boolean() {
            found.push(format!("{at}: {schema} is no schema"));
        }
        return;
    };
    if depth > MAX_DEPTH {
        found.push(format!("{at}: too deep"));
        return;
    }
    for (keyword, rule) in rules {
        let at = format!("{at}/{keyword}");
        let parts: Vec<&Value> = match keyword.as_str() {
            "properties" | "definitions" | "$defs" => match rule.as_object() {
                Some(members) => members.values().collect(),
                None => {
                    found.push(format!("{at}: no object"));
                    Vec::new()
                }
            },
            "allOf" | "anyOf" | "oneOf" => rule.as_array().into_iter().flatten().collect(),
            "items" | "additionalProperties" => vec![rule],
            _ => Vec::new(),
        };
        let texts = |value: &Value| {
            let all = value.as_array();
            all.is_some_and(|all| !all.is_empty() && all.iter().all(Value::is_string))
        };
        let is_type = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
        let is_right = match keyword.as_str() {
            "type" => match rule.as_array() {
                Some(names) => !names.is_empty() && names.iter().all(is_type),
                None => is_type(rule),
            },
            "required" => texts(rule),
            "enum" | "allOf" | "anyOf" | "oneOf" => {
                rule.as_array().is_some_and(|all| !all.is_empty())
            }
            "minimum" | "maximum" => rule.is_number(),
            "$ref" => {
                let name = rule.as_str();
                let definition = name.and_then(|name| root.pointer(name.trim_start_matches('#')));
                definition.is_some()
            }
            "description" | "title" | "$schema" | "format" => rule.is_string(),
            "properties" | "items" | "additionalProperties" | "const" => true,
            other => ANNOTATIONS.contains(&other),
        };
        if !is_right {
            found.push(format!("{at}: cannot be {rule}"));
        }
        for part in parts {
            well_formed(root, part, &at, depth + 1, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_rule_is_checked() {
        let schema = json!({"definitions": {
            "Point": {"type": "object", "required": ["x"], "properties": {
                "x": {"type": "integer", "minimum": 0, "maximum": 9},
                "of": {"type": "array", "items": {"$ref": "#/definitions/Kind"}},
                "more": {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
            }},
            "Kind": {"oneOf": [{"enum": ["a", "b"]}, {"const": "z"}, {"type": "number"}]},
            "Whole": {"allOf": [{"$ref": "#/definitions/Point"}, {"required": ["of"]}]},
        }});
        assert_eq!(faults(&schema), [""; 0]);
        let wrong = |value: Value| violations(&schema, "#/definitions/Whole", &value).len();
        assert_eq!(
            wrong(json!({"x": 3, "of": ["a", "z", 1.5], "more": {"z": null}})),
            0
        );
        for value in [
            json!([]),
            json!({"of": []}),
            json!({"x": 3}),
            json!({"x": 3.5, "of": []}),
            json!({"x": 10, "of": []}),
            json!({"x": -1, "of": []}),
            json!({"x": 1, "of": ["c"]}),
            json!({"x": 1, "of": [], "more": {"z": 1}}),
        ] {
            assert_ne!(wrong(value.clone()), 0, "{value}");
        }
    }

    #[test]
    fn faults_of_schemas_are_found() {
        for schema in [
            json!({"type": "text"}),
            json!({"$ref": "#/definitions/Absent"}),
            json!({"properties": {"a": {"enum": []}}}),
            json!({"patternProperties": {}}),
            json!(5),
        ] {
            assert_ne!(faults(&schema), [""; 0], "{schema}");
        }
    }
}
