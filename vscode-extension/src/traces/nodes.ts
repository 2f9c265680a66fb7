// A tracepoint as a tree, for the view. Independent of the editor.

import type { History } from "./history";
import * as numbers from "./numbers";
import { bare, framesOf, namesFunctions, type Row, type Table, type Trace } from "./reply";
import { range, statistics, type Statistic } from "./statistics";
import { squeezed, sparkline } from "./sparkline";
import { cut, hits, keyText } from "./summary";

/** A line of a source, counted from 1. */
export interface Place {
  path: string;
  line: number;
}

/** Where a node leads. */
export type Target = Place | { function: string };

/** A line of the view. */
export interface Node {
  /** Stays the same as long as it is the same thing. */
  id: string;
  kind: "tracepoint" | "value" | "group" | "frame" | "records" | "record" | "note";
  label: string;
  description?: string;
  tooltip?: string;
  target?: Target;
  children: Node[];
}

/** What the view shows of a tracepoint. */
export interface Shown {
  /** Identifies it. */
  key: string;
  /** Where it is, until the debugger says so. */
  place: string;
  query: string;
  isEnabled: boolean;
  target?: Target;
  /** Why it does not record. */
  message?: string;
  /** What has been recorded; undefined: no program has run. */
  trace?: Trace;
  history?: History;
  /** Whether the rate is the present one. */
  isRunning: boolean;
}

const GROUPS = 50;
const RECORDS = 10;
const SPARKS = 16;
/** Characters of a label. */
const LABEL = 80;

/** Returns a tracepoint with what it has recorded. */
export function nodeOf(shown: Shown): Node {
  const { key, trace, query } = shown;
  return {
    id: key,
    kind: "tracepoint",
    label: shown.place,
    description: describe(shown),
    tooltip: [trace?.location ?? shown.place, query, trace?.message ?? shown.message]
      .filter(Boolean)
      .join("\n"),
    target: shown.target,
    children: trace === undefined ? [] : childrenOf(key, trace, shown.target),
  };
}

function describe({ trace, history, query, message, isRunning, isEnabled }: Shown): string {
  if (!isEnabled) {
    return `disabled · ${query}`;
  }
  if (trace === undefined) {
    return message === undefined ? query : `${message} · ${query}`;
  }
  if (!trace.verified && trace.hits === 0 && trace.message !== undefined) {
    return `${trace.message} · ${query}`;
  }
  const line = sparkline(
    (history?.points() ?? []).map(({ rate }) => rate),
    SPARKS,
  );
  const rate = isRunning ? history?.rate() : undefined;
  const parts = [line, rate === undefined ? "" : numbers.perSecond(rate), hits(trace.hits), query];
  return parts.filter((part) => part !== "").join(" · ");
}

function childrenOf(key: string, trace: Trace, target: Target | undefined): Node[] {
  const nodes: Node[] = [];
  trace.tables.forEach((table, number) => {
    const own = `${key}/${number}`;
    nodes.push(...statistics(table).map((it) => statisticNode(`${own}/${it.value}`, it)));
    if (table.keys.length > 0) {
      nodes.push(...groupNodes(own, table, trace.hits));
    }
  });
  if (trace.records.length > 0) {
    nodes.push(recordsNode(`${key}/records`, trace, target));
  }
  const note = (name: string, label: string) =>
    nodes.push({ id: `${key}/${name}`, kind: "note", label, children: [] });
  if (trace.unreturned > 0) {
    note("unreturned", `${numbers.grouped(trace.unreturned)} calls have not returned`);
  }
  if (trace.untimed > 0) {
    const calls = trace.untimed === 1 ? "1 call is" : `${numbers.grouped(trace.untimed)} calls are`;
    note("untimed", `${calls} not timed: the debugger stopped the program there`);
  }
  if (trace.failed !== undefined) {
    note("failed", `${hits(trace.failed.hits)} failed: ${trace.failed.message}`);
  }
  if (trace.message !== undefined) {
    note("message", trace.message);
  }
  return nodes;
}

