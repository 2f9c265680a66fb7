"""The bugs: what their manifests say, and how they are built."""

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "bugs"

COMPILERS = {
    "c": ["gcc", "-std=gnu11", "-g", "-O0"],
    "cpp": ["g++", "-std=c++17", "-g", "-O0"],
    "rust": ["rustc", "--edition", "2021", "-g", "-C", "opt-level=0"],
}
KEYS = {"source", "language", "flags", "kind", "symptom", "hangs", "varies", "cause", "evidence", "why"}


class BadBug(Exception):
    """A manifest that does not fit its source, or a source that does not compile."""


class Bug:
    """A bug of `tests/agents/bugs`."""

    def __init__(self, folder):
        self.name = folder.name
        manifest = json.loads((folder / "bug.json").read_text())
        if set(manifest) != KEYS:
            raise BadBug(f"{self.name}: bug.json must have exactly the keys {', '.join(sorted(KEYS))}")
        self.source = folder / manifest["source"]
        self.language = manifest["language"]
        self.flags = manifest["flags"]
        self.kind = manifest["kind"]
        self.symptom = manifest["symptom"]
        self.hangs = manifest["hangs"]
        self.varies = manifest["varies"]
        self.why = manifest["why"]
        self.evidence = manifest["evidence"]
        causes = manifest["cause"]
        self.causes = [self.line(text) for text in (causes if isinstance(causes, list) else [causes])]
        self.program = None

    def line(self, text):
        """The number of the only line that contains a text."""
        lines = self.source.read_text().splitlines()
        found = [number for number, line in enumerate(lines, 1) if text in line]
        if len(found) != 1:
            raise BadBug(f"{self.name}: {len(found)} lines of {self.source.name} contain {text!r}; one must")
        return found[0]

    def build(self, folder):
        """Compiles the program, unless this source was compiled in this way already."""
        command = [*COMPILERS[self.language], *self.flags]
        key = hashlib.sha256(repr(command).encode() + self.source.read_bytes()).hexdigest()[:12]
        self.program = folder / f"{self.name}-{key}" / self.source.stem
        if self.program.exists():
            return
        self.program.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self.program.with_name(f"{self.source.stem}-{os.getpid()}")
        done = subprocess.run([*command, str(self.source), "-o", str(unfinished)], capture_output=True, text=True)
        if done.returncode != 0:
            raise BadBug(f"{self.name} does not compile:\n{done.stderr}")
        unfinished.rename(self.program)

    def missing(self):
        """The compiler, if it is not installed."""
        compiler = COMPILERS[self.language][0]
        return None if shutil.which(compiler) else compiler


def all_bugs():
    """All bugs, in the order of their numbers."""
    return [Bug(folder) for folder in sorted(FOLDER.iterdir()) if folder.is_dir()]
