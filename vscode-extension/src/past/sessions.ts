// Follows which stop each session shows.

import * as vscode from "vscode";
import { TYPE } from "../configurations";
import { movementIn } from "./movement";
import { type Past, readPast } from "./reply";

/** A custom request: the stops that can be shown. */
const STOPS = "stillpoint/pastStops";

/** Time after which a running program shows no past stop any more, in milliseconds. */
const QUIET = 200;

/** What is known while the program runs. */
const NONE: Past = { stops: [] };

/** Returns what is known of a session's past. Rejects while the program runs. */
export async function pastOf(session: vscode.DebugSession): Promise<Past> {
  return readPast(await session.customRequest(STOPS, {}));
}

interface Known {
  session: vscode.DebugSession;
  /** As of the last visit of a stop; empty: no visit since the program ran. */
  past: Past;
  /** Counts movements: an answer that comes after the next one is outdated. */
  movements: number;
  /** What waits for the end of the next movement. */
  waiting: ((isPast: boolean) => void)[];
}

/** The sessions of our type. */
export class Sessions implements vscode.Disposable {
  private readonly known = new Map<string, Known>();
  private readonly changed = new vscode.EventEmitter<void>();
  /** Another stop is shown, or another session. */
  readonly onDidChange = this.changed.event;
  private readonly parts: vscode.Disposable;

  constructor() {
    this.parts = vscode.Disposable.from(
      this.changed,
      vscode.debug.registerDebugAdapterTrackerFactory(TYPE, {
        createDebugAdapterTracker: (session) => this.follow(session),
      }),
      vscode.debug.onDidChangeActiveDebugSession(() => this.changed.fire()),
      vscode.debug.onDidTerminateDebugSession(({ id }) => {
        this.known.get(id)?.waiting.forEach((resolve) => resolve(false));
        this.known.delete(id);
        this.changed.fire();
      }),
    );
  }

  dispose(): void {
    this.parts.dispose();
  }

  /** Returns a session by its id, or else the active one if it is of our type. */
  find(id?: string): vscode.DebugSession | undefined {
    const active = vscode.debug.activeDebugSession;
    return this.known.get(id ?? "")?.session ?? (active?.type === TYPE ? active : undefined);
  }

  /** Returns the past of the active session as of the last visit of a stop. */
  past(): Past {
    return this.known.get(vscode.debug.activeDebugSession?.id ?? "")?.past ?? NONE;
  }

  /** Waits for the next stop of a session, or its end. Returns whether a stop of the past is shown. */
  nextIsPast({ id }: vscode.DebugSession): Promise<boolean> {
    const own = this.known.get(id);
    return own === undefined ? Promise.resolve(false) : new Promise((resolve) => own.waiting.push(resolve));
  }

  private follow(session: vscode.DebugSession): vscode.DebugAdapterTracker {
    const own: Known = { session, past: NONE, movements: 0, waiting: [] };
    this.known.set(session.id, own);
    const onDidSendMessage = (message: unknown) => void this.take(own, message as object);
    return { onDidSendMessage };
  }

  private async take(own: Known, message: object): Promise<void> {
    const movement = movementIn(message);
    if (movement === undefined) {
      return;
    }
    if (movement !== "run") {
      own.waiting.splice(0).forEach((resolve) => resolve(movement === "visit"));
    }
    const count = ++own.movements;
    if (movement === "run") {
      // A visit is a run that ends at once: what is shown does not flicker.
      await new Promise((resolve) => setTimeout(resolve, QUIET));
    }
    // The program may have ended meanwhile.
    const past = movement === "visit" ? await pastOf(own.session).catch(() => NONE) : NONE;
    if (count === own.movements) {
      own.past = past;
      this.changed.fire();
    }
  }
}
