// What the debugger says of tracepoints: the body of `stillpoint/traces`. Independent of the editor.

/** A tracepoint, and what it has recorded. */
export interface Trace {
  id: number;
  query: string;
  /** The function, or the pattern of functions, that it was set on. */
  function?: string;
  /** `FILE:LINE` or an address. */
  location?: string;
  path?: string;
  line?: number;
  verified: boolean;
  message?: string;
  hits: number;
  /** How long ago it was set. */
  seconds: number;
  tables: Table[];
  /** The expressions whose values each record has. */
  recorded: string[];
  /** The last ones, oldest first. */
  records: TraceRecord[];
  allRecords: number;
  unreturned: number;
  untimed: number;
  failed?: { hits: number; message: string };
}

/** A row for each combination of keys. */
export interface Table {
  keys: string[];
  /** `value`, `function` or `stack`. */
  keyKinds: string[];
  columns: string[];
  columnKinds: Column[];
  /** Those with the most hits first. */
  rows: Row[];
  /** Hits of keys without a row. */
  others?: Row;
  allRows: number;
}

/** What a column is. */
export interface Column {
  aggregate: string;
  value?: string;
  unit?: string;
}

export interface Row {
  keys: string[];
  hits: number;
  cells: Cell[];
}

/** A number, a histogram, or nothing. */
export interface Cell {
  /** The number, exact. */
  text: string;
  /** The number, rounded. */
  number?: number;
  histogram: Bucket[];
}

/** A bucket of a histogram. Below 0, the bound that is nearer to 0 is `from`. */
export interface Bucket {
  from?: number;
  to?: number;
  count: number;
}

export interface TraceRecord {
  /** Seconds since the tracepoint was set. */
  time: number;
  threadId?: number;
  values: string[];
}

/** Returns whether the cells of a column have buckets: of values, or of the time since the start. */
export const hasBuckets = (aggregate: string): boolean => aggregate === "hist" || aggregate === "rate";

/** What stands between the functions of a stack, and of a path of calls. */
const CALLED_BY = " ← ";
const CALLS = " → ";

/** Returns a key without the address of its text: keys with the same text are one. */
export const bare = (key: string): string => key.replace(/^0x[0-9a-f]+ (?=")/, "");

/** Returns whether a key of this kind names several functions. */
export const namesFunctions = (kind: string | undefined): boolean =>
  kind === "stack" || kind === "path";

/** Returns the functions of a key that is a stack or a path of calls, innermost first. */
export const framesOf = (key: string): string[] =>
  key.includes(CALLS) ? key.split(CALLS).reverse() : key.split(CALLED_BY);

/** Returns the functions that the keys of tracepoints name, each once. */
export function functionsIn(traces: Trace[]): string[] {
  const names = new Set<string>();
  for (const { keyKinds, rows } of traces.flatMap(({ tables }) => tables)) {
    keyKinds.forEach((kind, at) => {
      if (kind !== "value") {
        rows.flatMap(({ keys }) => framesOf(keys[at] ?? "")).forEach((name) => names.add(name));
      }
    });
  }
  return [...names];
}

/** Reads a body. Lists that are empty may be missing in it. */
export function read(body: unknown): Trace[] {
  const all = (body as { traces?: Partial<Trace>[] } | undefined)?.traces ?? [];
  return all.map((trace) => ({
    ...trace,
    id: trace.id ?? 0,
    query: (trace.query ?? "").trim(),
    verified: trace.verified ?? false,
    message: trace.message,
    hits: trace.hits ?? 0,
    seconds: trace.seconds ?? 0,
    tables: (trace.tables ?? []).map(table),
    recorded: trace.recorded ?? [],
    records: trace.records ?? [],
    allRecords: trace.allRecords ?? 0,
    unreturned: trace.unreturned ?? 0,
    untimed: trace.untimed ?? 0,
  }));
}

function table(table: Partial<Table>): Table {
  const columns = table.columns ?? [];
  const keys = table.keys ?? [];
  return {
    keys,
    keyKinds: table.keyKinds ?? keys.map(() => "value"),
    columns,
    columnKinds: table.columnKinds ?? columns.map((name) => ({ aggregate: name })),
    rows: (table.rows ?? []).map(row),
    others: table.others && row(table.others),
    allRows: table.allRows ?? 0,
  };
}

function row(row: Partial<Row>): Row {
  const cells = (row.cells ?? []).map((cell: Partial<Cell>) => ({
    text: cell.text ?? "",
    number: cell.number,
    histogram: cell.histogram ?? [],
  }));
  return { keys: row.keys ?? [], hits: row.hits ?? 0, cells };
}
