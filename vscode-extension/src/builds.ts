// The launch settings `cargo` and `cmake`: they build, and are replaced by `program` and its settings.

import * as path from "node:path";
import * as vscode from "vscode";
import { find } from "./binary";
import * as cargo from "./cargo";
import * as cmake from "./cmake";
import { candidates } from "./folders";
import { Cancelled, Failure, Runner } from "./run";

/** A configuration before it was built. */
interface Source {
  base: string;
  config: vscode.DebugConfiguration;
}

/** Key of a session: the editor copies configurations. */
const keyOf = ({ name, program, cwd }: vscode.DebugConfiguration) =>
  JSON.stringify([name, program, cwd]);

/** Builds, and shows output and errors. */
export class Builds implements vscode.Disposable {
  /** The source of each built configuration. */
  private readonly sources = new Map<string, Source>();
  private readonly channel = vscode.window.createOutputChannel("Stillpoint");
  private readonly problems = vscode.languages.createDiagnosticCollection("stillpoint");

  dispose(): void {
    this.channel.dispose();
    this.problems.dispose();
  }

  /** Returns the configuration without `cargo` and `cmake`; undefined if there is no program. */
  async resolve(
    folder: vscode.WorkspaceFolder | undefined,
    config: vscode.DebugConfiguration,
  ): Promise<vscode.DebugConfiguration | undefined> {
    if (config.cargo === undefined && config.cmake === undefined) {
      return config;
    }
    const base = folder?.uri.fsPath ?? (await baseOf(config));
    return base === undefined ? undefined : this.built({ base, config });
  }

  /** Returns a function that rebuilds a session's program; undefined if it was not built here. */
  again(config: vscode.DebugConfiguration): (() => Promise<object>) | undefined {
    const source = this.sources.get(keyOf(config));
    if (source === undefined) {
      return undefined;
    }
    return async () => {
      const built = await this.built({ ...source, config: { ...source.config, noDebug: config.noDebug } });
      if (built === undefined) {
        throw new Failure("nothing was built; the program is not restarted");
      }
      return built;
    };
  }

  private async built(source: Source): Promise<vscode.DebugConfiguration | undefined> {
    const { cargo: byCargo, cmake: byCmake, ...rest } = source.config;
    this.problems.clear();
    this.channel.clear();
    const config = await this.attempt("Stillpoint: building", (runner) =>
      byCargo !== undefined
        ? this.cargo(source.base, byCargo, rest as vscode.DebugConfiguration, runner)
        : this.cmake(source.base, byCmake, rest as vscode.DebugConfiguration, runner),
    );
    if (config !== undefined) {
      this.sources.set(keyOf(config), source);
    }
    return config;
  }

  /** Runs work with a progress notification, and shows its errors. */
  async attempt<T>(title: string, work: (runner: Runner) => Promise<T>): Promise<T | undefined> {
    const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
    try {
      return await vscode.window.withProgress(options, (_, cancelled) => {
        const abort = new AbortController();
        cancelled.onCancellationRequested(() => abort.abort());
        return work(new Runner((text) => this.channel.appendLine(text), abort.signal));
      });
    } catch (error) {
      if (error instanceof Cancelled) {
        return undefined;
      }
      const text = error instanceof Error ? error.message : String(error);
      // Not awaited: the session has failed already.
      void this.complain(text);
      return undefined;
    }
  }

  private async complain(text: string): Promise<void> {
    let hasProblems = false;
    this.problems.forEach(() => (hasProblems = true));
    const [output, problems] = ["Show Output", "Show Problems"];
    const buttons = hasProblems ? [problems, output] : [output];
    const answer = await vscode.window.showErrorMessage(`Stillpoint: ${text}`, ...buttons);
    if (answer === problems) {
      await vscode.commands.executeCommand("workbench.actions.view.problems");
    } else if (answer === output) {
      this.channel.show();
    }
  }

