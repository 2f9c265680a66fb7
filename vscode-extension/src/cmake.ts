// Reads a CMake project through CMake's file API. Independent of the editor.

import * as fs from "node:fs";
import * as path from "node:path";
import { Failure, type Runner } from "./run";

/** The launch setting `cmake`. */
export interface CmakeSettings {
  /** The executable target. Default: the only one, or a choice. */
  target?: string;
  /** Build directory, relative to the folder. */
  buildDirectory?: string;
  /** Arguments of the first configuration: `["-DCMAKE_BUILD_TYPE=Debug"]`. */
  args?: string[];
  /** Configuration of multi-config generators: `Debug`. */
  config?: string;
}

/** An executable target. */
export interface Executable {
  name: string;
  path: string;
}

/** Reads the launch setting, which may be just the target's name. */
export function readSettings(setting: unknown): CmakeSettings {
  const object = typeof setting === "string" ? { target: setting } : setting;
  return (object ?? {}) as CmakeSettings;
}

/** Returns the existing build directory, or the default one. */
export function findBuildDirectory(folder: string): string {
  const below = (parent: string) => {
    try {
      return fs.readdirSync(path.join(folder, parent)).map((name) => path.join(parent, name));
    } catch {
      return [];
    }
  };
  const found = below(".").filter((name) => /^(build|cmake-build|_build)/.test(name));
  const candidates = ["build", ...found, ...below("build"), ...below("out/build"), "."];
  const is = (name: string) => fs.existsSync(path.join(folder, name, "CMakeCache.txt"));
  return path.resolve(folder, candidates.find(is) ?? "build");
}

const API = path.join(".cmake", "api", "v1");

/** Makes CMake write its targets at the next configuration. */
function ask(build: string): void {
  const query = path.join(build, API, "query", "client-stillpoint");
  fs.mkdirSync(query, { recursive: true });
  fs.writeFileSync(path.join(query, "codemodel-v2"), "");
}

/** Reads the targets that CMake wrote; undefined if it was not asked before. */
export function executables(build: string, config?: string): Executable[] | undefined {
  const reply = path.join(build, API, "reply");
  const read = (name: string) => JSON.parse(fs.readFileSync(path.join(reply, name), "utf8"));
  try {
    const indexes = fs.readdirSync(reply).filter((name) => name.startsWith("index-"));
    const index = read(indexes.sort().at(-1) ?? "");
    const model = index.objects.find((object: any) => object.kind === "codemodel");
    const configurations: any[] = read(model.jsonFile).configurations;
    const wanted = configurations.find((it) => it.name === config) ?? configurations[0];
    return wanted.targets
      .map((target: any) => read(target.jsonFile))
      .filter((target: any) => target.type === "EXECUTABLE" && target.artifacts?.length > 0)
      .map((target: any) => ({
        name: target.name,
        path: path.resolve(build, target.artifacts[0].path),
      }));
  } catch {
    return undefined;
  }
}

/** Configures if necessary. Returns the executable targets. */
export async function configure(
  cmake: string,
  folder: string,
  settings: CmakeSettings,
  runner: Runner,
): Promise<{ build: string; found: Executable[] }> {
  const build = settings.buildDirectory
    ? path.resolve(folder, settings.buildDirectory)
    : findBuildDirectory(folder);
  const isNew = !fs.existsSync(path.join(build, "CMakeCache.txt"));
  if (isNew || executables(build) === undefined) {
    ask(build);
    const usual = isNew ? ["-DCMAKE_BUILD_TYPE=Debug"] : [];
    const args = ["-S", folder, "-B", build, ...(settings.args ?? usual)];
    const { code } = await runner.loud(cmake, args, folder, process.env);
    if (code !== 0) {
      throw new Failure(`CMake failed to configure ${build}`);
    }
  }
  const found = executables(build, settings.config);
  if (found === undefined) {
    throw new Failure("CMake did not list its targets; version 3.14 or later is required");
  }
  return { build, found };
}

/** Builds a target. Returns the path of its executable. */
export async function build(
  cmake: string,
  directory: string,
  settings: CmakeSettings,
  target: string,
  runner: Runner,
): Promise<string> {
  const config = settings.config ? ["--config", settings.config] : [];
  const args = ["--build", directory, "--target", target, "--parallel", ...config];
  const { code } = await runner.loud(cmake, args, directory, process.env);
  if (code !== 0) {
    throw new Failure(`CMake failed to build ${target}`);
  }
  const found = executables(directory, settings.config) ?? [];
  const built = found.find((executable) => executable.name === target);
  if (built === undefined) {
    const names = found.map((executable) => executable.name).join(", ") || "none";
    throw new Failure(`unknown CMake target ${target}; expected one of: ${names}`);
  }
  return built.path;
}
