// The value that a command is about: of a menu, of the cursor, or of what a person types.

import * as vscode from "vscode";
import { expressionAt } from "./expression";

/** Arguments of the debugger's requests for a value, as those of `dataBreakpointInfo`. */
export interface Value {
  name: string;
  variablesReference?: number;
  frameId?: number;
}

/** What the menu of a variable passes. */
interface OfVariable {
  container?: { variablesReference?: number };
  variable?: { name?: string; evaluateName?: string };
}

/** The frame that is selected in the call stack. */
function frameOf(session: vscode.DebugSession): number | undefined {
  const item = vscode.debug.activeStackItem;
  const isFrame = item instanceof vscode.DebugStackFrame && item.session.id === session.id;
  return isFrame ? item.frameId : undefined;
}

function ofMenu(args: unknown[]): Value | undefined {
  const { container, variable } = (args[0] ?? {}) as OfVariable;
  if (variable?.name === undefined) {
    return undefined;
  }
  const variablesReference = container?.variablesReference;
  return variablesReference ? { name: variable.name, variablesReference } : { name: variable.evaluateName ?? variable.name };
}

/** The selected text, or else the expression at the cursor. */
function ofEditor(): string | undefined {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) {
    return undefined;
  }
  const { document, selection } = editor;
  const { line, character } = selection.active;
  const selected = document.getText(selection).trim();
  return selected === "" ? expressionAt(document.lineAt(line).text, character) : selected;
}

/**
 * Returns the value that a command with these arguments is about: of the variable whose menu was opened, or
 * the expression at the cursor if the menu of the source was opened, or else one that is asked for. Undefined:
 * none was named.
 */
export async function valueOf(session: vscode.DebugSession, args: unknown[], title: string): Promise<Value | undefined> {
  const frameId = frameOf(session);
  const variable = ofMenu(args);
  if (variable !== undefined) {
    return { ...variable, frameId };
  }
  const pointedAt = ofEditor();
  // The menu of the source passes the file.
  const isMenu = args[0] instanceof vscode.Uri;
  const name =
    isMenu && pointedAt !== undefined
      ? pointedAt
      : await vscode.window.showInputBox({ title, prompt: "An expression of the program", value: pointedAt });
  return name?.trim() ? { name: name.trim(), frameId } : undefined;
}
