// Makes the .vsix: the extension in one file, and the debugger itself ($STILLPOINT, or built here).
// With --without-binary the extension uses a debugger that is installed.

import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";

const here = path.dirname(import.meta.dirname);
const workspace = path.dirname(here);

function run(command, args, cwd, options = {}) {
  try {
    return execFileSync(command, args, { cwd, stdio: "inherit", ...options });
  } catch (error) {
    // What went wrong stands above; without a status the command could not be started.
    console.error(`${command} failed${error.status === null ? `: ${error.message}` : ""}`);
    process.exit(1);
  }
}

function built() {
  const args = ["build", "--release", "--package=stillpoint", "--message-format=json-render-diagnostics"];
  const stdio = ["ignore", "pipe", "inherit"];
  const output = run("cargo", args, workspace, { stdio, encoding: "utf8", maxBuffer: 1 << 28 });
  const messages = output.split("\n").filter((line) => line.startsWith("{"));
  const artefacts = messages.map((line) => JSON.parse(line)).filter((message) => message.executable);
  return artefacts.at(-1).executable;
}

/** Hosts of which the packager knows where they show pictures. */
const HOSTS = /^(https:\/\/|git@|ssh:\/\/git@)(github\.com|gitlab\.com)[/:]/;

/** Where the sources are: `$REPOSITORY`, or what git calls `origin` if it is a public host's. */
function repository() {
  if (process.env.REPOSITORY) {
    return process.env.REPOSITORY;
  }
  try {
    const stdio = ["ignore", "pipe", "ignore"];
    const args = ["remote", "get-url", "origin"];
    const url = execFileSync("git", args, { cwd: here, stdio, encoding: "utf8" }).trim();
    // A mirror or a local clone.
    return HOSTS.test(url) ? url : undefined;
  } catch {
    return undefined;
  }
}

/** Both licences in one file: the packager knows one name. */
function licence() {
  const texts = ["LICENSE-MIT", "LICENSE-APACHE"].map((name) =>
    fs.readFileSync(path.join(workspace, name), "utf8").trim(),
  );
  const either = "Stillpoint is licensed under either of the MIT licence and the Apache licence 2.0, as you like.";
  return `${[either, ...texts].join(`\n\n${"-".repeat(78)}\n\n`)}\n`;
}

const stage = path.join(here, "dist", "package");
fs.rmSync(stage, { recursive: true, force: true });
const copy = (from, to) => {
  const file = path.join(stage, to);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.copyFileSync(from, file);
  return file;
};
if (!fs.existsSync(path.join(here, "node_modules"))) {
  run("npm", ["ci", "--no-audit", "--no-fund"], here);
}
run("npm", ["run", "--silent", "build"], here);
const target = [];
if (!process.argv.includes("--without-binary")) {
  const binary = copy(process.env.STILLPOINT || built(), "bin/stillpoint");
  fs.chmodSync(binary, 0o755);
  run("strip", [binary], here);
  target.push("--target", "linux-x64");
}
for (const file of ["dist/extension.js", "dist/panel.css", "dist/panel.js", "images/icon.png"]) {
  copy(path.join(here, file), file);
}
fs.writeFileSync(path.join(stage, "LICENSE.txt"), licence());
const { scripts, devDependencies, ...manifest } = JSON.parse(
  fs.readFileSync(path.join(here, "package.json"), "utf8"),
);
if (target.length === 0) {
  manifest.files = manifest.files.filter((name) => name !== "bin");
}
const url = repository();
const readme = fs.readFileSync(path.join(here, "README.md"), "utf8");
// The editor loads pictures from the repository only.
fs.writeFileSync(path.join(stage, "README.md"), url ? readme : readme.replace(/^ *!\[.*\n\n?/gm, ""));
if (url !== undefined) {
  manifest.repository = { type: "git", url };
} else {
  target.push("--allow-missing-repository");
}
fs.writeFileSync(path.join(stage, "package.json"), JSON.stringify(manifest, undefined, 2));
const vsix = path.join(here, "stillpoint.vsix");
const own = path.join(here, "node_modules", ".bin", "vsce");
run(own, ["package", "--no-dependencies", "--out", vsix, ...target], stage);
