// The past: a list of past stops, what has changed since, where values come from, and a mark in the status bar.

import * as vscode from "vscode";
import { TYPE } from "../configurations";
import { Changes } from "./changes";
import { choose } from "./list";
import { pastOf, Sessions } from "./sessions";
import { isPast, status } from "./text";
import { goToLastWrite, goToOrigin } from "./writes";

/** A custom request: shows a stop, without a number the present one. */
const VISIT = "stillpoint/visitStop";
const LIST = `${TYPE}.past.list`;
const PRESENT = `${TYPE}.past.present`;
const LAST_WRITE = `${TYPE}.past.lastWrite`;
const ORIGIN = `${TYPE}.past.origin`;

/** Shows in the status bar that the past is shown, and lets menus depend on it. */
function mark(sessions: Sessions): vscode.Disposable {
  const item = vscode.window.createStatusBarItem(`${TYPE}.past`, vscode.StatusBarAlignment.Left, 100);
  item.name = "Past Stop";
  item.backgroundColor = new vscode.ThemeColor("statusBarItem.warningBackground");
  const update = () => {
    const shown = status(sessions.past());
    void vscode.commands.executeCommand("setContext", `${TYPE}.inPast`, shown !== undefined);
    if (shown === undefined) {
      item.hide();
      return;
    }
    item.text = shown.text;
    item.tooltip = shown.tooltip;
    item.command = shown.click === "list" ? LIST : PRESENT;
    item.show();
  };
  update();
  return vscode.Disposable.from(item, sessions.onDidChange(update));
}

/** The session of an item of the call stack: menus pass its id in one of the arguments. */
function idIn(args: unknown[]): string | undefined {
  const ids = args.map((it) => (it as { sessionId?: unknown } | undefined)?.sessionId);
  return ids.find((id) => typeof id === "string");
}

async function list(session: vscode.DebugSession, changes: Changes): Promise<void> {
  const { stops, recording } = await pastOf(session);
  if (stops.length < 2) {
    const text =
      recording === undefined
        ? "Stillpoint: no earlier stop is kept; they are kept when the program leaves a stop."
        : "Stillpoint: the program is recorded, and no stops are kept; Step Back and Reverse go back.";
    void vscode.window.showInformationMessage(text);
    return;
  }
  const choice = await choose(stops);
  if (choice === undefined) {
    return;
  }
  if ("from" in choice) {
    await changes.open(session, choice.from, choice.to);
  } else if (!choice.show.isShown) {
    const { isPresent, number } = choice.show;
    await session.customRequest(VISIT, isPresent ? {} : { number });
  }
}

async function present(session: vscode.DebugSession): Promise<void> {
  if (isPast(await pastOf(session))) {
    await session.customRequest(VISIT, {});
  }
}

/** Adds everything about past stops to the editor. */
export function addPast(): vscode.Disposable[] {
  const sessions = new Sessions();
  const changes = new Changes();
  const command = (name: string, run: (session: vscode.DebugSession, args: unknown[]) => Promise<void>) =>
    vscode.commands.registerCommand(name, async (...args: unknown[]) => {
      const session = sessions.find(idIn(args));
      try {
        await (session && run(session, args));
      } catch (error) {
        const text = error instanceof Error ? error.message : String(error);
        void vscode.window.showWarningMessage(`Stillpoint: ${text}`);
      }
    });
  return [
    sessions,
    changes,
    mark(sessions),
    command(LIST, (session) => list(session, changes)),
    command(PRESENT, present),
    command(LAST_WRITE, goToLastWrite),
    command(ORIGIN, (session, args) => goToOrigin(sessions, session, args)),
  ];
}
