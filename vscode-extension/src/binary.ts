// Where the debugger's binary is.

import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";

/** Whether a file can be executed. */
export function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

/** Resolves a path or name to an executable, as a shell does. */
export function find(pathOrName: string, searchPath = process.env.PATH ?? ""): string | undefined {
  const home = pathOrName.replace(/^~(?=\/)/, os.homedir());
  const candidates = home.includes(path.sep)
    ? [path.resolve(home)]
    : searchPath
        .split(path.delimiter)
        .filter((folder) => folder !== "")
        .map((folder) => path.join(folder, home));
  return candidates.find(isExecutable);
}

/** Default of the setting. */
export const USUAL_NAME = "stillpoint";

/**
 * Finds the debugger: the path or name of the setting; with the default, also the binary that the
 * extension contains.
 */
export function findDebugger(
  configured: string,
  packaged: string,
  searchPath?: string,
): string | undefined {
  const name = configured.trim() || USUAL_NAME;
  const found = find(name, searchPath);
  if (found === undefined && name === USUAL_NAME && isExecutable(packaged)) {
    return packaged;
  }
  return found;
}
