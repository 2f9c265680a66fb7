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

const bin = path.join(here, "bin");
fs.rmSync(bin, { recursive: true, force: true });
const target = [];
if (!process.argv.includes("--without-binary")) {
  fs.mkdirSync(bin);
  fs.copyFileSync(process.env.STILLPOINT || built(), path.join(bin, "stillpoint"));
  fs.chmodSync(path.join(bin, "stillpoint"), 0o755);
  target.push("--target", "linux-x64");
}
if (!fs.existsSync(path.join(here, "node_modules"))) {
  run("npm", ["ci", "--no-audit", "--no-fund"], here);
}
run("npm", ["run", "--silent", "build"], here);
const vsix = path.join(here, "stillpoint.vsix");
const own = path.join(here, "node_modules", ".bin", "vsce");
run(own, ["package", "--no-dependencies", "--skip-license", "--allow-missing-repository", "--out", vsix, ...target], here);
