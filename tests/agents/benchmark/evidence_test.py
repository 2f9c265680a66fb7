"""Tests of what counts as seen."""

import json
import unittest
from pathlib import Path
from types import SimpleNamespace

from .evidence import Seen


def bug(*evidence):
    """A bug whose cause is in line 20 of units.c."""
    return SimpleNamespace(name="bug", source=Path("units.c"), causes=[20], evidence=list(evidence),
                           line=lambda text: int(text))


def shows(seen, answer, arguments=None):
    """Whether an answer leaves nothing to be seen."""
    return seen.look(arguments or {}, answer)


class Lines(unittest.TestCase):
    """Which answers say that the program was in line 20."""

    def test_places_count(self):
        for answer in [
            "  #2 find_unit, units.c:20\n",
            "at find_unit(name=0x… \"km\") at /src/units.c:20",
            " #2    20                      i: 0 → 1\n",
            "   20  for (size_t i = low; i < high; i++) {   i = 0\n",
            json.dumps({"outputs": [{"command": "next", "output": "20\t    for (size_t i = low;"}]}),
            json.dumps({"output": "#0  find_unit (name=0x1 \"km\")\n    at /src/units.c:20\n20\t  for"}),
            '{"stackFrames":[{"id":1001,"name":"find_unit","file":"/src/units.c","line":20,"column":5}]}',
        ]:
            self.assertTrue(shows(Seen(bug()), answer), answer)

    def test_source_and_other_lines_do_not_count(self):
        for answer in [
            "    20 | for (size_t i = low; i < high; i++) {\n>   21 |  if",
            "  #2 find_unit, units.c:200\n",
            "  #2 find_unit, other_units.c:20\n",
            '{"surrounding":[{"line":20,"content":"for (size_t i = low;"}]}',
            "i = 20\n",
        ]:
            self.assertFalse(shows(Seen(bug()), answer), answer)


    def test_one_of_several_causes_is_enough(self):
        written = bug()
        written.causes = [20, 30]
        self.assertTrue(shows(Seen(written), "at store() at /src/units.c:30"))
        self.assertFalse(shows(Seen(written), "at store() at /src/units.c:25"))


class Values(unittest.TestCase):
    """Which answers say that a variable has a value."""

    def wanted(self, name, value):
        seen = Seen(bug({"name": name, "value": value}))
        shows(seen, "units.c:20")
        return seen

    def test_forms_of_the_servers_count(self):
        for answer, arguments in [
            ("  high = 5  (size_t)\n", {}),
            ("   20  next();     ring->high: 7 → 5\n", {}),
            ("   20  next();     ring->high: 5 → 7\n", {}),
            ('{"variables":[{"name":"high","value":"5","type":"size_t"}]}', {}),
            (json.dumps({"output": "low = 0\nhigh = 5"}), {}),
            (json.dumps({"outputs": [{"command": "print high", "output": "$3 = 5"}]}), {}),
            ('{"success":true,"result":"5","type":"size_t"}', {"expression": "high"}),
            ('{"success":true,"result":"5","type":"size_t"}', {"expression": "high", "frameId": 1002}),
        ]:
            self.assertTrue(shows(self.wanted("high", "5"), answer, arguments), answer)

    def test_other_values_and_names_do_not_count(self):
        for answer in ["high = 50\n", "high = 5.5\n", "too_high = 5\n", "high = 4, low = 5\n"]:
            self.assertFalse(shows(self.wanted("high", "5"), answer), answer)

    def test_text_counts_with_and_without_escapes(self):
        for answer in ['tag = 0x… "km"\n', json.dumps({"output": 'tag = 0x5555 "km"'}), '{"name":"tag","value":"\\"km\\""}']:
            self.assertTrue(shows(self.wanted("tag", '"km"'), answer), answer)
        self.assertFalse(shows(self.wanted("tag", '"km"'), 'tag = "kmh"\n'))

    def test_an_unknown_form_of_evidence_is_an_error(self):
        with self.assertRaises(ValueError):
            Seen(bug({"nmae": "high", "value": "5"}))


if __name__ == "__main__":
    unittest.main()
