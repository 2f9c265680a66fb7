// What a tracepoint has recorded as CSV (RFC 4180), a file for each table. Independent of the editor.

import type { Point } from "./history";
import { hasBuckets, type Row, type Table, type Trace } from "./reply";

/** A part of a tracepoint that is a file. */
export interface Part {
  /** What it is, for people. */
  title: string;
  /** A word for the name of the file. */
  name: string;
  text: string;
}

/** Returns the parts that have rows. */
export function parts(trace: Trace, points: Point[]): Part[] {
  const all: Part[] = [];
  trace.tables.forEach((table, number) => {
    const by = table.keys.length === 0 ? "" : ` by ${table.keys.join(", ")}`;
    const suffix = trace.tables.length > 1 ? `-${number + 1}` : "";
    const isPlain = table.columnKinds.map(({ aggregate }) => !hasBuckets(aggregate));
    const hasNumbers = isPlain.includes(true) || table.columns.length === 0;
    if (hasNumbers && table.rows.length > 0) {
      const title = table.columns.filter((_, at) => isPlain[at]).join(", ") || "hits";
      all.push({ title: title + by, name: `table${suffix}`, text: tableText(table, isPlain) });
    }
    table.columns.forEach((column, at) => {
      if (!isPlain[at] && table.rows.length > 0) {
        const name = `${table.columnKinds[at].aggregate}${suffix}-${at + 1}`;
        all.push({ title: column + by, name, text: histogramText(table, at) });
      }
    });
  });
  if (trace.records.length > 0) {
    const header = ["time", "thread", ...trace.recorded];
    const rows = trace.records.map((it) => [it.time, it.threadId ?? "", ...it.values]);
    all.push({ title: "the last records", name: "records", text: lines([header, ...rows]) });
  }
  if (points.length > 0) {
    const rows = points.map(({ seconds, rate }) => [seconds, rate]);
    const text = lines([["seconds", "hits_per_second"], ...rows]);
    all.push({ title: "hits per second", name: "rate", text });
  }
  return all;
}

const OTHERS = "(others)";

const rowsOf = (table: Table): Row[] => {
  const others = table.others && { ...table.others, keys: table.keys.map(() => OTHERS) };
  return [...table.rows, ...(others ? [others] : [])];
};

function tableText(table: Table, isShown: boolean[]): string {
  const header = [...table.keys, "hits", ...table.columns.filter((_, at) => isShown[at])];
  const rows = rowsOf(table).map((row) => {
    const cells = row.cells.filter((_, at) => isShown[at]).map(({ text }) => text);
    return [...row.keys, row.hits, ...cells];
  });
  return lines([header, ...rows]);
}

function histogramText(table: Table, at: number): string {
  const header = [...table.keys, "from", "to", "count"];
  const rows = rowsOf(table).flatMap((row) =>
    (row.cells[at]?.histogram ?? []).map(({ from, to, count }) => [...row.keys, from ?? "", to ?? "", count]),
  );
  return lines([header, ...rows]);
}

const lines = (rows: (string | number)[][]): string =>
  rows.map((row) => `${row.map(field).join(",")}\r\n`).join("");

function field(value: string | number): string {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
