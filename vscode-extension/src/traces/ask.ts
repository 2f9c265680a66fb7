// Asks for the query of a tracepoint: examples for the line, and text that the debugger checks while a
// session runs.

import * as vscode from "vscode";
import { type Example, examples } from "./examples";

/** A custom request. */
const CHECK = "stillpoint/checkTrace";
/** Time without typing after which the debugger checks, in milliseconds. */
const QUIET = 200;
const HINT = "count(), max(order->n) by order->kind where order->n > 3";

/** Returns what is wrong with a query; undefined: nothing is known to be wrong. */
export type Check = (query: string) => Promise<string | undefined>;

/** A check of queries for a line, counted from 1, by a session's debugger. */
export function checkBy(
  session: vscode.DebugSession | undefined,
  uri: vscode.Uri,
  line: number,
): Check | undefined {
  return (
    session &&
    (async (query) => {
      try {
        const arguments_ = { path: uri.fsPath, line, query };
        return (await session.customRequest(CHECK, arguments_))?.message;
      } catch {
        // No process yet, or none any more.
        return undefined;
      }
    })
  );
}

type Item = vscode.QuickPickItem & { example?: Example };

/** Asks for a query, first by a list of those that fit the line. */
export async function askForQuery(text: string, check?: Check): Promise<string | undefined> {
  const found = examples(text);
  const wrong = await Promise.all(found.map(({ query }) => check?.(query)));
  // The line has no code yet.
  const isAllWrong = !wrong.includes(undefined);
  const items: Item[] = [
    { label: "$(edit) Write a query…", alwaysShow: true },
    ...found
      .filter((_, at) => wrong[at] === undefined || isAllWrong)
      .map((example) => ({ label: example.query, description: example.description, example })),
  ];
  const title = "Add Tracepoint";
  const placeHolder = "What to record, while the program runs on";
  const picked = await vscode.window.showQuickPick(items, { title, placeHolder });
  if (picked === undefined || picked.example !== undefined) {
    return picked?.example?.query;
  }
  return writeQuery(title, "", check);
}

/** Asks for the text of a query. */
export async function writeQuery(title: string, value: string, check?: Check): Promise<string | undefined> {
  let latest = 0;
  // A warning: a library that is loaded later may have what is missing.
  const severity = vscode.InputBoxValidationSeverity.Warning;
  const validateInput = async (query: string): Promise<vscode.InputBoxValidationMessage | undefined> => {
    const own = ++latest;
    if (check === undefined) {
      return undefined;
    }
    await new Promise((resolve) => setTimeout(resolve, QUIET));
    const message = own === latest ? await check(query) : undefined;
    return message === undefined ? undefined : { message, severity };
  };
  return vscode.window.showInputBox({
    title,
    value,
    prompt:
      "Values and aggregates: count(), sum, min, max, mean, hist, distinct, top, last; by KEY, where CONDITION",
    placeHolder: HINT,
    validateInput,
  });
}
