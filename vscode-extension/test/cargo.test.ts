import * as assert from "node:assert/strict";
import { test } from "node:test";
import * as cargo from "../src/cargo";

const artefact = (more: Partial<cargo.Artefact>): cargo.Artefact => ({
  name: "server",
  kind: "bin",
  isTest: false,
  executable: "/w/target/debug/server",
  manifest: "/w/Cargo.toml",
  packageId: "path+file:///w#server@0.1.0",
  ...more,
});

test("cargo builds and does not run", () => {
  const build = (...args: string[]) => cargo.buildCommand(args);
  assert.deepEqual(build("run", "--bin", "a", "--", "-x", "1"), {
    args: ["build", "--message-format=json", "--bin", "a"],
    program: ["-x", "1"],
  });
  assert.deepEqual(build("+nightly", "t", "--lib").args, [
    "+nightly",
    "test",
    "--message-format=json",
    "--lib",
    "--no-run",
  ]);
  assert.deepEqual(build("--release").args, ["build", "--message-format=json", "--release"]);
  const json = build("test", "--no-run", "--message-format=short").args;
  assert.deepEqual(json, ["test", "--message-format=json", "--no-run"]);
});

test("the environment is requested for one artefact", () => {
  const ask = (args: string[], more: Partial<cargo.Artefact> = {}) =>
    cargo.environmentCommand(args, artefact(more), ["t"]).slice(0, -2);
  assert.deepEqual(ask(["build", "--bins", "--features", "x"]), [
    ..."run --features x --bin server".split(" "),
  ]);
  assert.deepEqual(ask(["build", "--workspace", "--example=e"], { kind: "example", name: "e" }), [
    ..."run --package path+file:///w#server@0.1.0 --example e".split(" "),
  ]);
  assert.deepEqual(ask(["test", "--no-run", "--workspace"], { kind: "test", isTest: true }), [
    ..."test --workspace --test server".split(" "),
  ]);
  assert.deepEqual(ask(["test", "--lib"], { kind: "rlib", isTest: true }), ["test", "--lib"]);
  const [option, runner] = cargo.environmentCommand(["build"], artefact({}), ["t"]).slice(-2);
  assert.equal(option, "--config");
  assert.equal(runner, 'target.t.runner=["sh","-c","exec env -0"]');
});

test("the environment is what cargo adds", () => {
  const told = "A=1\0B=x=y\0PWD=/\0_=env\0SAME=s\0MANY=a\nb\0";
  assert.deepEqual(cargo.environment(told, { A: "0", SAME: "s" }), {
    A: "1",
    B: "x=y",
    MANY: "a\nb",
  });
});

test("messages have artefacts and problems", () => {
  const messages = new cargo.Messages("/nowhere");
  const say = (message: object) => messages.read(JSON.stringify(message));
  const built = { reason: "compiler-artifact", target: { name: "a", kind: ["bin"] } };
  assert.equal(say({ ...built, executable: null }), undefined);
  say({ ...built, executable: "/t/a", profile: { test: true }, manifest_path: "/w/Cargo.toml" });
  assert.deepEqual(messages.artefacts.map(({ name, isTest }) => [name, isTest]), [["a", true]]);
  const span = { line_start: 3, line_end: 3, column_start: 5, column_end: 8, is_primary: true };
  const spans = [{ ...span, file_name: "src/a.rs", label: "expected `u8`" }];
  const rendered = "error[E0308]: mismatched types\n";
  const message = { level: "error", message: "mismatched types", spans, rendered };
  const shown = say({ reason: "compiler-message", message, manifest_path: "/w/Cargo.toml" });
  assert.equal(shown, rendered.trimEnd());
  say({ reason: "compiler-message", message: { ...message, level: "warning" } });
  assert.equal(messages.firstError, "mismatched types (src/a.rs:3)");
  assert.deepEqual(messages.problems, [
    {
      file: "/nowhere/src/a.rs",
      line: 2,
      column: 4,
      endLine: 2,
      endColumn: 7,
      message: "mismatched types: expected `u8`",
    },
  ]);
  assert.equal(messages.read("plain {"), "plain {");
  assert.equal(messages.read("{broken"), "{broken");
});

test("the filter chooses by name and kind", () => {
  const all = [artefact({}), artefact({ name: "l", kind: "rlib" }), artefact({ kind: "test" })];
  const names = (filter: cargo.CargoSettings["filter"]) =>
    cargo.choose(all, filter).map(({ name, kind }) => `${kind} ${name}`);
  assert.equal(names(undefined).length, 3);
  assert.deepEqual(names({ kind: "lib" }), ["rlib l"]);
  assert.deepEqual(names({ name: "server", kind: "test" }), ["test server"]);
});

test("settings may be a list", () => {
  assert.deepEqual(cargo.readSettings(["run"]).args, ["run"]);
  assert.deepEqual(cargo.readSettings({}).args, ["build"]);
  assert.throws(() => cargo.readSettings({ args: "build" }), /list of texts/);
});

test("targets come programs first", () => {
  const target = (kind: string, name: string) => ({ kind: [kind], name, src_path: `/${name}.rs` });
  const targets = [target("custom-build", "b"), target("test", "t"), target("lib", "l")];
  const packages = [{ name: "p", targets: [...targets, target("bin", "m")] }];
  const found = cargo.targets(JSON.stringify({ packages }));
  assert.deepEqual(found.map(cargo.titleOf), ["Debug m", "Debug unit tests of p", "Debug test t"]);
  assert.deepEqual(found.map((it) => cargo.argsOf(it).join(" ")), [
    "build --package=p --bin=m",
    "test --no-run --package=p --lib",
    "test --no-run --package=p --test=t",
  ]);
});

test("errors of cargo become one line", () => {
  const errors = "    Updating index\nerror: failed to parse manifest at `/w/Cargo.toml`\n\nCaused by:\n  no targets specified\n";
  assert.equal(
    cargo.complaint(errors),
    "failed to parse manifest at `/w/Cargo.toml`; no targets specified",
  );
  assert.equal(cargo.complaint("\n"), "it failed without an error message");
});
