// Tracepoints: set as breakpoints, read from the debugger, and shown in a view, a panel, and behind
// their lines.

import * as vscode from "vscode";
import { register } from "./commands";
import { decorate } from "./decorations";
import { Panels } from "./panel";
import { Readings } from "./readings";
import { showView } from "./view";

/** Adds everything about tracepoints to the editor. */
export function addTraces(extension: vscode.Uri): vscode.Disposable[] {
  const readings = new Readings();
  const panels = new Panels(extension, readings);
  return [readings, panels, showView(readings), decorate(readings), ...register(readings, panels)];
}
