// Hands the binary to the editor, and says what it is to debug. Everything else is the binary's.

import * as path from "node:path";
import * as vscode from "vscode";
import { findDebugger, USUAL_NAME } from "./binary";
import { Builds } from "./builds";
import * as commands from "./commands";
import { Provider, TYPE } from "./configurations";

class Factory implements vscode.DebugAdapterDescriptorFactory {
  constructor(private readonly packaged: string) {}

  createDebugAdapterDescriptor(session: vscode.DebugSession): vscode.DebugAdapterDescriptor {
    const settings = vscode.workspace.getConfiguration(TYPE, session.workspaceFolder);
    const configured = settings.get<string>("path", USUAL_NAME);
    const binary = findDebugger(configured, this.packaged);
    if (binary === undefined) {
      void offerSettings();
      throw new Error(
        `there is no executable "${configured || USUAL_NAME}"; stillpoint.path says where the debugger is`,
      );
    }
    const log = settings.get<string>("log", "");
    return new vscode.DebugAdapterExecutable(binary, log === "" ? ["dap"] : ["dap", "--log", log]);
  }
}

async function offerSettings(): Promise<void> {
  const [choose, open] = ["Choose the Binary…", "Open Settings"];
  const text = "Stillpoint: its binary was not found. It is made by `cargo install --path adapter`.";
  const answer = await vscode.window.showErrorMessage(text, choose, open);
  if (answer === open) {
    await vscode.commands.executeCommand("workbench.action.openSettings", "stillpoint.path");
  } else if (answer === choose) {
    const picked = await vscode.window.showOpenDialog({ title: "The stillpoint binary" });
    const configuration = vscode.workspace.getConfiguration(TYPE);
    const target = vscode.ConfigurationTarget.Global;
    await configuration.update("path", picked?.[0]?.fsPath, target);
  }
}

export function activate(context: vscode.ExtensionContext): void {
  const builds = new Builds();
  const provider = new Provider(builds);
  const packaged = path.join(context.extensionPath, "bin", USUAL_NAME);
  const provideDebugConfigurations = (folder: vscode.WorkspaceFolder | undefined) =>
    provider.provideDebugConfigurations(folder);
  context.subscriptions.push(
    builds,
    vscode.debug.registerDebugAdapterDescriptorFactory(TYPE, new Factory(packaged)),
    vscode.debug.registerDebugConfigurationProvider(TYPE, provider),
    // Also in the list behind "Run and Debug"; that provider must not resolve a second time.
    vscode.debug.registerDebugConfigurationProvider(
      TYPE,
      { provideDebugConfigurations },
      vscode.DebugConfigurationProviderTriggerKind.Dynamic,
    ),
    ...commands.register(),
  );
}