function statisticNode(id: string, { value, min, mean, max, sum, histogram, unit }: Statistic): Node {
  const parts = [min && `min ${min}`, mean && `mean ${mean}`, max && `max ${max}`, sum && `sum ${sum}`];
  if (histogram.length > 0) {
    const blocks = squeezed(
      histogram.map(({ count }) => count),
      32,
    );
    const first = range(histogram[0], unit);
    const last = range(histogram[histogram.length - 1], unit);
    parts.push(histogram.length === 1 ? `all in ${first}` : `${first} ${blocks} ${last}`);
  }
  const all = histogram.reduce((sum, { count }) => sum + count, 0);
  const children = histogram.map((bucket): Node => {
    const label = range(bucket, unit);
    const description = `${numbers.grouped(bucket.count)} (${numbers.share(bucket.count, all)})`;
    return { id: `${id}/${label}`, kind: "value", label, description, children: [] };
  });
  const description = parts.filter(Boolean).join(" · ");
  return { id, kind: "value", label: value, description, tooltip: `${value}: ${description}`, children };
}

function groupNodes(own: string, table: Table, all: number): Node[] {
  const nodes = table.rows.slice(0, GROUPS).map((row) => groupNode(own, table, row, all));
  const left = table.allRows - nodes.length;
  if (left > 0) {
    const label = `${numbers.grouped(left)} more`;
    nodes.push({ id: `${own}/more`, kind: "note", label, children: [] });
  }
  if (table.others !== undefined) {
    nodes.push({ ...groupNode(own, table, table.others, all), label: "(others)", children: [] });
  }
  return nodes;
}

function groupNode(own: string, table: Table, row: Row, all: number): Node {
  const id = `${own}/${row.keys.map(bare).join("\u0000")}`;
  const cells = row.cells.map(({ text, number, histogram }, at) => {
    const { aggregate, value, unit } = table.columnKinds[at] ?? { aggregate: "" };
    if (aggregate === "count") {
      return "";
    }
    const name = value === undefined ? aggregate : `${aggregate}(${value})`;
    const shown =
      histogram.length > 0
        ? squeezed(
            histogram.map(({ count }) => count),
            16,
          )
        : numbers.value(number, text, unit);
    return shown === "" ? "" : `${name} ${shown}`;
  });
  const head = `${hits(row.hits)} (${numbers.share(row.hits, all)})`;
  const stack = table.keyKinds.findIndex(namesFunctions);
  const frames = stack < 0 ? [] : framesOf(row.keys[stack] ?? "");
  const called = table.keyKinds.indexOf("function");
  return {
    id,
    kind: "group",
    label: cut(keyText(table, row.keys), LABEL),
    description: [head, ...cells].filter((text) => text !== "").join(" · "),
    tooltip: row.keys.map((key, at) => `${table.keys[at]}: ${key}`).join("\n"),
    target: called < 0 ? undefined : { function: row.keys[called] },
    children: frames.map((name, level) => ({
      id: `${id}/${level}`,
      kind: "frame",
      label: name,
      target: { function: name },
      children: [],
    })),
  };
}

function recordsNode(id: string, trace: Trace, target: Target | undefined): Node {
  const text = (values: string[]) => values.map((value, at) => `${trace.recorded[at]} = ${value}`).join(", ");
  const newest = trace.records.slice(-RECORDS).reverse();
  return {
    id,
    kind: "records",
    label: "last values",
    description: `${cut(text(newest[0].values), LABEL)} (of ${numbers.grouped(trace.allRecords)})`,
    children: newest.map(({ time, threadId, values }, at) => ({
      id: `${id}/${at}`,
      kind: "record",
      label: cut(text(values), LABEL),
      description: `${time.toFixed(6)} s${threadId === undefined ? "" : ` · thread ${threadId}`}`,
      tooltip: text(values),
      target,
      children: [],
    })),
  };
}
