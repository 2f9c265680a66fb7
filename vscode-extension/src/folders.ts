// Finds the folder of a configuration that belongs to none: one of a `.code-workspace` file.
// Independent of the editor.

import * as fs from "node:fs";
import * as path from "node:path";

/** Whether a path is a folder or within it. */
export function isWithin(file: string, folder: string): boolean {
  return file === folder || file.startsWith(folder.endsWith(path.sep) ? folder : folder + path.sep);
}

/**
 * Returns the candidate folders: the one with the file in the editor, if it has a project of
 * that kind; else all with one; else all.
 */
export function candidates(folders: string[], project: string, shown?: string): string[] {
  const has = (folder: string) => fs.existsSync(path.join(folder, project));
  const own = folders.filter((folder) => shown !== undefined && isWithin(shown, folder) && has(folder));
  const fitting = folders.filter(has);
  // Of nested folders, the innermost is nearest.
  const inner = own.sort((a, b) => b.length - a.length).slice(0, 1);
  return [inner, fitting, folders].find((list) => list.length > 0) ?? [];
}
