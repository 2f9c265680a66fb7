// Lines of block characters. Independent of the editor.

const BLOCKS = "▁▂▃▄▅▆▇█";

/** Draws the last `width` numbers, none below 0; the highest is a full block. */
export function sparkline(numbers: number[], width: number): string {
  const shown = numbers.slice(-width).map((number) => (Number.isFinite(number) ? number : 0));
  const most = Math.max(...shown, 0);
  const block = (number: number) => {
    const level = most === 0 ? 0 : Math.ceil((number / most) * (BLOCKS.length - 1));
    return BLOCKS[Math.min(Math.max(level, 0), BLOCKS.length - 1)];
  };
  return shown.map(block).join("");
}

/** Draws numbers in at most `width` blocks, of neighbours the sums. */
export function squeezed(numbers: number[], width: number): string {
  const each = Math.max(1, Math.ceil(numbers.length / width));
  const sums: number[] = [];
  numbers.forEach((number, at) => {
    const to = Math.floor(at / each);
    sums[to] = (sums[to] ?? 0) + number;
  });
  return sparkline(sums, width);
}
