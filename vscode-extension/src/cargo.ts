// Command lines of cargo, and its output. Independent of the editor.

import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { find } from "./binary";
import { Failure, type Runner } from "./run";

/** The launch setting `cargo`. */
export interface CargoSettings {
  /** Arguments of cargo: `["build", "--bin=server"]`. Those after `--` are for the program. */
  args: string[];
  /** Working directory of cargo. */
  cwd?: string;
  /** Environment variables for the build. */
  env?: Record<string, string>;
  /** Selects one of several executables. */
  filter?: { name?: string; kind?: string };
}

/** A compiler diagnostic. */
export interface Problem {
  file: string;
  /** From 0. */
  line: number;
  column: number;
  endLine: number;
  endColumn: number;
  message: string;
}

/** An executable that cargo built. */
export interface Artefact {
  name: string;
  /** `bin`, `example`, `test`, `bench`, or a kind of library. */
  kind: string;
  /** Built with the test harness. */
  isTest: boolean;
  executable: string;
  manifest: string;
  packageId: string;
}

/** A target of a package, before it is built. */
export interface Target {
  package: string;
  name: string;
  kind: string;
  source: string;
}

/** Reads the launch setting, which may be just the list of arguments. */
export function readSettings(setting: unknown): CargoSettings {
  const object = Array.isArray(setting) ? { args: setting } : setting;
  const { args, cwd, env, filter } = (object ?? {}) as Partial<CargoSettings>;
  const isText = (value: unknown) => typeof value === "string";
  if (args !== undefined && !(Array.isArray(args) && args.every(isText))) {
    throw new Failure('`cargo`: `args` is a list of texts like ["build", "--bin=server"]');
  }
  return { args: args ?? ["build"], cwd, env, filter };
}

/** A parsed command line of cargo. */
interface Parts {
  /** `+nightly` and options of cargo itself. */
  before: string[];
  command: string;
  options: string[];
  program: string[];
}

function parts(args: string[]): Parts {
  const end = args.indexOf("--");
  const own = end < 0 ? args : args.slice(0, end);
  const program = end < 0 ? [] : args.slice(end + 1);
  const at = own.findIndex((arg) => !arg.startsWith("-") && !arg.startsWith("+"));
  if (at < 0) {
    const toolchain = own.filter((arg) => arg.startsWith("+"));
    const options = own.filter((arg) => !arg.startsWith("+"));
    return { before: toolchain, command: "build", options, program };
  }
  const short: Record<string, string> = { b: "build", r: "run", t: "test" };
  const command = short[own[at]] ?? own[at];
  return { before: own.slice(0, at), command, options: own.slice(at + 1), program };
}

/** Converts a command line to one that builds without running, and the program's arguments. */
export function buildCommand(args: string[]): { args: string[]; program: string[] } {
  const { before, command, options, program } = parts(args);
  const own = options.filter((option) => !option.startsWith("--message-format"));
  if ((command === "test" || command === "bench") && !own.includes("--no-run")) {
    own.push("--no-run");
  }
  const build = command === "run" ? "build" : command;
  return { args: [...before, build, "--message-format=json", ...own], program };
}

/** Options that select targets; those with `true` have a value. */
const CHOICE: Record<string, boolean> = {
  "--bin": true,
  "--bins": false,
  "--example": true,
  "--examples": false,
  "--test": true,
  "--tests": false,
  "--bench": true,
  "--benches": false,
  "--lib": false,
  "--all-targets": false,
  "--no-run": false,
  "--message-format": true,
};
/** Options that select packages; `cargo run` accepts only one `--package`. */
const PACKAGES: Record<string, boolean> = {
  "--workspace": false,
  "--all": false,
  "--exclude": true,
  "--package": true,
  "-p": true,
};

function without(options: string[], table: Record<string, boolean>): string[] {
  const kept: string[] = [];
  for (let at = 0; at < options.length; at++) {
    const [name, value] = options[at].split("=", 2);
    if (!(name in table)) {
      kept.push(options[at]);
    } else if (table[name] && value === undefined) {
      at++;
    }
  }
  return kept;
}

