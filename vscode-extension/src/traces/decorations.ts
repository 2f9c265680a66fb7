// What a tracepoint has recorded, behind its line.

import * as vscode from "vscode";
import { TYPE } from "../configurations";
import type { Readings } from "./readings";
import { cut, summary } from "./summary";

const SETTING = "traces.decorations";
/** Characters behind a line. */
const MOST = 160;
const NO_BREAK = "\u00a0";

const isOn = (): boolean => vscode.workspace.getConfiguration(TYPE).get<boolean>(SETTING, true);

/** Writes readings behind the lines of the editors that are seen. */
export function decorate(readings: Readings): vscode.Disposable {
  const type = vscode.window.createTextEditorDecorationType({
    after: { color: new vscode.ThemeColor("editorCodeLens.foreground"), margin: "0 0 0 3ch" },
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedOpen,
  });
  const update = () => {
    const entries = isOn() ? readings.entries() : [];
    for (const editor of vscode.window.visibleTextEditors) {
      editor.setDecorations(
        type,
        entries.flatMap((entry) => decoration(editor.document, entry)),
      );
    }
  };
  const isSeen = () =>
    isOn() &&
    readings
      .entries()
      .some(({ target }) => vscode.window.visibleTextEditors.some(({ document }) => isIn(document, target)));
  update();
  return vscode.Disposable.from(
    type,
    readings.watch(isSeen),
    readings.onDidChange(update),
    vscode.window.onDidChangeVisibleTextEditors(() => readings.refresh()),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration(`${TYPE}.${SETTING}`)) {
        update();
      }
    }),
  );
}

type Entry = ReturnType<Readings["entries"]>[number];

const isIn = (document: vscode.TextDocument, target: Entry["target"]): boolean =>
  target !== undefined && "path" in target && document.uri.fsPath === target.path;

function decoration(document: vscode.TextDocument, entry: Entry): vscode.DecorationOptions[] {
  const { target, trace, query } = entry;
  if (trace === undefined || target === undefined || !("path" in target) || !isIn(document, target)) {
    return [];
  }
  if (target.line > document.lineCount) {
    return [];
  }
  const { range } = document.lineAt(target.line - 1);
  const contentText = cut(summary(trace), MOST).replaceAll(" ", NO_BREAK);
  const hoverMessage = new vscode.MarkdownString().appendCodeblock(query, "text");
  return [
    {
      range: new vscode.Range(range.end, range.end),
      hoverMessage,
      renderOptions: { after: { contentText } },
    },
  ];
}
