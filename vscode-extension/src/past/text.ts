// Past stops and what has changed since, as text. Independent of the editor.

import type { Change, Past, PastChanges, PastStop } from "./reply";

/** The longest change that is written in one line, in characters. */
const ONE_LINE = 100;

/** A row of the list. */
export interface Row {
  label: string;
  description: string;
  /** Undefined: there is nothing later to compare with. */
  comparedWith?: PastStop;
  stop: PastStop;
}

/** Returns how long ago a stop was; `seconds` may have a fraction. */
export function age(seconds: number): string {
  if (seconds < 1) {
    return `${Math.round(seconds * 1000)} ms`;
  }
  if (seconds < 120) {
    return `${Math.round(seconds)} s`;
  }
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

function fileOf(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
}

/** Returns the name of a file and the line; undefined: one of them is not known. */
export function fileAndLine({ path, line }: { path?: string; line?: number }): string | undefined {
  return path === undefined || line === undefined ? undefined : `${fileOf(path)}:${line}`;
}

function event({ reason, function: name }: PastStop): string {
  return name === undefined ? reason : `${reason} in ${name}`;
}

/** Returns reason, function and line of a stop. */
export function sentence(stop: PastStop): string {
  return [event(stop), fileAndLine(stop)].filter((part) => part !== undefined).join(", ");
}

/** Returns the stop that is shown if it is not the present one. */
export const shownPast = (stops: PastStop[]): PastStop | undefined =>
  stops.find(({ isShown, isPresent }) => isShown && !isPresent);

/**
 * Returns the stop with which an earlier one is compared: the one that is shown, or the last one if that
 * is not later. Undefined: there is no later one.
 */
export function comparedWith(stops: PastStop[], stop: PastStop): PastStop | undefined {
  const shown = stops.find(({ isShown }) => isShown);
  const later = shown !== undefined && shown.number > stop.number ? shown : stops.at(-1);
  return later !== undefined && later.number > stop.number ? later : undefined;
}

/** Returns the rows of the list, the latest first. `stops` are oldest first. */
export function rows(stops: PastStop[]): Row[] {
  return stops.toReversed().map((stop) => {
    const when = stop.isPresent ? "present" : `${age(stop.age)} ago`;
    const mark = stop.isShown ? "$(debug-stackframe)" : "$(blank)";
    return {
      label: `${mark} ${stop.number}  ${event(stop)}`,
      description: [fileAndLine(stop), when].filter((part) => part !== undefined).join(" · "),
      comparedWith: comparedWith(stops, stop),
      stop,
    };
  });
}

/** Returns whether something else than the present is shown: a past stop, or a place in a recording. */
export const isPast = ({ stops, recording }: Past): boolean =>
  shownPast(stops) !== undefined || recording?.position !== undefined;

/** What the status bar shows. */
export interface Status {
  text: string;
  tooltip: string;
  /** What a click does: it lists the stops, or returns to the present. */
  click: "list" | "present";
}

/** Returns what the status bar shows; undefined: nothing, as the present is shown. */
export function status({ stops, recording }: Past): Status | undefined {
  const shown = shownPast(stops);
  if (shown !== undefined) {
    const last = stops.at(-1)?.number;
    return {
      text: `$(history) Past stop ${shown.number} of ${last}`,
      tooltip: `${sentence(shown)}. The program itself waits at stop ${last}, unchanged.`,
      click: "list",
    };
  }
  if (recording?.position !== undefined) {
    const { position, events } = recording;
    return {
      text: "$(history) In the past: return to the present",
      tooltip:
        `After ${position} of the ${events} system calls and signals that were recorded. Steps and Continue go ` +
        "forward, up to the present; a click returns there at once. The program itself waits there, unchanged.",
      click: "present",
    };
  }
  return undefined;
}

/** Returns the title of what has changed between two stops. */
export const titleOfChanges = (from: PastStop, to: PastStop): string =>
  `Changes from stop ${from.number} to stop ${to.number}`;

function changed({ name, before, after }: Change): string[] {
  const whole = `  ${name}: ${before} → ${after}`;
  const isShort = whole.length <= ONE_LINE && !whole.includes("\n");
  return isShort ? [whole] : [`  ${name}:`, `    before: ${before}`, `    after:  ${after}`];
}

/** Returns what has changed between two stops, with both stops above. */
export function textOfChanges(from: PastStop, to: PastStop, changes: PastChanges): string {
  const width = String(to.number).length;
  const head = [from, to].map((stop) => `stop ${String(stop.number).padStart(width)}: ${sentence(stop)}`);
  const moved = [];
  if (changes.left.length > 0) {
    moved.push(`returned: ${changes.left.join(", ")}`);
  }
  if (changes.entered.length > 0) {
    moved.push(`called: ${changes.entered.join(", ")}`);
  }
  const parts = [head, moved];
  for (const { function: name, variables } of changes.frames) {
    parts.push([`${name}:`, ...variables.flatMap(changed)]);
  }
  if (changes.globals.length > 0) {
    parts.push(["globals:", ...changes.globals.flatMap(changed)]);
  }
  if (changes.frames.length === 0 && changes.globals.length === 0) {
    parts.push(["No variable of these frames and their files has changed."]);
  }
  if (changes.omitted > 0) {
    parts.push([`… ${changes.omitted} more`]);
  }
  const blocks = parts.filter((part) => part.length > 0);
  return `${blocks.map((block) => block.join("\n")).join("\n\n")}\n`;
}
