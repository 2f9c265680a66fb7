// A tracepoint in one line, for the end of its source line. Independent of the editor.

import * as numbers from "./numbers";
import { bare, framesOf, namesFunctions, type Table, type Trace } from "./reply";
import { range, type Statistic, statistics } from "./statistics";

/** Groups that are named in a line. */
const GROUPS = 3;
/** Characters of a text in a line. */
const MOST = 32;

/** Returns the number of hits in words. */
export const hits = (number: number): string =>
  number === 0 ? "no hits" : number === 1 ? "1 hit" : `${numbers.grouped(number)} hits`;

/** Returns a tracepoint in one line: `12,408,113 hits · x: 0…97, mean 41`. */
export function summary(trace: Trace): string {
  const parts = [hits(trace.hits)];
  for (const table of trace.tables) {
    parts.push(
      ...statistics(table)
        .map(statistic)
        .filter((text) => text !== ""),
    );
    if (table.keys.length > 0 && table.rows.length > 0) {
      parts.push(groups(table, trace.hits));
    }
  }
  const last = trace.records.at(-1);
  if (last !== undefined) {
    const values = last.values.map((value, at) => `${trace.recorded[at]} = ${cut(value)}`);
    parts.push(`last: ${values.join(", ")}`);
  }
  if (!trace.verified && trace.hits === 0 && trace.message !== undefined) {
    return trace.message;
  }
  if (trace.failed !== undefined) {
    parts.push(`failed: ${numbers.grouped(trace.failed.hits)}`);
  }
  return parts.join(" · ");
}

/** Returns what is known of a value: `x: 0…97, mean 41`. */
function statistic({ value, min, max, mean, sum, histogram, unit }: Statistic): string {
  const parts: string[] = [];
  if (min !== undefined && max !== undefined) {
    parts.push(`${min}…${max}`);
  } else if (min !== undefined) {
    parts.push(`≥ ${min}`);
  } else if (max !== undefined) {
    parts.push(`≤ ${max}`);
  }
  if (mean !== undefined) {
    parts.push(`mean ${mean}`);
  }
  if (sum !== undefined) {
    parts.push(`sum ${sum}`);
  }
  if (histogram.length > 0 && parts.length === 0) {
    const all = histogram.reduce((sum, { count }) => sum + count, 0);
    const most = histogram.reduce((one, other) => (other.count > one.count ? other : one));
    parts.push(`${range(most, unit)} in ${numbers.share(most.count, all)}`);
  }
  return parts.length === 0 ? "" : `${value}: ${parts.join(", ")}`;
}

function groups(table: Table, all: number): string {
  const texts = table.rows
    .slice(0, GROUPS)
    .map((row) => `${cut(keyText(table, row.keys))} ${numbers.share(row.hits, all)}`);
  return texts.join(", ") + (table.allRows > GROUPS ? ", …" : "");
}

/** Returns the keys of a row as text; of a stack, the innermost function and its caller. */
export function keyText(table: Table, keys: string[]): string {
  const texts = keys.map((key, at) =>
    namesFunctions(table.keyKinds[at]) ? framesOf(key).slice(0, 2).join(" ← ") : bare(key),
  );
  return texts.join(", ");
}

/** Shortens a text. */
export const cut = (text: string, most = MOST): string =>
  [...text].length > most ? `${[...text].slice(0, most - 1).join("")}…` : text;