  private async cargo(
    base: string,
    setting: unknown,
    config: vscode.DebugConfiguration,
    runner: Runner,
  ): Promise<vscode.DebugConfiguration | undefined> {
    const settings = cargo.readSettings(setting);
    const cwd = path.resolve(base, settings.cwd ?? "");
    const program = cargo.findCargo();
    if (program === undefined) {
      throw cargo.missing();
    }
    const command = cargo.buildCommand(settings.args);
    const messages = new cargo.Messages(cwd);
    const env = { ...process.env, ...settings.env };
    const read = (line: string) => messages.read(line);
    const { code, errors } = await runner.loud(program, command.args, cwd, env, read);
    if (code !== 0) {
      this.show(messages.problems);
      const why = messages.firstError ?? errors.trim().replace(/^error: /, "").split("\n")[0];
      throw new Failure(`cargo ${command.args.filter((arg) => !arg.startsWith("--message")).join(" ")}: ${why}`);
    }
    const artefact = await pick(messages.artefacts, settings.filter);
    if (artefact === undefined) {
      return undefined;
    }
    const own = await cargo.environmentOf(program, settings, cwd, artefact, runner);
    // As cargo does it: tests run in the folder of their package.
    const usual = artefact.isTest ? path.dirname(artefact.manifest) : cwd;
    return {
      ...config,
      program: artefact.executable,
      args: config.args ?? command.program,
      cwd: config.cwd ?? usual,
      env: merged(own, config.env),
    };
  }

  private async cmake(
    base: string,
    setting: unknown,
    config: vscode.DebugConfiguration,
    runner: Runner,
  ): Promise<vscode.DebugConfiguration | undefined> {
    const settings = cmake.readSettings(setting);
    const program = find("cmake");
    if (program === undefined) {
      throw new Failure("cmake not found in PATH");
    }
    const { build, found } = await cmake.configure(program, base, settings, runner);
    const names = found.map((executable) => ({ label: executable.name }));
    const target = settings.target ?? (await pickOne(names, "Which program?"))?.label;
    if (target === undefined) {
      if (found.length === 0) {
        throw new Failure("the project has no executable targets");
      }
      return undefined;
    }
    const file = await cmake.build(program, build, settings, target, runner);
    return { ...config, program: file, cwd: config.cwd ?? base };
  }

  private show(problems: cargo.Problem[]): void {
    const byFile = new Map<string, vscode.Diagnostic[]>();
    for (const problem of problems) {
      const { line, column, endLine, endColumn } = problem;
      const range = new vscode.Range(line, column, endLine, endColumn);
      const diagnostic = new vscode.Diagnostic(range, problem.message);
      diagnostic.source = "cargo";
      byFile.set(problem.file, [...(byFile.get(problem.file) ?? []), diagnostic]);
    }
    byFile.forEach((all, file) => this.problems.set(vscode.Uri.file(file), all));
  }
}

/** Returns the folder of a configuration without one, as in a `.code-workspace` file. */
async function baseOf(config: vscode.DebugConfiguration): Promise<string | undefined> {
  const folders = vscode.workspace.workspaceFolders?.map((folder) => folder.uri.fsPath) ?? [];
  const project = config.cargo !== undefined ? "Cargo.toml" : "CMakeLists.txt";
  const shown = vscode.window.activeTextEditor?.document.uri.fsPath;
  const fitting = candidates(folders, project, shown);
  if (fitting.length === 0) {
    return config.cwd ?? process.cwd();
  }
  const items = fitting.map((at) => ({ label: path.basename(at), description: at, at }));
  return (await pickOne(items, "In which folder?"))?.at;
}

/** Returns the only item, or the one that the user picks. */
export async function pickOne<T extends vscode.QuickPickItem>(
  items: T[],
  placeHolder: string,
): Promise<T | undefined> {
  return items.length <= 1
    ? items[0]
    : vscode.window.showQuickPick(items, { placeHolder, matchOnDescription: true });
}

async function pick(
  all: cargo.Artefact[],
  filter: cargo.CargoSettings["filter"],
): Promise<cargo.Artefact | undefined> {
  const left = cargo.choose(all, filter);
  if (left.length === 0) {
    const built = all.map((artefact) => `${artefact.kind} ${artefact.name}`).join(", ");
    throw new Failure(
      built === ""
        ? 'cargo has built nothing that runs; for the tests of a library, "args": ["test", "--lib"]'
        : `no executable matches "filter"; cargo built: ${built}`,
    );
  }
  const items = left.map((artefact) => ({
    label: artefact.name,
    description: artefact.isTest ? `tests of ${artefact.kind}` : artefact.kind,
    artefact,
  }));
  return (await pickOne(items, "Which program?"))?.artefact;
}

/** Merges the user's environment (an object, or a list of `NAME=VALUE`) over another one. */
function merged(own: Record<string, string>, env: unknown): unknown {
  if (Array.isArray(env)) {
    return [...Object.entries(own).map(([name, value]) => `${name}=${value}`), ...env];
  }
  return { ...own, ...(env as object | undefined) };
}
