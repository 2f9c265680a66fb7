// Elements of the page. Texts of the program under debug are texts: none is read as HTML.

import type { Text } from "../traces/model";

const SVG = "http://www.w3.org/2000/svg";

/** Makes an element with a class, and what is in it. */
export function element(tag: string, name: string, ...inside: (Node | string)[]): HTMLElement {
  const made = document.createElement(tag);
  made.className = name;
  made.append(...inside);
  return made;
}

/** Makes an element of a drawing. */
export function drawn(
  tag: string,
  attributes: Record<string, string | number>,
  ...inside: (Node | string)[]
): SVGElement {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    made.setAttribute(name, String(value));
  }
  made.append(...inside);
  return made;
}

/** Makes a button that looks like a link. */
export function link(text: string, act: () => void): HTMLElement {
  const made = element("button", "link", text);
  made.addEventListener("click", act);
  return made;
}

/** Makes texts, of which some lead somewhere. */
export function texts(all: Text[], goTo: (target: NonNullable<Text["target"]>) => void): Node[] {
  return all.flatMap(({ text, target }, at) => [
    document.createTextNode(at === 0 ? "" : " ← "),
    target === undefined ? document.createTextNode(text) : link(text, () => goTo(target)),
  ]);
}
