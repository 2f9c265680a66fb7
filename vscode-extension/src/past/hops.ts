// The way back to the origin of a value, as rows. Independent of the editor.

import type { Hop, Origin } from "./reply";
import { fileAndLine } from "./text";

/** A row of the list. */
export interface HopRow {
  label: string;
  description: string;
  hop: Hop;
}

/** Returns the rows of the list, the last write first. */
export function rowsOfHops({ hops }: Origin): HopRow[] {
  return hops.map((hop) => ({
    label: `${hop.number}  ${hop.value}  ${hop.text}`,
    description: [hop.function && `in ${hop.function}`, fileAndLine(hop)].filter(Boolean).join(", "),
    hop,
  }));
}
