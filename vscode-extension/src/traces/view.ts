// The view "Traces" beside the editor's breakpoints.

import * as vscode from "vscode";
import { type Node, nodeOf } from "./nodes";
import type { Readings } from "./readings";
import { goTo } from "./source";

export const VIEW = "stillpoint.traces";
/** A command without arguments: the editor drops those of an item as soon as the view is updated. */
const GO_TO_SELECTED = "stillpoint.traces.goToSelected";

/** A line of the view, and the tracepoint that it belongs to. */
export interface Line {
  node: Node;
  key: string;
}

const ICONS: Record<Node["kind"], string | undefined> = {
  tracepoint: "pulse",
  value: "symbol-numeric",
  group: "symbol-enum-member",
  frame: "debug-stackframe",
  records: "history",
  record: undefined,
  note: "info",
};

class Lines implements vscode.TreeDataProvider<Line> {
  constructor(
    private readonly readings: Readings,
    readonly onDidChangeTreeData: vscode.Event<undefined>,
  ) {}

  getChildren(line?: Line): Line[] {
    if (line !== undefined) {
      return line.node.children.map((node) => ({ node, key: line.key }));
    }
    return this.readings.entries().map((entry) => ({ node: nodeOf(entry), key: entry.key }));
  }

  getTreeItem(line: Line): vscode.TreeItem {
    const { node } = line;
    const { None, Collapsed } = vscode.TreeItemCollapsibleState;
    const item = new vscode.TreeItem(node.label, node.children.length === 0 ? None : Collapsed);
    item.id = node.id;
    item.description = node.description;
    item.tooltip = node.tooltip;
    item.contextValue = node.kind;
    const icon = ICONS[node.kind];
    item.iconPath = icon === undefined ? undefined : new vscode.ThemeIcon(icon);
    if (node.target !== undefined) {
      item.command = { command: GO_TO_SELECTED, title: "Go to Source" };
    }
    return item;
  }
}

/** Shows the readings. */
export function showView(readings: Readings): vscode.Disposable {
  const changed = new vscode.EventEmitter<undefined>();
  const treeDataProvider = new Lines(readings, changed.event);
  const view = vscode.window.createTreeView<Line>(VIEW, { treeDataProvider });
  const update = () => {
    const hasTraces = readings.entries().length > 0;
    void vscode.commands.executeCommand("setContext", "stillpoint.hasTraces", hasTraces);
    if (view.visible) {
      changed.fire(undefined);
    }
  };
  update();
  return vscode.Disposable.from(
    view,
    changed,
    vscode.commands.registerCommand(GO_TO_SELECTED, () =>
      goTo(view.selection[0]?.node.target, readings.session()),
    ),
    readings.watch(() => view.visible),
    readings.onDidChange(update),
    view.onDidChangeVisibility(() => readings.refresh()),
  );
}
