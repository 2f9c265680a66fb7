// Processes to attach to, from /proc.

import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";

/** A process whose executable this user may read. */
export interface Process {
  pid: number;
  name: string;
  command: string;
}

/** Lists all processes except this editor's, newest first. */
export function processes(proc = "/proc"): Process[] {
  const found: Process[] = [];
  for (const entry of fs.readdirSync(proc)) {
    const pid = Number(entry);
    if (!Number.isInteger(pid) || pid === process.pid) {
      continue;
    }
    try {
      const file = fs.readlinkSync(path.join(proc, entry, "exe"));
      const line = fs.readFileSync(path.join(proc, entry, "cmdline"), "utf8");
      const command = line.split("\0").join(" ").trim();
      found.push({ pid, name: path.basename(file), command });
    } catch {
      // It has ended, is a kernel thread, or belongs to another user.
    }
  }
  return found.sort((a, b) => b.pid - a.pid);
}

/** Lets the user pick one. */
export async function pickProcess(): Promise<number | undefined> {
  const items = processes().map(({ pid, name, command }) => ({
    label: name,
    description: String(pid),
    detail: command,
    pid,
  }));
  const picked = await vscode.window.showQuickPick(items, {
    placeHolder: "The process to attach to",
    matchOnDescription: true,
    matchOnDetail: true,
  });
  return picked?.pid;
}
