//! The skill for agents in docs/agents: its examples are run, and its answers compared.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use stillpoint_tests::{Agent, Compiler, Fixture, Flags, repository};

const SKILL: &str = "docs/agents/skills/native-debugging/SKILL.md";
const AGENT: &str = "docs/agents/agents/native-debugger.md";
/// Stands for any text, and on a line of its own for any lines.
const ANY: &str = "…";

/// A call and the answer that the skill shows.
struct Example {
    tool: String,
    arguments: Value,
    answer: Vec<String>,
}

/// The blocks of the skill, each a session.
fn sessions(text: &str) -> Vec<Vec<Example>> {
    let blocks = text.split("```text\n").skip(1);
    blocks
        .map(|block| {
            let mut examples: Vec<Example> = Vec::new();
            for line in block.lines().take_while(|line| *line != "```") {
                match line.strip_prefix("> ") {
                    Some(call) => {
                        let (tool, arguments) = call.split_once(' ').expect("arguments");
                        examples.push(Example {
                            tool: tool.to_owned(),
                            arguments: serde_json::from_str(arguments).expect("JSON"),
                            answer: Vec::new(),
                        });
                    }
                    None => {
                        let last = examples.last_mut().expect("a call comes first");
                        last.answer.push(line.to_owned());
                    }
                }
            }
            examples
        })
        .collect()
}

/// Whether a line is as shown.
fn line_matches(shown: &str, line: &str) -> bool {
    let mut parts = shown.split(ANY);
    let Some(rest) = line.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let mut rest = rest;
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in between {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Whether an answer is as shown.
fn matches(shown: &[String], lines: &[&str]) -> bool {
    match (shown.split_first(), lines.split_first()) {
        (None, None) => true,
        (None, Some(_)) => false,
        (Some((first, more)), _) if first.trim() == ANY => {
            matches(more, lines) || (!lines.is_empty() && matches(shown, &lines[1..]))
        }
        (Some(_), None) => false,
        (Some((first, more)), Some((line, rest))) => {
            line_matches(first, line) && matches(more, rest)
        }
    }
}

/// Compiles the example that a launch names, and returns its path.
fn compiled(name: &str) -> String {
    let source = repository().join(format!("docs/agents/examples/{name}.c"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("agents");
    fs::create_dir_all(&folder).expect("a folder");
    let program = folder.join(name);
    let flags = Flags::new(Compiler::Gcc);
    assert!(Fixture::compile_to(&source, &program, flags), "{name}");
    program.display().to_string()
}

#[test]
fn examples_answer_as_shown() {
    let text = fs::read_to_string(repository().join(SKILL)).expect("the skill");
    let sessions = sessions(&text);
    assert_eq!(sessions.len(), 4);
    for session in sessions {
        let mut agent = Agent::start();
        for mut example in session {
            if let Some(program) = example.arguments.get_mut("program") {
                let name = program.as_str().and_then(|it| it.strip_prefix("./"));
                *program = compiled(name.expect("./NAME")).into();
            }
            let answer = agent.call(&example.tool, example.arguments.clone());
            let lines: Vec<&str> = answer.trim_end().lines().collect();
            assert!(
                matches(&example.answer, &lines),
                "{} {}: shown:\n{}\nis:\n{answer}",
                example.tool,
                example.arguments,
                example.answer.join("\n")
            );
        }
    }
}

#[test]
fn tools_that_are_named_exist() {
    let mut agent = Agent::start_with(&["--tools", "all"]);
    let id = agent.send("tools/list", serde_json::json!({}));
    let listed = agent.answer(id);
    let tools = listed["result"]["tools"].as_array().expect("tools");
    let tools: BTreeSet<&str> = tools.iter().filter_map(|it| it["name"].as_str()).collect();
    let mut named = 0;
    for file in [SKILL, AGENT] {
        let text = fs::read_to_string(repository().join(file)).expect("a file");
        assert!(text.starts_with("---\nname: "), "{file}");
        let is_part = |char: char| char.is_ascii_lowercase() || char == '_';
        for word in text.split(|char| !is_part(char)) {
            if word.starts_with("debug_") {
                assert!(tools.contains(word), "{file}: {word}");
                named += 1;
            }
        }
    }
    assert!(named > 20);
    agent.leave();
}

#[test]
fn the_plugin_describes_itself() {
    let read = |name: &str| -> Value {
        let text = fs::read(repository().join("docs/agents").join(name)).expect(name);
        serde_json::from_slice(&text).expect(name)
    };
    let plugin = read(".claude-plugin/plugin.json");
    assert_eq!(plugin["name"], "stillpoint");
    assert_eq!(plugin["version"], env!("CARGO_PKG_VERSION"));
    let market = read("../../.claude-plugin/marketplace.json");
    let listed = &market["plugins"][0];
    assert_eq!(listed["name"], plugin["name"]);
    assert_eq!(listed["description"], plugin["description"]);
    assert_eq!(listed["source"], "./docs/agents");
    let readme = fs::read_to_string(repository().join("docs/agents/README.md"));
    let install = format!("/plugin install {}@{}", plugin["name"], market["name"]);
    let install = install.replace('"', "");
    assert!(readme.expect("a README").contains(&install), "{install}");
    let server = &read(".mcp.json")["mcpServers"]["stillpoint"];
    assert_eq!(server["command"], "stillpoint");
    assert_eq!(server["args"][0], "mcp");
}
