// What the panel of a tracepoint shows, as data. Independent of the editor.

import { parts } from "./csv";
import type { Point } from "./history";
import type { Shown, Target } from "./nodes";
import * as numbers from "./numbers";
import { bare, framesOf, hasBuckets, type Row, type Table, type Trace } from "./reply";
import { merged, range } from "./statistics";
import { hits } from "./summary";

/** A text, and where a click on it leads. */
export interface Text {
  text: string;
  target?: Target;
}

/** Rows of texts. */
export interface Grid {
  title: string;
  header: string[];
  rows: Text[][][];
  /** What is left out. */
  note?: string;
  /** The part of the CSV that has it all. */
  part?: string;
}

export interface Bar {
  label: string;
  count: number;
  /** The number and its share. */
  text: string;
}

export interface Bars {
  title: string;
  bars: Bar[];
  part?: string;
}

/** The panel. */
export interface Model {
  place: string;
  target?: Target;
  query: string;
  status: string;
  message?: string;
  rates: Point[];
  tables: Grid[];
  histograms: Bars[];
  /** The last records, newest first. */
  records?: Grid;
  /** Whether there is anything to export. */
  hasData: boolean;
}

/** What the page sends to the extension. */
export type Request = { ready: true } | { target: Target } | { part: string };

const ROWS = 200;
const RECORDS = 200;
/** Rows whose histograms are shown one by one. */
const HISTOGRAMS = 6;

/** Returns what the panel shows of a tracepoint. */
export function model(shown: Shown): Model {
  const { trace, history, place, query, target, isRunning } = shown;
  const rates = history?.points() ?? [];
  const usual = { place, target, query, rates };
  if (trace === undefined) {
    const { message } = shown;
    return { ...usual, status: "not hit yet", message, tables: [], histograms: [], hasData: false };
  }
  const rate = isRunning ? history?.rate() : undefined;
  const now = rate === undefined ? "" : `, ${numbers.perSecond(rate)}`;
  const names = new Map(parts(trace, rates).map(({ title, name }) => [title, name]));
  const part = (title: string) => names.get(title);
  return {
    ...usual,
    status: hits(trace.hits) + now,
    message:
      trace.failed === undefined
        ? trace.message
        : `${hits(trace.failed.hits)} failed: ${trace.failed.message}`,
    tables: trace.tables
      .filter(({ rows }) => rows.length > 0)
      .flatMap((table) => gridOf(table, trace.hits, part)),
    histograms: trace.tables.flatMap((table) => histogramsOf(table, part)),
    records: recordsOf(trace, target, part),
    hasData: names.size > 0,
  };
}

type PartOf = (title: string) => string | undefined;

const by = (table: Table): string => (table.keys.length === 0 ? "" : ` by ${table.keys.join(", ")}`);

function histogramsOf(table: Table, part: PartOf): Bars[] {
  return table.columnKinds.flatMap(({ aggregate, unit }, at) => {
    if (!hasBuckets(aggregate) || table.rows.length === 0) {
      return [];
    }
    const title = table.columns[at];
    const own = part(title + by(table));
    const of = (row: Row) => row.cells[at]?.histogram ?? [];
    if (table.keys.length > 0 && table.rows.length <= HISTOGRAMS) {
      return table.rows.map((row) => ({
        title: `${title}, ${row.keys.map(bare).join(", ")}`,
        bars: barsOf(of(row), unit),
        part: own,
      }));
    }
    const whole = merged([...table.rows, ...(table.others ? [table.others] : [])].map(of));
    return [{ title, bars: barsOf(whole, unit), part: own }];
  });
}

function barsOf(buckets: ReturnType<typeof merged>, unit: string | undefined): Bar[] {
  const all = buckets.reduce((sum, { count }) => sum + count, 0);
  return buckets.map((bucket) => ({
    label: range(bucket, unit),
    count: bucket.count,
    text: `${numbers.grouped(bucket.count)} (${numbers.share(bucket.count, all)})`,
  }));
}

function gridOf(table: Table, all: number, part: PartOf): Grid[] {
  const isPlain = table.columnKinds.map(({ aggregate }) => !hasBuckets(aggregate) && aggregate !== "count");
  const names = table.columns.filter((_, at) => isPlain[at]);
  if (table.keys.length === 0 && names.length === 0) {
    return [];
  }
  const rows = table.rows.slice(0, ROWS).map((row) => rowOf(table, row, isPlain, all));
  if (table.others !== undefined) {
    const others = { ...table.others, keys: table.keys.map(() => "(others)") };
    rows.push(rowOf(table, others, isPlain, all));
  }
  const left = table.allRows - Math.min(table.rows.length, ROWS);
  const columns = table.columns.filter((_, at) => !hasBuckets(table.columnKinds[at]?.aggregate ?? ""));
  const title = (columns.join(", ") || "hits") + by(table);
  return [
    {
      title,
      header: [...table.keys, "hits", ...(table.keys.length > 0 ? ["share"] : []), ...names],
      rows,
      note: left > 0 ? `${numbers.grouped(left)} more rows` : undefined,
      part: part(title),
    },
  ];
}

function rowOf(table: Table, row: Row, isPlain: boolean[], all: number): Text[][] {
  const keys = row.keys.map((key, at): Text[] => {
    switch (table.keyKinds[at]) {
      case "stack":
      case "path":
        return framesOf(key).map((name) => ({ text: name, target: { function: name } }));
      case "function":
        return [{ text: key, target: { function: key } }];
      default:
        return [{ text: bare(key) }];
    }
  });
  const cells = row.cells
    .map(({ text, number }, at) => numbers.value(number, text, table.columnKinds[at]?.unit))
    .filter((_, at) => isPlain[at]);
  const shares = table.keys.length > 0 ? [numbers.share(row.hits, all)] : [];
  const texts = [numbers.grouped(row.hits), ...shares, ...cells];
  return [...keys, ...texts.map((text) => [{ text }])];
}

function recordsOf(trace: Trace, target: Target | undefined, part: PartOf): Grid | undefined {
  if (trace.records.length === 0) {
    return undefined;
  }
  const newest = trace.records.slice(-RECORDS).reverse();
  const rows = newest.map(({ time, threadId, values }): Text[][] => [
    [{ text: `${time.toFixed(6)} s`, target }],
    [{ text: threadId === undefined ? "" : String(threadId) }],
    ...values.map((text) => [{ text }]),
  ]);
  const left = trace.allRecords - newest.length;
  return {
    title: "last values",
    header: ["time", "thread", ...trace.recorded],
    rows,
    note: left > 0 ? `${numbers.grouped(left)} earlier ones` : undefined,
    part: part("the last records"),
  };
}
