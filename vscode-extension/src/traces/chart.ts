// The rate over time as a line. Independent of the editor and of the page.

import type { Point } from "./history";
import { short } from "./numbers";

/** A line within a width and a height, with the texts of its axes. */
export interface Line {
  /** The path, as in SVG; empty: too few points. */
  path: string;
  /** The highest rate. */
  most: string;
  from: string;
  to: string;
}

/** Draws rates: the time to the right, the highest rate at the top. */
export function line(points: Point[], width: number, height: number): Line {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined || last === first) {
    return { path: "", most: "", from: "", to: "" };
  }
  const most = Math.max(...points.map(({ rate }) => rate));
  const across = (seconds: number) => ((seconds - first.seconds) / (last.seconds - first.seconds)) * width;
  const up = (rate: number) => height - (most > 0 ? (rate / most) * height : 0);
  const path = points.map(
    ({ seconds, rate }, at) => `${at === 0 ? "M" : "L"}${across(seconds).toFixed(1)} ${up(rate).toFixed(1)}`,
  );
  return {
    path: path.join(" "),
    most: `${short(most)}/s`,
    from: `${first.seconds.toFixed(1)} s`,
    to: `${last.seconds.toFixed(1)} s`,
  };
}
