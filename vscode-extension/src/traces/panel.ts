// The panel of a tracepoint: a page in the editor, which gets what it shows as data.

import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { exportCsv } from "./export";
import { model, type Request } from "./model";
import type { Entry, Readings } from "./readings";
import { goTo } from "./source";

const VIEW = "stillpoint.trace";

/** The open panels, one a tracepoint. */
export class Panels implements vscode.Disposable {
  private readonly panels = new Map<string, vscode.WebviewPanel>();
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly extension: vscode.Uri,
    private readonly readings: Readings,
  ) {
    const isSeen = () => [...this.panels.values()].some(({ visible }) => visible);
    this.subscriptions = [readings.watch(isSeen), readings.onDidChange(() => this.update())];
  }

  /** Shows the panel of a tracepoint. */
  open(key: string): void {
    const known = this.panels.get(key);
    if (known !== undefined) {
      known.reveal();
      return;
    }
    const files = vscode.Uri.joinPath(this.extension, "dist");
    const panel = vscode.window.createWebviewPanel(
      VIEW,
      "Trace",
      { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
      { enableScripts: true, localResourceRoots: [files] },
    );
    panel.webview.html = page(panel.webview, files);
    panel.webview.onDidReceiveMessage((request: Request) => this.answer(panel, request));
    panel.onDidDispose(() => this.panels.delete(this.keyOf(panel)));
    panel.onDidChangeViewState(() => this.readings.refresh());
    this.panels.set(key, panel);
    this.send(key, panel);
    this.readings.refresh();
  }

  /** Keeps the panel of a tracepoint whose key changes. */
  move(from: string, to: string): void {
    const panel = this.panels.get(from);
    if (panel !== undefined) {
      this.panels.delete(from);
      this.panels.set(to, panel);
    }
  }

  dispose(): void {
    for (const panel of this.panels.values()) {
      panel.dispose();
    }
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private entry(key: string): Entry | undefined {
    return this.readings.entries().find((entry) => entry.key === key);
  }

  private update(): void {
    for (const [key, panel] of this.panels) {
      if (panel.visible) {
        this.send(key, panel);
      }
    }
  }

  private send(key: string, panel: vscode.WebviewPanel): void {
    const entry = this.entry(key);
    if (entry === undefined) {
      // The tracepoint was removed.
      panel.dispose();
      return;
    }
    panel.title = `Trace ${entry.place}`;
    void panel.webview.postMessage(model(entry));
  }

  private keyOf(panel: vscode.WebviewPanel): string {
    return [...this.panels].find(([, it]) => it === panel)?.[0] ?? "";
  }

  private answer(panel: vscode.WebviewPanel, request: Request): void {
    const key = this.keyOf(panel);
    if ("target" in request) {
      void goTo(this.readings.placeOf(request.target));
    } else if ("part" in request) {
      void exportCsv(this.readings, this.entry(key), request.part);
    } else {
      this.send(key, panel);
    }
  }
}

/** The page: its own script and style only, nothing else is loaded. */
function page(webview: vscode.Webview, files: vscode.Uri): string {
  const nonce = randomBytes(16).toString("base64");
  const uri = (name: string) => webview.asWebviewUri(vscode.Uri.joinPath(files, name)).toString();
  const policy = `default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<link rel="stylesheet" href="${uri("panel.css")}">
<title>Trace</title>
</head>
<body>
<main></main>
<script nonce="${nonce}" src="${uri("panel.js")}"></script>
</body>
</html>`;
}
