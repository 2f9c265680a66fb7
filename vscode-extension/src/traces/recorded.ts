// What the tracepoints of one session have recorded so far. Independent of the editor.

import { History } from "./history";
import type { Trace } from "./reply";

/** What identifies a tracepoint of the editor for the debugger, if its number is not known. */
export interface Wanted {
  query: string;
  /** Of a tracepoint on a function. */
  function?: string;
  path?: string;
  line?: number;
}

/** The last reading of each tracepoint, and its rate over time. */
export class Recorded {
  traces: Trace[] = [];
  private readonly histories = new Map<number, History>();
  private readonly ids = new Map<string, number>();
  private readonly messages = new Map<string, string>();

  /** Takes a reading of all tracepoints. */
  take(traces: Trace[]): void {
    this.traces = traces;
    const known = new Set(traces.map(({ id }) => id));
    for (const id of this.histories.keys()) {
      if (!known.has(id)) {
        this.histories.delete(id);
      }
    }
    for (const [key, id] of this.ids) {
      // Disabled, perhaps: it gets another number when it is enabled.
      if (!known.has(id)) {
        this.ids.delete(key);
      }
    }
    for (const trace of traces) {
      const history = this.histories.get(trace.id) ?? new History();
      history.add(trace);
      this.histories.set(trace.id, history);
    }
  }

  history(id: number): History | undefined {
    return this.histories.get(id);
  }

  /** Remembers the debugger's number of a breakpoint of the editor, and what the debugger says of it. */
  know(key: string, id: number, message?: string): void {
    this.ids.set(key, id);
    if (message === undefined) {
      this.messages.delete(key);
    } else {
      this.messages.set(key, message);
    }
  }

  /** Whether the number of a breakpoint is known, and it records. */
  knows(key: string): boolean {
    return this.traces.some(({ id }) => id === this.ids.get(key));
  }

  /** Why a breakpoint does not record, such as a mistake in its query. */
  message(key: string): string | undefined {
    return this.messages.get(key);
  }

  /** Returns the reading of a tracepoint of the editor; by its place, if its number is not known. */
  find(key: string, wanted: Wanted): Trace | undefined {
    const id = this.ids.get(key);
    const own = new Set(this.ids.values());
    return this.traces.find((trace) =>
      id === undefined ? !own.has(trace.id) && fits(trace, wanted) : trace.id === id,
    );
  }
}

function fits(trace: Trace, { query, function: name, path, line }: Wanted): boolean {
  const isThere = name === undefined ? trace.path === path && trace.line === line : trace.function === name;
  return isThere && trace.query === query;
}
