// Numbers as text. Independent of the editor.

/** Returns an integer, given as a number or as exact text, with commas: `12,408,113`. */
export function grouped(number: number | string): string {
  const text = typeof number === "number" ? Math.round(number).toString() : number;
  return /^-?\d+$/.test(text) ? text.replace(/\B(?=(\d{3})+$)/g, ",") : text;
}

const PREFIXES: [number, string][] = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/** Returns a number with three digits: `6.52M`, `41.3`, `0.25`. */
export function short(number: number): string {
  if (Math.abs(number) >= 1e15) {
    return number.toExponential(2);
  }
  const [size, prefix] = PREFIXES.find(([size]) => Math.abs(number) >= size * 0.9995) ?? [1, ""];
  const scaled = number / size;
  if (scaled !== 0 && Math.abs(scaled) < 0.01) {
    return scaled.toExponential(1);
  }
  const digits = Math.abs(scaled) >= 99.95 ? 0 : Math.abs(scaled) >= 9.995 ? 1 : 2;
  return Number(scaled.toFixed(digits)).toString() + prefix;
}

/** Returns nanoseconds as a time: `1.25 µs`. */
export function duration(nanoseconds: number): string {
  const units: [number, string][] = [
    [1e9, "s"],
    [1e6, "ms"],
    [1e3, "µs"],
  ];
  const [size, unit] = units.find(([size]) => Math.abs(nanoseconds) >= size * 0.9995) ?? [1, "ns"];
  const scaled = nanoseconds / size;
  return `${size === 1e9 && scaled >= 1000 ? grouped(scaled) : short(scaled)} ${unit}`;
}

/** Returns hits per second. */
export const perSecond = (rate: number): string => `${short(rate)}/s`;

/** Returns a value with its unit: exact text where there is none. */
export function value(number: number | undefined, text: string, unit: string | undefined): string {
  if (unit === "ns" && number !== undefined) {
    return duration(number);
  }
  const exact = grouped(text);
  return exact.length > 14 && number !== undefined ? short(number) : exact;
}

/** Returns a share in percent: `50 %`, `0.3 %`. */
export function share(part: number, whole: number): string {
  const percent = whole === 0 ? 0 : (100 * part) / whole;
  if (percent > 0 && percent < 0.05) {
    return "< 0.1 %";
  }
  const digits = percent >= 10 || percent === 0 ? 0 : 1;
  return `${percent.toFixed(digits)} %`;
}
