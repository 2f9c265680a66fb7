// Debug configurations: from launch.json, or proposed for the folder.

import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { type Builds, pickOne } from "./builds";
import * as cargo from "./cargo";
import * as cmake from "./cmake";
import { given } from "./defaults";
import { isWithin } from "./folders";
import { pickProcess } from "./processes";
import { Failure, type Runner } from "./run";

export const TYPE = "stillpoint";

type Config = vscode.DebugConfiguration;
type Folder = vscode.WorkspaceFolder | undefined;

/** A proposed configuration, and the source file with the program's entry. */
interface Suggestion {
  config: Config;
  isProgram: boolean;
  source?: string;
}

const launch = (name: string, more: object): Config => ({
  type: TYPE,
  request: "launch",
  name,
  ...more,
});

/** Completes configurations, and creates them if there are none. */
export class Provider implements vscode.DebugConfigurationProvider {
  /**
   * @param settings the names of the settings of a request
   */
  constructor(
    private readonly builds: Builds,
    private readonly settings: (request: string) => string[],
  ) {}

  async resolveDebugConfiguration(folder: Folder, config: Config): Promise<Config | undefined> {
    if (!config.type && !config.request) {
      // F5 without a launch.json.
      const own = await this.best(folder);
      if (own === undefined) {
        return undefined;
      }
      return this.resolveDebugConfiguration(folder, { ...own, noDebug: config.noDebug });
    }
    const usual = vscode.workspace.getConfiguration(TYPE, folder).get<object>("defaults", {});
    const typed = vscode.workspace.getConfiguration(`${TYPE}.launch`, folder);
    const own = given(this.settings(config.request), (name) => typed.inspect(name));
    const whole: Config = { ...own, ...usual, ...config };
    if (config.request === "attach" && !config.pid && !config.processId) {
      const isNamed = config.program || config.processName || config.coreFile;
      whole.pid = isNamed ? undefined : await pickProcess();
      return isNamed || whole.pid !== undefined ? whole : undefined;
    }
    return whole;
  }

  async resolveDebugConfigurationWithSubstitutedVariables(
    folder: Folder,
    config: Config,
  ): Promise<Config | undefined> {
    const pid = config.pid;
    if (typeof pid === "string" && /^\d+$/.test(pid)) {
      config.pid = Number(pid);
    }
    return this.builds.resolve(folder, config);
  }

  /** For a new launch.json. */
  async provideDebugConfigurations(folder: Folder): Promise<Config[]> {
    const found = (await this.suggestions(folder)) ?? [];
    const attach = {
      type: TYPE,
      request: "attach",
      name: "Attach",
      pid: "${command:pickProcess}",
    };
    if (found.length > 0) {
      return [...found.map((suggestion) => suggestion.config), attach];
    }
    const program = "${workspaceFolder}/a.out";
    return [launch("Launch", { program, args: [], cwd: "${workspaceFolder}" }), attach];
  }

  private async best(folder: Folder): Promise<Config | undefined> {
    const found = await this.suggestions(folder);
    if (found === undefined) {
      return undefined;
    }
    const file = vscode.window.activeTextEditor?.document.uri.fsPath;
    const [choose, create] = ["Choose a Program…", "Create launch.json"];
    // The program of the file in the editor, else all programs, else everything.
    const shown = found.filter(({ source }) => source !== undefined && source === file);
    const programs = found.filter(({ isProgram }) => isProgram);
    const from = [shown, programs, found].find((list) => list.length > 0) ?? [];
    if (from.length > 0) {
      const items = from.map(({ config }) => ({ label: config.name, config }));
      return (await pickOne(items, "What do you want to debug?"))?.config;
    }
    const answer = await vscode.window.showErrorMessage(
      "Stillpoint: no program found in a Cargo.toml or CMakeLists.txt of this folder.",
      choose,
      create,
    );
    if (answer === create) {
      await vscode.commands.executeCommand("debug.addConfiguration");
    }
    if (answer !== choose) {
      return undefined;
    }
    const picked = await vscode.window.showOpenDialog({ title: "The program to debug" });
    const program = picked?.[0]?.fsPath;
    const cwd = folder?.uri.fsPath;
    return program === undefined ? undefined : launch(path.basename(program), { program, cwd });
  }

  /** Lists what can be debugged; undefined after a failure, which is shown. */
  private async suggestions(folder: Folder): Promise<Suggestion[] | undefined> {
    const cargoFolder = projectFolder(folder, "Cargo.toml");
    if (cargoFolder !== undefined) {
      const found = await this.builds.attempt("Stillpoint: reading cargo metadata", (runner) =>
        ofCargo(cargoFolder, folder, runner),
      );
      if (found === undefined || found.length > 0) {
        return found;
      }
    }
    const cmakeFolder = folder?.uri.fsPath;
    if (cmakeFolder !== undefined && fs.existsSync(path.join(cmakeFolder, "CMakeLists.txt"))) {
      return ofCmake(cmakeFolder);
    }
    return [];
  }
}

/** Returns the nearest folder above the file in the editor that has this file, within the workspace. */
function projectFolder(folder: Folder, name: string): string | undefined {
  const root = folder?.uri.fsPath;
  const file = vscode.window.activeTextEditor?.document.uri.fsPath;
  for (let at = path.dirname(file ?? "/"); (root === undefined || isWithin(at, root)) && at !== "/"; at = path.dirname(at)) {
    if (fs.existsSync(path.join(at, name))) {
      return at;
    }
  }
  return root !== undefined && fs.existsSync(path.join(root, name)) ? root : undefined;
}

async function ofCargo(at: string, folder: Folder, runner: Runner): Promise<Suggestion[]> {
  const program = cargo.findCargo();
  if (program === undefined) {
    throw cargo.missing();
  }
  const args = ["metadata", "--no-deps", "--format-version=1"];
  const { code, output, errors } = await runner.quiet(program, args, at, process.env);
  if (code !== 0) {
    throw new Failure(`cargo metadata: ${cargo.complaint(errors)}`);
  }
  const below = path.relative(folder?.uri.fsPath ?? at, at);
  const where = folder === undefined ? { cwd: at } : below === "" ? {} : { cwd: below };
  return cargo.targets(output).map((target) => {
    const call = { args: cargo.argsOf(target), ...where };
    return {
      config: launch(cargo.titleOf(target), { cargo: call }),
      isProgram: target.kind === "bin",
      source: target.source,
    };
  });
}

function ofCmake(folder: string): Suggestion[] {
  const found = cmake.executables(cmake.findBuildDirectory(folder)) ?? [];
  const configs =
    found.length === 0
      ? [launch("Debug what CMake builds", { cmake: {} })]
      : found.map(({ name }) => launch(`Debug ${name}`, { cmake: { target: name } }));
  return configs.map((config) => ({ config, isProgram: true }));
}
