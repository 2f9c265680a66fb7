// Commands of the palette and of the debug views.

import * as vscode from "vscode";
import { TYPE } from "./configurations";
import { pickProcess } from "./processes";

/** A custom request: changes settings during the session and returns all of them. */
const SET = "stillpoint/setSettings";

async function toggleHex(): Promise<void> {
  const session = vscode.debug.activeDebugSession;
  if (session?.type !== TYPE) {
    return;
  }
  const { settings } = await session.customRequest(SET, { settings: {} });
  // The views refresh themselves.
  await session.customRequest(SET, { settings: { hex: !settings.hex } });
}

/** The stop mode is fixed for a session: this applies to the next one. */
async function toggleNonStop(): Promise<void> {
  const configuration = vscode.workspace.getConfiguration(TYPE);
  const { nonStop, ...others } = configuration.get<{ nonStop?: boolean }>("defaults", {});
  const isOn = nonStop !== true;
  const target = vscode.workspace.workspaceFolders
    ? vscode.ConfigurationTarget.Workspace
    : vscode.ConfigurationTarget.Global;
  await configuration.update("defaults", isOn ? { ...others, nonStop: true } : others, target);
  const session = vscode.debug.activeDebugSession;
  const text = isOn
    ? "Stillpoint: non-stop mode from the next session on."
    : "Stillpoint: all-stop mode from the next session on.";
  const restart = "Restart Now";
  const buttons = session?.type === TYPE && session.configuration.request === "launch" ? [restart] : [];
  const answer = await vscode.window.showInformationMessage(text, ...buttons);
  if (answer === restart && session !== undefined) {
    const { workspaceFolder, configuration } = session;
    await vscode.debug.stopDebugging(session);
    await vscode.debug.startDebugging(workspaceFolder, { ...configuration, nonStop: isOn });
  }
}

async function attach(): Promise<void> {
  const pid = await pickProcess();
  if (pid !== undefined) {
    const name = `Process ${pid}`;
    await vscode.debug.startDebugging(undefined, { type: TYPE, request: "attach", name, pid });
  }
}

async function openCore(): Promise<void> {
  const picked = await vscode.window.showOpenDialog({ title: "The core file" });
  const coreFile = picked?.[0]?.fsPath;
  if (coreFile !== undefined) {
    const name = `Core ${picked?.[0]?.path.split("/").at(-1)}`;
    await vscode.debug.startDebugging(undefined, { type: TYPE, request: "attach", name, coreFile });
  }
}

/** Registers them. */
export function register(): vscode.Disposable[] {
  const all: Record<string, () => unknown> = {
    attach,
    openCore,
    pickProcess: async () => (await pickProcess())?.toString(),
    toggleHex,
    toggleNonStop,
  };
  return Object.entries(all).map(([name, command]) =>
    vscode.commands.registerCommand(`${TYPE}.${name}`, command),
  );
}