/** A runner that prints the environment instead of running the program. */
const TELL = ["sh", "-c", "exec env -0"];
/** Variables that the shell of the runner sets. */
const OF_THE_SHELL = ["PWD", "OLDPWD", "SHLVL", "_"];

/**
 * Returns a command that prints the environment in which cargo runs an artefact: cargo runs it with
 * a runner that prints its environment. No rules of cargo are repeated here.
 */
export function environmentCommand(args: string[], artefact: Artefact, triples: string[]): string[] {
  const { before, command, options } = parts(args);
  let kept = without(options, CHOICE);
  let run = "run";
  let choice = [`--${artefact.kind}`, artefact.name];
  if (command === "bench") {
    run = "bench";
  } else if (artefact.isTest) {
    run = "test";
  }
  if (!["bin", "example", "test", "bench"].includes(artefact.kind)) {
    choice = ["--lib"];
  }
  const packages = kept.length - without(kept, PACKAGES).length;
  if (run === "run" && packages > 0) {
    kept = [...without(kept, PACKAGES), "--package", artefact.packageId];
  }
  const runners = triples.flatMap((triple) => [
    "--config",
    `target.${triple}.runner=${JSON.stringify(TELL)}`,
  ]);
  return [...before, run, ...kept, ...choice, ...runners];
}

/** Parses the output of `env -0`; keeps what differs from our own environment. */
export function environment(output: string, base: NodeJS.ProcessEnv): Record<string, string> {
  const result: Record<string, string> = {};
  for (const entry of output.split("\0")) {
    const at = entry.indexOf("=");
    const name = entry.slice(0, at);
    if (at > 0 && !OF_THE_SHELL.includes(name) && base[name] !== entry.slice(at + 1)) {
      result[name] = entry.slice(at + 1);
    }
  }
  return result;
}

/** Resolves a path that the compiler prints relative to the workspace root. */
function resolve(file: string, manifest: string | undefined, cwd: string): string {
  const bases = [cwd];
  for (let at = path.dirname(manifest ?? cwd); ; at = path.dirname(at)) {
    bases.push(at);
    if (at === path.dirname(at)) {
      break;
    }
  }
  const candidates = bases.map((base) => path.resolve(base, file));
  return candidates.find((candidate) => fs.existsSync(candidate)) ?? candidates[0];
}

/** The output of `--message-format=json` so far. */
export class Messages {
  readonly artefacts: Artefact[] = [];
  /** Errors, not warnings. */
  readonly problems: Problem[] = [];
  /** The first error, in one line. */
  firstError: string | undefined;

  constructor(private readonly cwd: string) {}

  /** Reads a line. Returns the text to show. */
  read(line: string): string | undefined {
    if (!line.startsWith("{")) {
      return line;
    }
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      return line;
    }
    switch (message.reason) {
      case "compiler-artifact":
        if (typeof message.executable === "string") {
          this.artefacts.push({
            name: message.target?.name ?? path.basename(message.executable),
            kind: message.target?.kind?.[0] ?? "bin",
            isTest: message.profile?.test === true,
            executable: message.executable,
            manifest: message.manifest_path ?? "",
            packageId: message.package_id ?? "",
          });
        }
        return undefined;
      case "compiler-message":
        this.problem(message);
        return message.message?.rendered?.trimEnd();
      default:
        return undefined;
    }
  }

  private problem({ message, manifest_path }: any): void {
    if (!message?.level?.startsWith("error")) {
      return;
    }
    const spans: any[] = Array.isArray(message.spans) ? message.spans : [];
    const span = spans.find((span) => span.is_primary) ?? spans[0];
    if (span !== undefined || !message.message.startsWith("aborting due to")) {
      const place = span === undefined ? "" : ` (${span.file_name}:${span.line_start})`;
      this.firstError ??= message.message + place;
    }
    if (span !== undefined) {
      this.problems.push({
        file: resolve(span.file_name, manifest_path, this.cwd),
        line: span.line_start - 1,
        column: span.column_start - 1,
        endLine: span.line_end - 1,
        endColumn: span.column_end - 1,
        message: message.message + (span.label ? `: ${span.label}` : ""),
      });
    }
  }
}

