// Which expression a person points at in a line of source. Independent of the editor.

/** A name with the members, elements and scopes that are selected of it: `order->items[i].price`. */
const EXPRESSION = /[A-Za-z_]\w*(?:(?:->|\.|::)[A-Za-z_]\w*|\[[^\][]*\])*/g;
/** Where an expression may be cut: `order` of `order->owed`, if that word is pointed at. */
const WORD = /[A-Za-z_]\w*/g;

/**
 * Returns the expression at a column, counted from 0: up to the word there, with what the word is selected
 * of. Inside of an index it is that of the index. Undefined: there is none.
 */
export function expressionAt(line: string, column: number): string | undefined {
  for (const { 0: text, index: start } of line.matchAll(EXPRESSION)) {
    if (column < start || column > start + text.length) {
      continue;
    }
    const index = [...text.matchAll(/\[([^\][]*)\]/g)].find(
      ({ 0: whole, index: at }) => column > start + at && column < start + at + whole.length,
    );
    if (index !== undefined) {
      return expressionAt(index[1], column - start - index.index - 1);
    }
    const words = [...text.matchAll(WORD)];
    const word = words.find(({ 0: name, index: at }) => column <= start + at + name.length);
    return word === undefined ? text : text.slice(0, word.index + word[0].length);
  }
  return undefined;
}
