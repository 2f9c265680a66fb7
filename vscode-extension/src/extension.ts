// Finds the binary and hands it to the editor. Everything else is the binary's.

import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";

/** The file that a configured path or name stands for, as a shell would find it. */
function findBinary(configured: string): string | undefined {
  const candidates = configured.includes(path.sep)
    ? [path.resolve(configured)]
    : (process.env.PATH ?? "")
        .split(path.delimiter)
        .filter((folder) => folder !== "")
        .map((folder) => path.join(folder, configured));
  return candidates.find((file) => {
    try {
      fs.accessSync(file, fs.constants.X_OK);
      return fs.statSync(file).isFile();
    } catch {
      return false;
    }
  });
}

class Factory implements vscode.DebugAdapterDescriptorFactory {
  async createDebugAdapterDescriptor(
    session: vscode.DebugSession,
  ): Promise<vscode.DebugAdapterDescriptor | undefined> {
    const settings = vscode.workspace.getConfiguration("stillpoint", session.workspaceFolder);
    const configured = settings.get<string>("path", "stillpoint");
    const binary = findBinary(configured);
    if (binary === undefined) {
      const open = "Open Settings";
      const answer = await vscode.window.showErrorMessage(
        `Stillpoint: there is no executable "${configured}". Set stillpoint.path to the binary.`,
        open,
      );
      if (answer === open) {
        await vscode.commands.executeCommand("workbench.action.openSettings", "stillpoint.path");
      }
      return undefined;
    }
    const log = settings.get<string>("log", "");
    return new vscode.DebugAdapterExecutable(binary, log === "" ? ["dap"] : ["dap", "--log", log]);
  }
}

export function activate(context: vscode.ExtensionContext): void {
  context.subscriptions.push(
    vscode.debug.registerDebugAdapterDescriptorFactory("stillpoint", new Factory()),
  );
}
