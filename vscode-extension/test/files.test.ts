import * as assert from "node:assert/strict";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { after, test } from "node:test";
import { given, type Inspected } from "../src/defaults";
import { findDebugger } from "../src/binary";
import * as cmake from "../src/cmake";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "stillpoint-"));
after(() => fs.rmSync(folder, { recursive: true }));

function write(name: string, text: string, mode = 0o644): string {
  const file = path.join(folder, name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text, { mode });
  return file;
}

test("the debugger is the configured one, that of PATH, or the packaged one", () => {
  const own = write("own/stillpoint", "", 0o755);
  const packaged = write("bin/stillpoint", "", 0o755);
  const inPath = path.dirname(own);
  assert.equal(findDebugger(own, packaged, ""), own);
  assert.equal(findDebugger("stillpoint", packaged, `/nowhere:${inPath}`), own);
  assert.equal(findDebugger("stillpoint", packaged, "/nowhere"), packaged);
  assert.equal(findDebugger("", packaged, ""), packaged);
  // An explicit choice is not replaced.
  assert.equal(findDebugger("other", packaged, inPath), undefined);
  assert.equal(findDebugger(write("plain/stillpoint", ""), packaged, inPath), undefined);
  assert.equal(findDebugger("stillpoint", path.join(folder, "no"), ""), undefined);
});

test("CMake's targets are read from its replies", () => {
  const reply = "out/build/debug/.cmake/api/v1/reply";
  const json = (name: string, value: object) => write(`${reply}/${name}`, JSON.stringify(value));
  assert.equal(cmake.findBuildDirectory(folder), path.join(folder, "build"));
  write("out/build/debug/CMakeCache.txt", "");
  const build = cmake.findBuildDirectory(folder);
  assert.equal(build, path.join(folder, "out/build/debug"));
  assert.equal(cmake.executables(build), undefined);
  json("index-1.json", { objects: [{ kind: "codemodel", jsonFile: "model.json" }] });
  const targets = [{ jsonFile: "app.json" }, { jsonFile: "lib.json" }];
  json("model.json", { configurations: [{ name: "Debug", targets }] });
  json("app.json", { name: "app", type: "EXECUTABLE", artifacts: [{ path: "bin/app" }] });
  json("lib.json", { name: "lib", type: "STATIC_LIBRARY", artifacts: [{ path: "lib.a" }] });
  assert.deepEqual(cmake.executables(build), [{ name: "app", path: path.join(build, "bin/app") }]);
});

test("settings that the user has left alone are not sent", () => {
  const known: Record<string, Inspected> = {
    hex: { globalValue: true },
    stopAtMain: { globalValue: true, workspaceValue: false },
    maxDepth: {},
  };
  const names = ["hex", "stopAtMain", "maxDepth", "program"];
  assert.deepEqual(given(names, (name) => known[name]), { hex: true, stopAtMain: false });
});
