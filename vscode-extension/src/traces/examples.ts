// Queries that fit a line of source. Independent of the editor.

/** A query, and what it is good for. */
export interface Example {
  query: string;
  description: string;
}

/** Values of a line that are offered. */
const VALUES = 4;

const NO_VALUES = new Set(
  (
    "alignas alignof and as async auto await bool break case catch char class const const_cast constexpr " +
    "continue crate decltype default delete do double dyn dynamic_cast else enum explicit extern false " +
    "final float fn for friend goto if impl in inline int let long loop match mod move mut namespace " +
    "new noexcept not nullptr operator or override private protected pub public ref register " +
    "reinterpret_cast restrict return Self short signed size_t sizeof static static_cast struct super " +
    "switch template throw trait true try type typedef typename union unsafe unsigned use using virtual " +
    "void volatile wchar_t where while NULL None Some Ok Err i8 i16 i32 i64 i128 isize u8 u16 u32 u64 " +
    "u128 usize f32 f64 str"
  ).split(" "),
);

/** A type before a name, not `a * b`. */
const QUALIFIERS = String.raw`(?:(?:const|static|struct|enum|unsigned|signed|volatile)\s+)*`;
const TYPE = String.raw`${QUALIFIERS}[A-Za-z_][\w:]*(?:<[^<>]*>)?(?:\s+[*&]*|[*&]+\s*)`;
const NO_TYPE = String.raw`(?!(?:return|else|case|delete|throw|goto|using|in)\b)`;
/** What a line declares has no value before it: everything up to the name. */
const DECLARATIONS = [
  new RegExp(String.raw`^\s*(?:for\s*\(\s*)?${NO_TYPE}${TYPE}[A-Za-z_]\w*\s*(?=[=;:[({])(?!==)`),
  /^\s*(?:if\s+|while\s+|else\s+if\s+)?let\b[^=]*=/,
  /^\s*for\b[^{]*?\bin\b/,
];
const PARAMETER = new RegExp(String.raw`([(,]\s*)${TYPE}(?=[A-Za-z_]\w*\s*[,)=])`, "g");
const NAME = /[A-Za-z_]\w*(?:\s*(?:->|\.|::)\s*[A-Za-z_]\w*)*/g;

/** Returns the values that a line mentions, in its order: names with their members, as written. */
export function valuesOf(line: string): string[] {
  let code = line
    .replace(/"(?:[^"\\]|\\.)*"/g, '""')
    .replace(/'(?:[^'\\]|\\.)'/g, "0")
    .replace(/\/\/.*$|\/\*.*?\*\//g, "");
  if (/^\s*[#*]/.test(code)) {
    return [];
  }
  for (const declaration of DECLARATIONS) {
    code = code.replace(declaration, "");
  }
  code = code.replace(PARAMETER, "$1");
  const found = new Set<string>();
  for (const { 0: match, index } of code.matchAll(NAME)) {
    const text = valueIn(match.replace(/\s+/g, ""), code.slice(index + match.length));
    // A suffix of a number, a member of a larger expression.
    const isPart = /(?:\d|->|\.|::)\s*$/.test(code.slice(0, index));
    if (text !== undefined && !isPart && !text.split(/->|\.|::/).some((word) => NO_VALUES.has(word))) {
      found.add(text);
    }
  }
  return [...found].slice(0, VALUES);
}

/** Returns a name with its members without the function that is called; undefined: nothing is left. */
function valueIn(name: string, behind: string): string | undefined {
  const isCalled = /^\s*(?:\(|!\s*[([{]|::<)/.test(behind);
  return isCalled ? /^(.*)(?:->|\.)\w+$/.exec(name)?.[1] : name;
}

/** Returns queries for a line. */
export function examples(line: string): Example[] {
  const values = valuesOf(line);
  const all: Example[] = [{ query: "count()", description: "how often" }];
  if (values.length > 1) {
    all.push({ query: values.join(", "), description: "the last values, each time" });
  }
  for (const value of values) {
    all.push(
      { query: value, description: "the last values, each time" },
      { query: `count() by ${value}`, description: "how often with each value" },
      { query: `hist(${value})`, description: "how the values are distributed" },
      { query: `min(${value}), mean(${value}), max(${value})`, description: "their range" },
    );
  }
  all.push({ query: "count() by stack", description: "from where" });
  return all;
}
