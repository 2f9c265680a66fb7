//! The oracle of names that several images define: a program and libraries with equal names, linked and
//! opened in random ways. The code of each image keeps what it reads of each name, and where; expressions,
//! the scope of globals, assignments and compiled conditions in its frames must agree.
//! `SAME_NAMES_SEEDS=50` tries more of them.

mod programs;

use programs::{HEADER, Image, Used};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;
use stillpoint_tests::{DapClient, Fixture, target_directory};

/// Returns the seeds to try.
fn seeds() -> std::ops::RangeInclusive<u64> {
    let most = std::env::var("SAME_NAMES_SEEDS").ok();
    1..=most.and_then(|it| it.parse().ok()).unwrap_or(3)
}

/// Compiles an image; its source, and the image. `None`: the compiler is not installed.
fn compile(image: &Image, number: usize, folder: &Path) -> Option<(PathBuf, PathBuf)> {
    let source = folder.join(format!("image{number}.cpp"));
    std::fs::write(&source, &image.text).expect("a source");
    let binary = match number {
        0 => folder.join("program"),
        _ => folder.join(format!("lib{number}.so")),
    };
    let mut command = Command::new(image.compiler);
    command.args(["-g", "-O0", "-std=c++17", "-w", "-o"]);
    command.arg(&binary).arg(&source).args(&image.flags);
    match command.status() {
        Ok(status) => assert!(status.success(), "{command:?}"),
        Err(_) => {
            skips::skip(image.compiler);
            return None;
        }
    }
    Some((source, binary))
}

/// An image as the session sees it.
struct Seen {
    fixture: Fixture,
    used: Vec<Used>,
    is_program: bool,
}

/// The session, and what it shows wrongly.
struct Session {
    client: DapClient,
    wrong: Vec<String>,
}

impl Session {
    fn expect(&mut self, place: &str, expression: &str, value: &str) {
        let found = self.client.try_evaluate(expression);
        if found.as_deref() != Ok(value) {
            let text = format!("{place}: {expression} = {found:?}, not {value}");
            self.wrong.push(text);
        }
    }

    /// Compares each name with what the code has read, and assigns another value. Returns the values.
    fn compare(&mut self, image: &Seen, place: &str) -> Vec<(usize, String)> {
        let has_globals = image.used.iter().any(|it| !it.is_function);
        let globals = match has_globals && self.has_scope("Globals") {
            true => Some(self.client.scope("Globals")),
            false => None,
        };
        let mut assigned = Vec::new();
        for it in &image.used {
            let (name, number) = (it.expression, it.number);
            let read = self.client.evaluate(&format!("r{number}"));
            let is_bound = self.client.evaluate(&format!("a{number}")) != "0";
            match (it.is_function, is_bound) {
                (true, true) => self.expect(place, &format!("{name}()"), &read),
                // Of the program, nothing tells that its code refers to it.
                (true, false) => {}
                (false, false) if image.is_program => {}
                (false, false) => {
                    if let Ok(value) = self.client.try_evaluate(name) {
                        self.wrong
                            .push(format!("{place}: {name} = {value}, not refused"));
                    }
                }
                (false, true) => {
                    self.expect(place, name, &read);
                    self.expect(place, &format!("(long)&{name} == a{number}"), "true");
                    let new = format!("{}", 500_000 + self.client.history().len());
                    let shown = globals.as_ref().and_then(|it| self.global(it, name));
                    match shown {
                        Some(shown) if shown != read => self
                            .wrong
                            .push(format!("{place}: {name} is {shown} in Globals, not {read}")),
                        Some(_) if number.is_multiple_of(2) => {
                            let globals = globals.as_ref().expect("the scope");
                            self.client.set_child(globals, name, &new);
                        }
                        _ => drop(self.client.evaluate(&format!("{name} = {new}"))),
                    }
                    assigned.push((number, new));
                }
            }
        }
        assigned
    }

    fn has_scope(&mut self, name: &str) -> bool {
        let frame = self.client.top_frame()["id"].clone();
        let scopes = self.client.request_ok("scopes", json!({"frameId": frame}));
        let scopes = scopes["scopes"].as_array().expect("scopes");
        scopes.iter().any(|it| it["name"] == name)
    }

    fn global(&mut self, globals: &serde_json::Value, name: &str) -> Option<String> {
        let reference = globals["variablesReference"].as_i64()?;
        let all = self.client.variables(reference);
        let found = all.iter().find(|it| it["name"] == name)?;
        Some(found["value"].as_str()?.to_owned())
    }

    /// Walks through the function of an image, which has stopped before anything is assigned.
    fn walk(&mut self, image: &Seen, place: &str) {
        let assigned = self.compare(image, place);
        let mut parts = vec!["i == 49".to_owned()];
        for it in image.used.iter().filter(|it| it.is_plain) {
            if assigned.iter().any(|(number, _)| *number == it.number) {
                parts.push(format!("{} == w{} + 50", it.expression, it.number));
            }
        }
        let condition = json!({"condition": parts.join(" && ")});
        let marks = [
            ("before", json!({})),
            ("after", json!({})),
            ("loop", condition),
        ];
        self.client
            .set_breakpoints_with(&image.fixture, marks.to_vec());
        self.client.continue_to(&image.fixture, "after");
        for (number, value) in assigned {
            self.expect(place, &format!("w{number}"), &value);
        }
        self.client.continue_to(&image.fixture, "loop");
        self.expect(place, "i", "49");
    }
}

#[test]
fn a_name_is_what_the_code_of_the_frame_means() {
    let mut wrong = Vec::new();
    for seed in seeds() {
        let folder = target_directory().join(format!("same_names/{seed}"));
        std::fs::create_dir_all(&folder).expect("a folder");
        let header = folder.join("bump.h");
        std::fs::write(&header, HEADER).expect("the header");
        let images = programs::images(seed, &folder);
        let count = images.len();
        let mut seen = Vec::new();
        for (number, image) in (1..count).chain([0]).zip(images) {
            let Some((source, binary)) = compile(&image, number, &folder) else {
                return;
            };
            seen.push(Seen {
                fixture: Fixture::compiled(&source, &binary),
                used: image.used,
                is_program: number == 0,
            });
        }
        wrong.extend(
            session(&header, &seen)
                .into_iter()
                .map(|it| format!("seed {seed}: {it}")),
        );
    }
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Runs the program, the last of the images; returns what is wrong.
fn session(header: &Path, images: &[Seen]) -> Vec<String> {
    let program = &images.last().expect("the program").fixture;
    let header = Fixture::compiled(header, &program.program);
    let mut client = DapClient::spawn();
    client.launch(program, json!({}));
    client.set_breakpoints(&header, &["kept"]);
    for image in images {
        client.set_breakpoints(&image.fixture, &["before", "after"]);
    }
    client.configure();
    let mut session = Session {
        client,
        wrong: Vec::new(),
    };
    for number in (1..=images.len()).map(|it| (it + images.len() - 2) % images.len()) {
        let image = &images[number];
        let place = image.fixture.source.display().to_string();
        session.client.expect_stopped("breakpoint");
        session.client.expect_line(&header, "kept");
        session.expect(
            &place,
            "(long)&kept == kept_at && kept == kept_value",
            "true",
        );
        session.client.continue_to(&image.fixture, "before");
        session.walk(image, &place);
        session.client.continue_();
    }
    assert_eq!(session.client.expect_exit(), 0);
    session.client.disconnect();
    session.wrong
}
