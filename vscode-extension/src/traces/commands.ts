// Commands of tracepoints: in the palette, the gutter's menu, and the view.

import * as vscode from "vscode";
import { askForQuery, checkBy, writeQuery } from "./ask";
import { exportCsv } from "./export";
import type { Panels } from "./panel";
import type { Entry, Readings } from "./readings";
import { goTo } from "./source";
import { addOnFunction, addOnLine, edit, remove, tracepointAt, type Tracepoint } from "./tracepoints";
import type { Line } from "./view";

/** What the gutter's menu gives. */
interface GutterLine {
  uri: vscode.Uri;
  lineNumber: number;
}

/** A custom request. */
const REMOVE = "stillpoint/removeTrace";

/** Registers them. */
export function register(readings: Readings, panels: Panels): vscode.Disposable[] {
  const entry = async (line: Line | undefined): Promise<Entry | undefined> => {
    const all = readings.entries();
    return line === undefined ? pick(all) : all.find(({ key }) => key === line.key);
  };
  const change = async (tracepoint: Tracepoint): Promise<void> => {
    const { breakpoint, query } = tracepoint;
    const location = breakpoint instanceof vscode.SourceBreakpoint ? breakpoint.location : undefined;
    const check = location && checkBy(readings.session(), location.uri, location.range.start.line + 1);
    const changed = await writeQuery("Edit Tracepoint", query, check);
    if (changed !== undefined && changed.trim() !== query) {
      edit(tracepoint, changed, (from, to) => panels.move(from, to));
    }
  };
  const all: Record<string, (...args: never[]) => unknown> = {
    add: async (gutter?: GutterLine) => {
      const editor = vscode.window.activeTextEditor;
      const uri = gutter?.uri ?? editor?.document.uri;
      if (uri === undefined) {
        void vscode.window.showInformationMessage("Stillpoint: open the source first.");
        return;
      }
      const line = gutter?.lineNumber ?? (editor?.selection.active.line ?? 0) + 1;
      const known = tracepointAt(uri, line);
      if (known !== undefined) {
        return change(known);
      }
      const document = await vscode.workspace.openTextDocument(uri);
      const text = document.lineAt(Math.min(line, document.lineCount) - 1).text;
      const query = await askForQuery(text, checkBy(readings.session(), uri, line));
      if (query !== undefined) {
        addOnLine(uri, line, query);
      }
    },
    addOnFunction: async () => {
      const name = await vscode.window.showInputBox({
        title: "Add Tracepoint on a Function",
        prompt: "Its name, or /REGULAR EXPRESSION/ for all that match",
      });
      if (!name?.trim()) {
        return;
      }
      const usual = "count(), mean(elapsed), max(elapsed)";
      const query = await writeQuery(`Record calls of ${name.trim()}`, usual);
      if (query !== undefined) {
        addOnFunction(name.trim(), query);
      }
    },
    edit: async (line?: Line) => {
      const tracepoint = (await entry(line))?.tracepoint;
      return tracepoint && change(tracepoint);
    },
    remove: async (line?: Line) => {
      const found = await entry(line);
      if (found?.tracepoint !== undefined) {
        remove(found.tracepoint);
      } else if (found?.trace !== undefined) {
        await readings.session()?.customRequest(REMOVE, { id: found.trace.id });
        readings.refresh();
      }
    },
    goTo: async (line?: Line) => goTo(readings.placeOf(line?.node.target ?? (await entry(line))?.target)),
    open: async (line?: Line) => {
      const found = await entry(line);
      return found && panels.open(found.key);
    },
    export: async (line?: Line) => exportCsv(readings, await entry(line)),
  };
  return Object.entries(all).map(([name, command]) =>
    vscode.commands.registerCommand(`stillpoint.traces.${name}`, command),
  );
}

async function pick(entries: Entry[]): Promise<Entry | undefined> {
  if (entries.length <= 1) {
    return entries[0];
  }
  const items = entries.map((entry) => ({ label: entry.place, description: entry.query, entry }));
  return (await vscode.window.showQuickPick(items, { title: "The tracepoint" }))?.entry;
}
