// The list of past stops.

import * as vscode from "vscode";
import type { PastStop } from "./reply";
import { type Row, rows } from "./text";

type Item = vscode.QuickPickItem & { row: Row };

const SINCE: vscode.QuickInputButton = {
  iconPath: new vscode.ThemeIcon("diff"),
  tooltip: "What Changed Since",
};

/** What was chosen: a stop to show, or two to compare. */
export type Choice = { show: PastStop } | { from: PastStop; to: PastStop };

/** Shows stops, oldest first in `stops`, and returns what was chosen; undefined: nothing. */
export function choose(stops: PastStop[]): Promise<Choice | undefined> {
  const list = vscode.window.createQuickPick<Item>();
  list.title = "Past Stops";
  list.placeholder = "The stop to show, as it was";
  list.matchOnDescription = true;
  list.items = rows(stops).map((row) => ({
    label: row.label,
    description: row.description,
    buttons: row.comparedWith === undefined ? [] : [SINCE],
    row,
  }));
  list.activeItems = list.items.filter(({ row }) => row.stop.isShown);
  return new Promise((resolve) => {
    const finish = (choice: Choice | undefined) => {
      resolve(choice);
      list.dispose();
    };
    list.onDidAccept(() => {
      const stop = list.selectedItems[0]?.row.stop;
      finish(stop && { show: stop });
    });
    list.onDidTriggerItemButton(({ item: { row } }) => {
      finish(row.comparedWith && { from: row.stop, to: row.comparedWith });
    });
    list.onDidHide(() => finish(undefined));
    list.show();
  });
}
