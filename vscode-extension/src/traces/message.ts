// How a tracepoint is written as a breakpoint: a log message, or the condition of a breakpoint on a
// function, that is nothing but `{:trace QUERY}`. Independent of the editor.

/** Returns the query of such a text; undefined: it is an ordinary one. */
export function queryIn(text: string | undefined): string | undefined {
  const inside = /^\s*\{:trace(?:\s+([\s\S]*))?\}\s*$/.exec(text ?? "");
  return inside === null ? undefined : (inside[1] ?? "").trim();
}

/** Returns the text of a query. */
export const withQuery = (query: string): string => `{:trace ${query.trim() || "count()"}}`;
