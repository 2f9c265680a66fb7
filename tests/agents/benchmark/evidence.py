"""Whether an answer shows the cause of a bug: its line as a place of the execution, and the telling values.

The forms are those of all servers, so that the same fact counts for each of them. A line counts where the
answer says that the program was there; the source around another line does not count.
"""

import json
import re

# What may stand between a name and its value.
BETWEEN = "|".join([
    # `n = 5`, `n: 4 -> 5`, `s = 0x… "text"`, `r = @0x…: 5`, `"name": "n", "value": "5"`
    r'(?:"|\))*\s*(?:=|:|,\s*"value":)\s*(?:[^\n=]{1,80}? (?:→|->) )?(?:@?0x[0-9a-f…]+:? )?"?',
    # gdb: `"command": "print n", "output": "$1 = 5"`
    r'",\s*"output": "\$\d+ = (?:\([^()\n]+\) )?(?:@?0x[0-9a-f]+:? )?',
    # mcp-debugger: `"expression": "n"`, answered by `"result":"5"`
    r'"(?:, "frameId": \d+)?\}\n\{"success":true,"result":"',
])


def place(file, line):
    """The pattern of a place of the execution."""
    name = re.escape(file)
    return "|".join([
        # `#0 find, units.c:41`, `find (name=…) at units.c:41`
        rf"\b{name}:{line}(?!\d)",
        # `"file": "/…/units.c", "line": 41`
        rf'{name}",\s*"line":\s*{line}(?!\d)',
        # gdb, of a breakpoint that it sets: `file units.c, line 41.`
        rf"\bfile (?:\S*/)?{name}, line {line}(?!\d)",
    ])


def stepped(line):
    """The pattern of a line that was reached by steps, in a text that names the file elsewhere."""
    # gdb: `41\t…`; debug_trace_call: `   41  …`, ` #2    41  …`
    return rf'(?:^|"output": ")(?: *(?:#\d+|then) )? *{line}(?:\t|  |$)'


def value(name, wanted):
    """The pattern of a variable with its value."""
    return rf"(?<!\w){re.escape(name)}(?:{BETWEEN}){re.escape(wanted)}(?![\w.])"


def written(answer):
    """An answer as it is meant: in JSON, without the escapes of its strings; null as all others write it."""
    try:
        json.loads(answer)
    except ValueError:
        return answer
    answer = re.sub(r"\\(.)", lambda it: {"n": "\n", "t": "\t"}.get(it[1], it[1]), answer)
    return answer.replace("<null>", "0x0")


class Seen:
    """What is still to be seen of a bug."""

    def __init__(self, bug):
        file = bug.source.name
        self._all = ""
        self._spanning = set()
        causes = [pattern for line in bug.causes for pattern in self._line(file, line)]
        self.missing = {f"{file}:{bug.causes[0]}": causes}
        for wanted in bug.evidence:
            match wanted:
                case {"line": text}:
                    line = bug.line(text)
                    self.missing[f"{file}:{line}"] = self._line(file, line)
                case {"name": name, "value": text}:
                    # A list: the same value as others write it.
                    forms = text if isinstance(text, list) else [text]
                    self.missing[f"{name} = {forms[0]}"] = [value(name, form) for form in forms]
                case {"any": patterns}:
                    # Forms of servers that have none in common; they may span answers.
                    self.missing[patterns[0]] = patterns
                    self._spanning.add(patterns[0])
                case _:
                    raise ValueError(f"{bug.name}: unknown evidence {wanted}")

    @staticmethod
    def _line(file, line):
        return [place(file, line), stepped(line)]

    def look(self, arguments, answer):
        """Takes from what is missing what an answer shows; returns whether nothing is missing any more.

        The agent knows what it has asked: the answer to `n` may be a bare number.
        """
        answer = f"{json.dumps(arguments, ensure_ascii=False)}\n{written(answer)}"
        self._all += answer + "\n"
        for name, patterns in list(self.missing.items()):
            text = self._all if name in self._spanning else answer
            if any(re.search(pattern, text, re.MULTILINE) for pattern in patterns):
                del self.missing[name]
        return not self.missing
