// What has changed between two stops, as a document that cannot be edited.

import * as vscode from "vscode";
import { type PastStop, readChanges } from "./reply";
import { textOfChanges, titleOfChanges } from "./text";

const SCHEME = "stillpoint-changes";
/** A custom request. */
const CHANGES = "stillpoint/pastChanges";

/** The documents that are open. */
export class Changes implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private count = 0;
  private readonly parts: vscode.Disposable;

  constructor() {
    this.parts = vscode.Disposable.from(
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      vscode.workspace.onDidCloseTextDocument(({ uri }) => this.texts.delete(uri.toString())),
    );
  }

  dispose(): void {
    this.parts.dispose();
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? "This comparison belongs to an earlier session.\n";
  }

  /** Opens what differs between two stops beside the source, which keeps the focus. */
  async open(session: vscode.DebugSession, from: PastStop, to: PastStop): Promise<void> {
    const numbers = { from: from.number, to: to.number };
    const changes = readChanges(await session.customRequest(CHANGES, numbers));
    const path = `/${titleOfChanges(from, to)}`;
    const uri = vscode.Uri.from({ scheme: SCHEME, path, query: String(++this.count) });
    this.texts.set(uri.toString(), textOfChanges(from, to, changes));
    const document = await vscode.workspace.openTextDocument(uri);
    const viewColumn = vscode.ViewColumn.Beside;
    await vscode.window.showTextDocument(document, { viewColumn, preserveFocus: true, preview: true });
  }
}
