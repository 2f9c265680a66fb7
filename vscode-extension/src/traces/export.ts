// Saves what a tracepoint has recorded as CSV.

import * as path from "node:path";
import * as vscode from "vscode";
import { type Part, parts } from "./csv";
import type { Entry, Readings } from "./readings";

/** Asks which part is wanted, if there are several, and for a file. */
export async function exportCsv(readings: Readings, shown: Entry | undefined, name?: string): Promise<void> {
  const entry = shown && (await readings.whole(shown));
  const all = entry?.trace === undefined ? [] : parts(entry.trace, entry.history?.points() ?? []);
  if (entry === undefined || all.length === 0) {
    void vscode.window.showInformationMessage("Stillpoint: nothing has been recorded yet.");
    return;
  }
  const part = all.find((it) => it.name === name) ?? (await pick(all));
  if (part === undefined) {
    return;
  }
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const file = `${entry.place.replace(/[^\w.-]+/g, "-")}-${part.name}.csv`;
  const uri = await vscode.window.showSaveDialog({
    title: "Export CSV",
    defaultUri: folder && vscode.Uri.joinPath(folder, file),
    filters: { CSV: ["csv"] },
  });
  if (uri !== undefined) {
    await vscode.workspace.fs.writeFile(uri, Buffer.from(part.text));
    void vscode.window.setStatusBarMessage(`Stillpoint: wrote ${path.basename(uri.fsPath)}`, 5000);
  }
}

async function pick(all: Part[]): Promise<Part | undefined> {
  if (all.length === 1) {
    return all[0];
  }
  const items = all.map((part) => ({ label: part.title, part }));
  return (await vscode.window.showQuickPick(items, { title: "Export CSV" }))?.part;
}
