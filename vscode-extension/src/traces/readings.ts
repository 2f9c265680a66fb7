// Reads what tracepoints have recorded while something shows it and the program runs, at each stop,
// and at the end. The last numbers of a session stay until the next one begins.

import * as vscode from "vscode";
import { TYPE } from "../configurations";
import type { Message } from "../relay";
import type { Place, Shown, Target } from "./nodes";
import { after, type Progress } from "./progress";
import { Recorded } from "./recorded";
import { functionsIn, read, type Trace } from "./reply";
import { type Tracepoint, tracepoints } from "./tracepoints";

/** A custom request, and the event of the same body. */
const TRACES = "stillpoint/traces";
/** Time between two readings, in milliseconds. */
const INTERVAL = 400;
/** What a reading has at most of each tracepoint. */
const MOST = { rows: 200, records: 500, atEnd: true };

/** A custom request. */
const FUNCTION = "stillpoint/functionSource";
/** Functions of stacks whose sources are asked for at a reading, and in a session. */
const FUNCTIONS = [32, 2000];
/** As many rows or records as the debugger returns. */
const ALL = 16_384;

/** A session, and what its tracepoints have recorded. */
interface Run {
  session: vscode.DebugSession;
  recorded: Recorded;
  progress: Progress;
  isReading: boolean;
  isStale: boolean;
  /** Whether the debugger has sent the numbers of the end: a reading that arrives later is older. */
  isFinal: boolean;
  /** Where functions of stacks are; undefined: nowhere. */
  functions: Map<string, Place | undefined>;
  timer?: NodeJS.Timeout;
}

/** A tracepoint of the editor, or one that only the debugger knows, as it is shown. */
export type Entry = Shown & { tracepoint?: Tracepoint };

