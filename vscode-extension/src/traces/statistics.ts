// What a table says of each value, over all its rows. Independent of the editor.

import type { Bucket, Row, Table } from "./reply";
import * as numbers from "./numbers";

/** What is known of a value. */
export interface Statistic {
  value: string;
  /** As text, with the unit. */
  min?: string;
  max?: string;
  mean?: string;
  sum?: string;
  histogram: Bucket[];
  unit?: string;
}

/** Returns the statistics of a table's values, in the order of its columns. */
export function statistics(table: Table): Statistic[] {
  const rows = [...table.rows, ...(table.others ? [table.others] : [])];
  const all = new Map<string, Statistic>();
  table.columnKinds.forEach(({ aggregate, value, unit }, at) => {
    if (value === undefined) {
      return;
    }
    const known = all.get(value) ?? { value, histogram: [], unit };
    all.set(value, known);
    switch (aggregate) {
      case "min":
        known.min = extreme(rows, at, unit, (one, other) => one < other);
        break;
      case "max":
        known.max = extreme(rows, at, unit, (one, other) => one > other);
        break;
      case "mean":
        known.mean = mean(rows, at, unit);
        break;
      case "sum":
        known.sum = sum(rows, at, unit);
        break;
      case "hist":
        known.histogram = merged(rows.map((row) => row.cells[at]?.histogram ?? []));
        break;
    }
  });
  return [...all.values()];
}

function extreme(
  rows: Row[],
  at: number,
  unit: string | undefined,
  isBetter: (one: number, other: number) => boolean,
): string | undefined {
  let best: { number: number; text: string } | undefined;
  for (const row of rows) {
    const { number, text } = row.cells[at] ?? {};
    if (number !== undefined && (best === undefined || isBetter(number, best.number))) {
      best = { number, text: text ?? "" };
    }
  }
  return best && numbers.value(best.number, best.text, unit);
}

/** The mean of the rows' means, by their hits: exact if each hit had a value. */
function mean(rows: Row[], at: number, unit: string | undefined): string | undefined {
  const known = rows.filter((row) => row.cells[at]?.number !== undefined);
  const [only] = known;
  if (known.length === 1) {
    return numbers.value(only.cells[at].number, only.cells[at].text, unit);
  }
  const hits = known.reduce((all, row) => all + row.hits, 0);
  if (hits === 0) {
    return undefined;
  }
  const all = known.reduce((all, row) => all + (row.cells[at].number ?? 0) * row.hits, 0);
  return unit === "ns" ? numbers.duration(all / hits) : numbers.short(all / hits);
}

function sum(rows: Row[], at: number, unit: string | undefined): string | undefined {
  const known = rows.map((row) => row.cells[at]).filter((cell) => cell?.number !== undefined);
  if (known.length === 0) {
    return undefined;
  }
  const isWhole = known.every(({ text }) => /^-?\d+$/.test(text));
  const number = known.reduce((all, cell) => all + (cell.number ?? 0), 0);
  const text = isWhole
    ? known.reduce((all, cell) => all + BigInt(cell.text), 0n).toString()
    : numbers.short(number);
  return numbers.value(number, text, unit);
}

/** Adds histograms of one scale: buckets with the same bounds are one. */
export function merged(histograms: Bucket[][]): Bucket[] {
  const all = new Map<string, Bucket>();
  for (const { from, to, count } of histograms.flat()) {
    const name = `${from} ${to}`;
    const known = all.get(name) ?? { from, to, count: 0 };
    all.set(name, { ...known, count: known.count + count });
  }
  return [...all.values()].sort((one, other) => low(one) - low(other));
}

const low = ({ from, to }: Bucket): number => Math.min(from ?? -Infinity, to ?? Infinity);

/** Returns the values that a bucket has, as text. */
export function range({ from, to }: Bucket, unit?: string): string {
  const text = (number: number) => numbers.value(number, String(number), unit);
  if (from === undefined && to === undefined) {
    return "all";
  }
  if (from === undefined) {
    return `< ${text(to ?? 0)}`;
  }
  if (to === undefined) {
    return `≥ ${text(from)}`;
  }
  const isWhole = Number.isInteger(from) && Number.isInteger(to);
  const last = isWhole && unit === undefined ? to - Math.sign(to - from) : to;
  return last === from ? text(from) : `${text(from)}…${text(last)}`;
}
