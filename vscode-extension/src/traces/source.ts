// Goes to the source of a tracepoint or of a function.

import * as vscode from "vscode";
import type { Target } from "./nodes";

/** A custom request. */
const FUNCTION = "stillpoint/functionSource";

/** Shows where a target is. A function is found by the debugger of the session. */
export async function goTo(
  target: Target | undefined,
  session: vscode.DebugSession | undefined,
): Promise<void> {
  const place = await placeOf(target, session);
  if (place === undefined) {
    const name = target !== undefined && "function" in target ? `\`${target.function}\`` : "this place";
    void vscode.window.showInformationMessage(`Stillpoint: no source of ${name} is known.`);
    return;
  }
  const position = new vscode.Position(place.line - 1, 0);
  const selection = new vscode.Range(position, position);
  const isSource = ({ document }: vscode.TextEditor) => document.uri.fsPath === place.path;
  const viewColumn = vscode.window.visibleTextEditors.find(isSource)?.viewColumn;
  const editor = await vscode.window.showTextDocument(vscode.Uri.file(place.path), {
    selection,
    viewColumn: viewColumn ?? vscode.ViewColumn.One,
  });
  editor.revealRange(selection, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}

async function placeOf(
  target: Target | undefined,
  session: vscode.DebugSession | undefined,
): Promise<{ path: string; line: number } | undefined> {
  if (target === undefined || !("function" in target)) {
    return target;
  }
  const found = await session?.customRequest(FUNCTION, { name: target.function }).then(
    (found) => found,
    () => undefined,
  );
  return found?.path !== undefined && found.line !== undefined ? found : symbolOf(target.function);
}

/** Where another extension finds a function: the session may be over. */
async function symbolOf(name: string): Promise<{ path: string; line: number } | undefined> {
  const command = "vscode.executeWorkspaceSymbolProvider";
  const bare =
    name
      .replace(/<.*|\(.*/, "")
      .split("::")
      .at(-1) ?? name;
  const symbols = await vscode.commands.executeCommand<vscode.SymbolInformation[]>(command, bare);
  const symbol = symbols?.find((symbol) => symbol.name.replace(/\(.*/, "") === bare);
  return symbol && { path: symbol.location.uri.fsPath, line: symbol.location.range.start.line + 1 };
}