export class Readings implements vscode.DebugAdapterTrackerFactory, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  /** Tracepoints or their readings have changed. */
  readonly onDidChange = this.changed.event;
  private readonly runs = new Map<string, Run>();
  /** The one that is shown if no session of this debugger is selected. */
  private last: Run | undefined;
  private readonly watchers = new Set<() => boolean>();
  private readonly subscriptions: vscode.Disposable[];

  constructor() {
    this.subscriptions = [
      this.changed,
      vscode.debug.registerDebugAdapterTrackerFactory(TYPE, this),
      // An edit removes a breakpoint and adds another one: only both together are a change.
      vscode.debug.onDidChangeBreakpoints(() => setImmediate(() => this.refresh())),
      vscode.debug.onDidChangeActiveDebugSession(() => this.refresh()),
      vscode.debug.onDidTerminateDebugSession((session) => this.forget(session)),
    ];
  }

  /** Adds something that shows readings: the program is read while any is seen. */
  watch(isSeen: () => boolean): vscode.Disposable {
    this.watchers.add(isSeen);
    return { dispose: () => this.watchers.delete(isSeen) };
  }

  createDebugAdapterTracker(session: vscode.DebugSession): vscode.DebugAdapterTracker {
    const run: Run = {
      session,
      recorded: new Recorded(),
      progress: "starting",
      isReading: false,
      isStale: false,
      isFinal: false,
      functions: new Map(),
    };
    this.runs.set(session.id, run);
    this.last = run;
    this.changed.fire();
    return {
      onDidSendMessage: (message: Message) => this.take(run, message),
      onExit: () => this.end(run),
    };
  }

  /** The session whose readings are shown. */
  session(): vscode.DebugSession | undefined {
    const run = this.run();
    return run === undefined || run.progress === "over" ? undefined : run.session;
  }

  /** All tracepoints, with what they have recorded in that session. */
  entries(): Entry[] {
    const run = this.run();
    const isRunning = run?.progress === "running";
    const own = tracepoints();
    const found = own.map((tracepoint) => {
      const { key, query, place, target, breakpoint } = tracepoint;
      const trace = run?.recorded.find(key, target ? { query, ...target } : { query, function: place });
      return {
        tracepoint,
        trace,
        key,
        query,
        place,
        message: run?.recorded.message(key),
        isEnabled: breakpoint.enabled,
        target: target ?? targetOf(trace),
      };
    });
    const known = new Set(found.map(({ trace }) => trace?.id));
    const others = (run?.recorded.traces ?? []).filter(({ id }) => !known.has(id));
    const all: Omit<Entry, "isRunning">[] = [
      ...found,
      ...others.map((trace) => ({
        trace,
        key: `trace ${trace.id}`,
        query: trace.query,
        place: trace.location ?? `tracepoint ${trace.id}`,
        isEnabled: true,
        target: targetOf(trace),
      })),
    ];
    return all.map((entry) => {
      const history = entry.trace && run?.recorded.history(entry.trace.id);
      return { ...entry, history, isRunning };
    });
  }

  /** Where a target is: also of a function, once it was read in a stack, and after the session's end. */
  placeOf(target: Target | undefined): Place | undefined {
    return target !== undefined && "function" in target ? this.run()?.functions.get(target.function) : target;
  }

  /** Reads all rows and records of a tracepoint, if its session is not over. */
  async whole(entry: Entry): Promise<Entry> {
    const session = this.session();
    if (session === undefined || entry.trace === undefined) {
      return entry;
    }
    const wanted = { id: entry.trace.id, rows: ALL, records: ALL };
    const body = await session.customRequest(TRACES, wanted).then(
      (body) => body,
      () => undefined,
    );
    return { ...entry, trace: read(body)[0] ?? entry.trace };
  }

  /** Reads now, and again while the program runs and something is seen. */
  refresh(): void {
    this.changed.fire();
    const run = this.run();
    if (run !== undefined) {
      void this.read(run);
    }
  }

  dispose(): void {
    for (const run of this.runs.values()) {
      clearTimeout(run.timer);
    }
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private run(): Run | undefined {
    const active = vscode.debug.activeDebugSession;
    return (active && this.runs.get(active.id)) ?? this.last;
  }

  private take(run: Run, message: Message): void {
    if (message.type === "event" && message.event === TRACES) {
      run.recorded.take(read(message.body));
      run.isFinal = true;
      this.changed.fire();
      return;
    }
    const before = run.progress;
    run.progress = after(before, message);
    if (run.progress === "running" && (before !== "running" || message.command === "restart")) {
      run.isFinal = false;
    }
    const isConfigured = message.type === "event" && message.event === "initialized";
    // The numbers of breakpoints are asked for while there is a session, and the end is ordered.
    if (isConfigured || run.progress !== before) {
      void this.read(run);
      this.changed.fire();
    }
  }

  private async read(run: Run): Promise<void> {
    clearTimeout(run.timer);
    if (run.progress === "over" || run.isReading) {
      // What is being read may be older than a stop.
      run.isStale = run.isReading;
      return;
    }
    run.isReading = true;
    try {
      const body = await run.session.customRequest(TRACES, MOST);
      if (!run.isFinal) {
        run.recorded.take(read(body));
      }
      await this.learnNumbers(run);
      await this.findFunctions(run);
    } catch {
      // The session is about to end or to begin; its debugger may be an older one.
    }
    run.isReading = false;
    this.changed.fire();
    if (run.isStale) {
      run.isStale = false;
      void this.read(run);
      return;
    }
    if (run.progress === "running" && [...this.watchers].some((isSeen) => isSeen())) {
      clearTimeout(run.timer);
      run.timer = setTimeout(() => void this.read(run), INTERVAL);
    }
  }

  private async learnNumbers(run: Run): Promise<void> {
    for (const { key, breakpoint } of tracepoints()) {
      if (!run.recorded.knows(key) && breakpoint.enabled) {
        const known = await run.session.getDebugProtocolBreakpoint(breakpoint);
        const { id, message } = (known ?? {}) as { id?: number; message?: string };
        if (id !== undefined) {
          run.recorded.know(key, id, message);
        }
      }
    }
  }

  private async findFunctions(run: Run): Promise<void> {
    const [atOnce, most] = FUNCTIONS;
    const isNew = (name: string) => !run.functions.has(name);
    const names = functionsIn(run.recorded.traces).filter(isNew).slice(0, atOnce);
    for (const name of run.functions.size < most ? names : []) {
      const { path, line } = (await run.session.customRequest(FUNCTION, { name })) ?? {};
      run.functions.set(name, path === undefined ? undefined : { path, line });
    }
  }

  private end(run: Run): void {
    run.progress = "over";
    clearTimeout(run.timer);
    this.changed.fire();
  }

  private forget(session: vscode.DebugSession): void {
    const run = this.runs.get(session.id);
    if (run !== undefined) {
      this.runs.delete(session.id);
      this.end(run);
    }
  }
}

function targetOf(trace: Trace | undefined): Place | undefined {
  return trace?.path !== undefined && trace.line !== undefined
    ? { path: trace.path, line: trace.line }
    : undefined;
}
