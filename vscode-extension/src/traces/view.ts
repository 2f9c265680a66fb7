// The view "Traces" beside the editor's breakpoints.

import * as vscode from "vscode";
import { type Node, nodeOf } from "./nodes";
import type { Readings } from "./readings";
import { commandTo } from "./source";

export const VIEW = "stillpoint.traces";
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

class Lines implements vscode.TreeDataProvider<Line>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<Line[] | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  /** Those of tracepoints: the same objects as long as the tracepoints are the same. */
  private lines: Line[] = [];

  constructor(private readonly readings: Readings) {
    this.take();
  }

  /**
   * Shows new readings. If the whole tree changed, the editor would know no line while it asks for them
   * again, and what is done with a line meanwhile would be done with none.
   */
  update(): void {
    const isSame = this.take();
    this.changed.fire(isSame ? this.lines : undefined);
  }

  dispose(): void {
    this.changed.dispose();
  }

  getChildren(line?: Line): Line[] {
    return line === undefined ? this.lines : line.node.children.map((node) => ({ node, key: line.key }));
  }

  /** Takes the present readings. Returns whether the tracepoints are the same. */
  private take(): boolean {
    const before = this.lines;
    const known = new Map(before.map((line) => [line.key, line]));
    this.lines = this.readings.entries().map((entry) => {
      const line = known.get(entry.key) ?? { node: nodeOf(entry), key: entry.key };
      line.node = nodeOf(entry);
      return line;
    });
    return before.length === this.lines.length && before.every((line, at) => line === this.lines[at]);
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
    const place = this.readings.placeOf(node.target);
    item.command = place && commandTo(place);
    return item;
  }
}

/** Shows the readings. */
export function showView(readings: Readings): vscode.Disposable {
  const lines = new Lines(readings);
  const view = vscode.window.createTreeView<Line>(VIEW, { treeDataProvider: lines });
  const update = () => {
    const hasTraces = readings.entries().length > 0;
    void vscode.commands.executeCommand("setContext", "stillpoint.hasTraces", hasTraces);
    if (view.visible) {
      lines.update();
    }
  };
  update();
  return vscode.Disposable.from(
    view,
    lines,
    readings.watch(() => view.visible),
    readings.onDidChange(update),
    view.onDidChangeVisibility(() => readings.refresh()),
  );
}
