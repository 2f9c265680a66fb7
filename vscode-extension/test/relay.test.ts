import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { PassThrough } from "node:stream";
import { after, test } from "node:test";
import { candidates } from "../src/folders";
import { type Message, Relay } from "../src/relay";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "stillpoint-"));
after(() => fs.rmSync(folder, { recursive: true }));

function frames(text: string): Message[] {
  const parts = text.split(/Content-Length: \d+\r\n\r\n/).slice(1);
  return parts.map((part) => JSON.parse(part));
}

/** A relay, the messages to the debugger, and those to the editor. */
function relay(rebuild: () => Promise<object>) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const told: Message[] = [];
  const own = new Relay(input, output, rebuild, (message) => told.push(message));
  const request = (seq: number, command: string, more: object = {}) =>
    own.take({ type: "request", seq, command, arguments: more });
  return { own, request, told, output, sent: () => frames(String(input.read() ?? "")) };
}

test("a restart waits for the build and uses its result", async () => {
  let built: (settings: object) => void = () => {};
  const made = new Promise<object>((resolve) => (built = resolve));
  const { request, sent, told } = relay(() => made);
  request(1, "threads");
  request(2, "restart", { arguments: { program: "/old", hex: true } });
  request(3, "setBreakpoints");
  request(4, "cancel", { requestId: 1 });
  assert.deepEqual(sent().map(({ seq }) => seq), [1, 4]);
  built({ program: "/new" });
  await made;
  await new Promise(setImmediate);
  const [restart, breakpoints] = sent();
  assert.deepEqual(restart.arguments, { arguments: { program: "/new", hex: true } });
  assert.deepEqual([restart.seq, breakpoints.seq], [2, 3]);
  request(5, "threads");
  assert.deepEqual(sent().map(({ seq }) => seq), [5]);
  assert.deepEqual(told, []);
});

test("a failed build keeps the program, and the restart succeeds for the editor", async () => {
  const { request, sent, told } = relay(() => Promise.reject(new Error("cargo build: no")));
  request(7, "restart");
  request(8, "threads");
  await new Promise(setImmediate);
  assert.deepEqual(sent().map(({ seq }) => seq), [8]);
  assert.equal(told.length, 2);
  const [{ event, body }, { type, request_seq, success, command }] = told;
  const output = "The program was not restarted: cargo build: no\n";
  assert.deepEqual([event, body], ["output", { category: "important", output }]);
  assert.deepEqual([type, request_seq, success, command], ["response", 7, true, "restart"]);
});

test("messages from the debugger are assembled from parts", async () => {
  const { output, told } = relay(() => Promise.resolve({}));
  const text = '{"type":"event","seq":1,"event":"output","body":{"output":"ü"}}';
  const frame = Buffer.from(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  output.write(frame.subarray(0, 30));
  output.write(Buffer.concat([frame.subarray(30), frame]));
  await new Promise(setImmediate);
  assert.deepEqual(told, [JSON.parse(text), JSON.parse(text)]);
});

test("a configuration without a folder gets one of the workspace", () => {
  const make = (name: string, ...files: string[]) => {
    const at = path.join(folder, name);
    fs.mkdirSync(at, { recursive: true });
    files.forEach((file) => fs.writeFileSync(path.join(at, file), ""));
    return at;
  };
  const [app, lib, docs] = [make("app", "Cargo.toml"), make("lib", "Cargo.toml"), make("docs")];
  const all = [docs, app, lib];
  assert.deepEqual(candidates(all, "Cargo.toml"), [app, lib]);
  assert.deepEqual(candidates(all, "Cargo.toml", path.join(lib, "src/lib.rs")), [lib]);
  // A file in a folder without such a project selects nothing.
  assert.deepEqual(candidates(all, "Cargo.toml", path.join(docs, "a.md")), [app, lib]);
  assert.deepEqual(candidates([docs, app], "Cargo.toml", "/elsewhere/x.rs"), [app]);
  assert.deepEqual(candidates([docs], "Cargo.toml"), [docs]);
  assert.deepEqual(candidates([folder, app], "Cargo.toml", path.join(app, "x.rs")), [app]);
});
