// The last write of a value, and where it comes from.

import * as vscode from "vscode";
import { rowsOfHops } from "./hops";
import { type Hop, type Origin, readOrigin } from "./reply";
import type { Sessions } from "./sessions";
import { valueOf } from "./value";

/** Custom requests. */
const LAST_WRITE = "stillpoint/lastWrite";
const ORIGIN = "stillpoint/origin";
const HOPS = "stillpoint/originHops";
const VISIT_HOP = "stillpoint/visitHop";

/** Goes to the last write of a value. */
export async function goToLastWrite(session: vscode.DebugSession, args: unknown[]): Promise<void> {
  const value = await valueOf(session, args, "Go to Last Write");
  await (value && session.customRequest(LAST_WRITE, value));
}

/** Goes to where a value was computed, and lists the places that it came through. */
export async function goToOrigin(sessions: Sessions, session: vscode.DebugSession, args: unknown[]): Promise<void> {
  const value = await valueOf(session, args, "Go to Origin of Value");
  if (value === undefined) {
    return;
  }
  const isFound = sessions.nextIsPast(session);
  await session.customRequest(ORIGIN, value);
  if (await isFound) {
    await listHops(session);
  }
}

/** Lists the places that a value came through, and goes to the one that is chosen. */
async function listHops(session: vscode.DebugSession): Promise<void> {
  const origin = readOrigin(await session.customRequest(HOPS, {}));
  const hop = origin.hops.length === 0 ? undefined : await choose(origin);
  if (hop !== undefined) {
    await session.customRequest(VISIT_HOP, { number: hop.number });
  }
}

async function choose(origin: Origin): Promise<Hop | undefined> {
  const chosen = await vscode.window.showQuickPick(rowsOfHops(origin), {
    title: `Origin of ${origin.name}: the last place is shown`,
    placeHolder: "The place to go to, from the last write back",
    matchOnDescription: true,
    // At a stop the source takes the focus.
    ignoreFocusOut: true,
  });
  return chosen?.hop;
}
