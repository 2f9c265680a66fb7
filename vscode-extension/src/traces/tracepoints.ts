// Tracepoints as the editor's breakpoints: they are in its list, survive with it, and are sent to the
// debugger before the program starts.

import * as path from "node:path";
import * as vscode from "vscode";
import { queryIn, withQuery } from "./message";
import type { Place } from "./nodes";

/** A breakpoint of the editor that is a tracepoint. */
export interface Tracepoint {
  key: string;
  breakpoint: vscode.SourceBreakpoint | vscode.FunctionBreakpoint;
  query: string;
  /** `FILE:LINE` or the function. */
  place: string;
  /** Where it is; undefined for a function. */
  target?: Place;
}

/** Returns the tracepoint that a breakpoint is, if it is one. */
export function tracepointOf(breakpoint: vscode.Breakpoint): Tracepoint | undefined {
  const key = breakpoint.id;
  if (breakpoint instanceof vscode.SourceBreakpoint) {
    const query = queryIn(breakpoint.logMessage);
    const { uri, range } = breakpoint.location;
    const target = { path: uri.fsPath, line: range.start.line + 1 };
    const place = `${path.basename(target.path)}:${target.line}`;
    return query === undefined ? undefined : { key, breakpoint, query, place, target };
  }
  if (breakpoint instanceof vscode.FunctionBreakpoint) {
    const query = queryIn(breakpoint.condition);
    return query === undefined ? undefined : { key, breakpoint, query, place: breakpoint.functionName };
  }
  return undefined;
}

/** Returns all tracepoints, in the order of the editor's list. */
export const tracepoints = (): Tracepoint[] =>
  vscode.debug.breakpoints.map(tracepointOf).filter((it) => it !== undefined);

/** Returns the tracepoint on a line, counted from 1. */
export const tracepointAt = (uri: vscode.Uri, line: number): Tracepoint | undefined =>
  tracepoints().find(({ target }) => target?.path === uri.fsPath && target.line === line);

/** Sets a tracepoint on a line, counted from 1. */
export function addOnLine(uri: vscode.Uri, line: number, query: string): void {
  const location = new vscode.Location(uri, new vscode.Position(line - 1, 0));
  const message = withQuery(query);
  vscode.debug.addBreakpoints([new vscode.SourceBreakpoint(location, true, undefined, undefined, message)]);
}

/** Sets a tracepoint on a function, or on those that `/REGULAR EXPRESSION/` matches. */
export function addOnFunction(name: string, query: string): void {
  vscode.debug.addBreakpoints([new vscode.FunctionBreakpoint(name, true, withQuery(query))]);
}

/**
 * Replaces the query. What was recorded is dropped. `move` gets the new key before the tracepoint has it.
 */
export function edit(
  { breakpoint, key }: Tracepoint,
  query: string,
  move: (from: string, to: string) => void,
): void {
  const { enabled, condition, hitCondition } = breakpoint;
  const message = withQuery(query);
  const changed =
    breakpoint instanceof vscode.SourceBreakpoint
      ? new vscode.SourceBreakpoint(breakpoint.location, enabled, condition, hitCondition, message)
      : new vscode.FunctionBreakpoint(breakpoint.functionName, enabled, message, hitCondition);
  move(key, changed.id);
  vscode.debug.removeBreakpoints([breakpoint]);
  vscode.debug.addBreakpoints([changed]);
}

export const remove = ({ breakpoint }: Tracepoint): void => vscode.debug.removeBreakpoints([breakpoint]);
