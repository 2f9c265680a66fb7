//! Programs of several crates: two versions of one crate, functions that an attribute's macro has made around an
//! `async` body, and crates that have line tables alone.

use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::Command;
use stillpoint_tests::{DapClient, Fixture};

/// Compiles a crate of a folder; returns nothing, since cargo's layout is imitated: a folder for each crate.
fn rustc(folder: &Path, source: &str, text: &str, flags: &[&str]) {
    let path = folder.join(source);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(&path, text).expect("a file");
    let mut command = Command::new("rustc");
    command
        .current_dir(folder)
        .args(["--edition", "2021", "-g", "-L", "."]);
    let status = command.args(flags).arg(source).status();
    assert!(status.expect("rustc runs").success(), "{source}");
}

/// A crate whose statics have these values.
fn library(number: u32) -> String {
    format!(
        "pub static COUNT: u32 = {number}00;
static OWN: u32 = {number}0;
#[inline(never)]
pub fn sum() -> u32 {{
    std::hint::black_box(&COUNT) + std::hint::black_box(&OWN)
}}
#[inline(never)]
pub fn generic<T>(_: T) -> u32 {{
    sum()
}}
"
    )
}

const TWO_VERSIONS: &str = "fn main() {
    let sums = old::sum() + new::sum() + old::generic(1_u8) + new::generic(1_u8);
    std::hint::black_box(sums); //@ end
}
";

#[test]
fn static_of_two_versions_is_that_of_the_frames_crate() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    for (version, number) in [("1", 1), ("2", 2)] {
        let metadata = format!("-Cmetadata={version}");
        let ending = format!("-Cextra-filename=-{version}");
        let flags = ["--crate-type", "rlib", "--crate-name", "dep"];
        let flags = [&flags[..], &[&metadata, &ending]].concat();
        let source = format!("dep-{version}.0.0/src/lib.rs");
        rustc(folder, &source, &library(number), &flags);
    }
    let (old, new) = ("old=libdep-1.rlib", "new=libdep-2.rlib");
    let flags = ["--extern", old, "--extern", new, "-o", "main"];
    rustc(folder, "src/main.rs", TWO_VERSIONS, &flags);
    let fixture = Fixture::compiled(&folder.join("src/main.rs"), &folder.join("main"));
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    client.set_function_breakpoints(&["dep::sum", "dep::generic"]);
    client.set_breakpoints_with(&fixture, vec![("end", json!({}))]);
    client.configure();
    // A generic function is compiled into the crate that uses it, and calls `sum`.
    for number in [1, 2, 1, 1, 2, 2] {
        client.expect_stopped("function breakpoint");
        for (name, factor) in [("COUNT", 100), ("dep::COUNT", 100), ("OWN", 10)] {
            let expected = (number * factor).to_string();
            assert_eq!(client.evaluate(name), expected, "{name}");
        }
        client.continue_();
    }
    client.expect_stopped("breakpoint");
    let error = client.try_evaluate("dep::COUNT").expect_err("two versions");
    for part in [
        "ambiguous",
        "dep-1.0.0/src/lib.rs",
        "dep-2.0.0/src/lib.rs",
        "symbol",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let words = error.split(|it: char| !it.is_alphanumeric() && !"_.$".contains(it));
    let symbols = words.filter(|it| it.starts_with("_ZN") || it.starts_with("_R"));
    let mut values: Vec<String> = symbols.map(|it| client.evaluate(it)).collect();
    values.sort();
    assert_eq!(values, ["100", "200"], "{error}");
    client.disconnect();
}

/// An attribute that does with a function what `#[tokio::main]` does.
const ATTRIBUTE: &str = r#"extern crate proc_macro;
use proc_macro::{Delimiter, Group, Ident, Punct, Spacing, Span, TokenStream, TokenTree};
#[proc_macro_attribute]
pub fn blocking(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = item.into_iter().filter(|it| it.to_string() != "async").collect();
    let (body, head) = tokens.split_last().unwrap();
    let TokenTree::Group(group) = body else { panic!("a body") };
    let statements: Vec<TokenTree> = group.stream().into_iter().collect();
    let last = statements.iter().rposition(|it| it.to_string() == "let").unwrap();
    let at = statements[last].span().resolved_at(Span::call_site());
    let word = |text: &str, at: Span| TokenTree::Ident(Ident::new(text, at));
    let sign = |text: char, at: Span| {
        let mut punct = Punct::new(text, Spacing::Alone);
        punct.set_span(at);
        TokenTree::Punct(punct)
    };
    let here = Span::call_site();
    // `#[blocking(last)]`: older macros give the block this position, too.
    let block = if arguments.is_empty() { here } else { at };
    let mut argument = Group::new(Delimiter::Parenthesis, word("body", here).into());
    argument.set_span(at);
    let inside: TokenStream = [
        word("let", here), word("body", here), sign('=', here), word("async", block), body.clone(), sign(';', here),
        word("return", at), word("run", at), TokenTree::Group(argument), sign(';', at),
    ].into_iter().collect();
    let whole = TokenTree::Group(Group::new(Delimiter::Brace, inside));
    head.iter().cloned().chain([whole]).collect()
}
"#;

const BLOCKING: &str = "use std::future::Future;
use std::task::{Context, Poll, Waker};
fn run<F: Future>(body: F) -> F::Output {
    let mut body = Box::pin(body);
    loop {
        let polled = body.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        if let Poll::Ready(value) = polled {
            return value;
        }
    }
}
async fn value(number: u32) -> u32 {
    number + 1
}
#[attribute::blocking]
async fn main() {
    let first = value(1).await;
    let _second = value(first).await; //@ last
}
";

#[test]
fn last_statement_of_an_async_main_is_in_its_body() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    rustc(
        folder,
        "attribute.rs",
        ATTRIBUTE,
        &["--crate-type", "proc-macro"],
    );
    for attribute in ["blocking", "blocking(last)"] {
        let text = BLOCKING.replace("blocking]", &format!("{attribute}]"));
        let flags = ["--extern", "attribute=libattribute.so"];
        rustc(folder, "main.rs", &text, &flags);
        let fixture = Fixture::compiled(&folder.join("main.rs"), &folder.join("main"));
        let mut client = DapClient::stopped_at(&fixture, "last");
        let names = client.function_names();
        assert!(
            names[0].ends_with("main::{async_block#0}"),
            "{attribute}: {names:?}"
        );
        assert_eq!(client.evaluate("first"), "2");
        client.continue_();
        client.expect_exit();
        client.disconnect();
    }
}

const LOOP: &str = "pub fn many<T: Clone>(t: T, n: usize) -> Vec<T> {
    let mut out = Vec::new();
    for _ in 0..n {
        out.push(t.clone()); //@ push
    }
    out
}
fn main() {
    println!(\"{}\", many(vec![1], 2).len());
}
";

/// Of a function without an entry in the debug info, its symbol says which code is its own.
#[test]
fn a_line_of_line_tables_alone_is_stopped_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let flags = ["-Cdebuginfo=line-tables-only"];
    rustc(folder, "main.rs", LOOP, &flags);
    let fixture = Fixture::compiled(&folder.join("main.rs"), &folder.join("main"));
    let mut client = DapClient::stopped_at(&fixture, "push");
    client.continue_();
    client.expect_stopped("breakpoint");
    client.continue_();
    client.expect_exit();
    client.disconnect();
}
