// Gives the binary and its configurations to the editor. Everything else is done by the binary.

import { spawn } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { findDebugger, USUAL_NAME } from "./binary";
import { Builds } from "./builds";
import * as commands from "./commands";
import { Provider, TYPE } from "./configurations";
import { addPast } from "./past";
import { type Message, type Rebuild, Relay } from "./relay";
import { addTraces } from "./traces";

class Factory implements vscode.DebugAdapterDescriptorFactory {
  constructor(
    private readonly packaged: string,
    private readonly builds: Builds,
  ) {}

  createDebugAdapterDescriptor(session: vscode.DebugSession): vscode.DebugAdapterDescriptor {
    const settings = vscode.workspace.getConfiguration(TYPE, session.workspaceFolder);
    const configured = settings.get<string>("path", USUAL_NAME);
    const binary = findDebugger(configured, this.packaged);
    if (binary === undefined) {
      void offerSettings();
      throw new Error(
        `no executable "${configured || USUAL_NAME}"; set stillpoint.path to the debugger`,
      );
    }
    const log = settings.get<string>("log", "");
    const args = log === "" ? ["dap"] : ["dap", "--log", log];
    // Relative paths of a configuration are those of the workspace, and so is the program's folder without `cwd`.
    const cwd = folderOf(session);
    const rebuild = this.builds.again(session.configuration);
    return rebuild === undefined
      ? new vscode.DebugAdapterExecutable(binary, args, { cwd })
      : new vscode.DebugAdapterInlineImplementation(new Rebuilding(binary, args, cwd, rebuild));
  }
}

/** The folder of a session's workspace, if it is on this machine's disk. */
function folderOf(session: vscode.DebugSession): string | undefined {
  const folder = session.workspaceFolder ?? vscode.workspace.workspaceFolders?.[0];
  const path = folder?.uri.scheme === "file" ? folder.uri.fsPath : undefined;
  return path !== undefined && fs.existsSync(path) ? path : undefined;
}

/** The debugger, started by the extension so that a restart can build first. */
class Rebuilding implements vscode.DebugAdapter {
  private readonly messages = new vscode.EventEmitter<vscode.DebugProtocolMessage>();
  readonly onDidSendMessage = this.messages.event;
  private readonly child;
  private readonly relay: Relay;

  constructor(binary: string, args: string[], cwd: string | undefined, rebuild: Rebuild) {
    this.child = spawn(binary, args, { cwd, stdio: ["pipe", "pipe", "ignore"] });
    let isOver = false;
    const sendToEditor = (message: Message) => {
      isOver ||= message.event === "terminated";
      this.messages.fire(message);
    };
    const event = (name: string, body?: object) => sendToEditor({ type: "event", seq: 0, event: name, body });
    this.relay = new Relay(this.child.stdin, this.child.stdout, rebuild, sendToEditor);
    // Writes to an ended process are dropped: its end is reported separately.
    this.child.stdin.on("error", () => {});
    this.child.on("error", (error) => {
      event("output", { category: "important", output: `${binary}: ${error.message}\n` });
      event("terminated");
    });
    this.child.on("exit", () => isOver || event("terminated"));
  }

  handleMessage(message: vscode.DebugProtocolMessage): void {
    this.relay.take(message as Message);
  }

  dispose(): void {
    // End of input ends the debugger and the program that it launched.
    this.child.stdin.end();
    this.messages.dispose();
  }
}

async function offerSettings(): Promise<void> {
  const [choose, open] = ["Choose the Binary…", "Open Settings"];
  const text = "Stillpoint: binary not found. Build it with `cargo install --path adapter`.";
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
  const [debuggerInfo] = context.extension.packageJSON.contributes.debuggers;
  const settings = (request: string) =>
    Object.keys(debuggerInfo.configurationAttributes[request]?.properties ?? {});
  const provider = new Provider(builds, settings);
  const packaged = path.join(context.extensionPath, "bin", USUAL_NAME);
  const provideDebugConfigurations = (folder: vscode.WorkspaceFolder | undefined) =>
    provider.provideDebugConfigurations(folder);
  context.subscriptions.push(
    builds,
    vscode.debug.registerDebugAdapterDescriptorFactory(TYPE, new Factory(packaged, builds)),
    vscode.debug.registerDebugConfigurationProvider(TYPE, provider),
    // Also in the list behind "Run and Debug"; that provider must not resolve a second time.
    vscode.debug.registerDebugConfigurationProvider(
      TYPE,
      { provideDebugConfigurations },
      vscode.DebugConfigurationProviderTriggerKind.Dynamic,
    ),
    ...commands.register(),
    ...addPast(),
    ...addTraces(context.extensionUri),
  );
}
