// Goes to the source of a tracepoint or of a function.

import * as vscode from "vscode";
import type { Place } from "./nodes";

/** The editor's command that opens a file; its arguments stay valid while a view is updated. */
const OPEN = "vscode.open";

/** Returns the command that shows a place, where its source is already seen, if it is. */
export function commandTo({ path, line }: Place): vscode.Command {
  const position = new vscode.Position(line - 1, 0);
  const selection = new vscode.Range(position, position);
  const isSource = ({ document }: vscode.TextEditor) => document.uri.fsPath === path;
  const seen = vscode.window.visibleTextEditors.find(isSource)?.viewColumn;
  const options: vscode.TextDocumentShowOptions = { selection, viewColumn: seen ?? vscode.ViewColumn.One };
  return { command: OPEN, title: "Go to Source", arguments: [vscode.Uri.file(path), options] };
}

/** Shows a place. */
export async function goTo(place: Place | undefined): Promise<void> {
  if (place === undefined) {
    void vscode.window.showInformationMessage("Stillpoint: the source of this place is not known.");
    return;
  }
  const { command, arguments: arguments_ = [] } = commandTo(place);
  await vscode.commands.executeCommand(command, ...arguments_);
}