/** Returns the artefacts that match the filter. */
export function choose(artefacts: Artefact[], filter: CargoSettings["filter"]): Artefact[] {
  const kindOf = (artefact: Artefact) => (artefact.kind.endsWith("lib") ? "lib" : artefact.kind);
  return artefacts.filter(
    (artefact) =>
      (filter?.name === undefined || filter.name === artefact.name) &&
      (filter?.kind === undefined || [artefact.kind, kindOf(artefact)].includes(filter.kind)),
  );
}

/** Cargo: `$CARGO`, in `PATH`, or where rustup puts it. */
export function findCargo(): string | undefined {
  const home = process.env.CARGO_HOME ?? path.join(os.homedir(), ".cargo");
  const named = process.env.CARGO;
  return (named && find(named)) || find("cargo") || find(path.join(home, "bin", "cargo"));
}

/** The error if cargo is missing. */
export function missing(): Failure {
  return new Failure("cargo not found in PATH or ~/.cargo/bin; see https://rustup.rs");
}

/** Returns the first error in cargo's stderr, with its causes. */
export function complaint(errors: string): string {
  const lines = errors.split("\n").map((line) => line.trim());
  const first = lines.findIndex((line) => line.startsWith("error"));
  const relevant = lines.slice(Math.max(first, 0)).filter((line) => line !== "");
  const short = relevant.filter((line) => !/^(Caused by:|\|)/.test(line)).slice(0, 3);
  return short.join("; ").replace(/^error: /, "") || "it failed without an error message";
}

/** Lists the targets of `cargo metadata`. */
export function targets(metadata: string): Target[] {
  const found: Target[] = [];
  for (const item of JSON.parse(metadata).packages ?? []) {
    for (const target of item.targets ?? []) {
      const kind: string = target.kind?.[0] ?? "";
      if (["bin", "example", "test", "bench"].includes(kind) || isTestedLibrary(kind, target)) {
        const plain = kind.endsWith("lib") ? "lib" : kind;
        const { name, src_path: source } = target;
        found.push({ package: item.name, name, kind: plain, source });
      }
    }
  }
  const order = ["bin", "example", "lib", "test", "bench"];
  return found.sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
}

function isTestedLibrary(kind: string, target: { test?: boolean }): boolean {
  return kind.endsWith("lib") && target.test !== false;
}

/** Returns cargo's arguments to build a target. */
export function argsOf(target: Target): string[] {
  const of = `--package=${target.package}`;
  switch (target.kind) {
    case "bin":
    case "example":
      return ["build", of, `--${target.kind}=${target.name}`];
    case "lib":
      return ["test", "--no-run", of, "--lib"];
    default:
      return [target.kind, "--no-run", of, `--${target.kind}=${target.name}`];
  }
}

/** Returns the displayed name of a target. */
export function titleOf(target: Target): string {
  return target.kind === "lib"
    ? `Debug unit tests of ${target.package}`
    : `Debug ${target.kind === "bin" ? "" : `${target.kind} `}${target.name}`;
}

/** Returns cargo's environment for an artefact, as far as it can be determined. */
export async function environmentOf(
  cargo: string,
  settings: CargoSettings,
  cwd: string,
  artefact: Artefact,
  runner: Runner,
): Promise<Record<string, string>> {
  const base = { ...process.env, ...settings.env };
  const version = await runner.quiet(cargo, ["-vV"], cwd, base);
  const host = /^host: (.*)$/m.exec(version.output)?.[1] ?? "x86_64-unknown-linux-gnu";
  // Cross builds have the target in the path.
  const cross = artefact.executable.split(path.sep).filter((part) => /^\w+-\w+-linux-/.test(part));
  const triples = [...new Set([host, ...cross])];
  const command = environmentCommand(settings.args, artefact, triples);
  const result = await runner.quiet(cargo, command, cwd, base);
  if (result.code === 0) {
    return environment(result.output, base);
  }
  runner.show(`cannot determine cargo's environment; only CARGO_MANIFEST_DIR is set:\n${result.errors}`);
  return { CARGO: cargo, CARGO_MANIFEST_DIR: path.dirname(artefact.manifest) };
}
