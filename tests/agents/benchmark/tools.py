"""What the runner needs: the debugger, the rivals, folders."""

import os
import shutil
import subprocess
from pathlib import Path

# The rivals, as their registries name them, in the versions that were compared.
GDB_MCP = ["gdb-mcp==1.0.1", "mcp==1.30.0"]
MCP_DEBUGGER = "@debugmcp/mcp-debugger@0.24.2"

ROOT = Path(__file__).resolve().parents[3]


class Missing(Exception):
    """Something that is not there and cannot be fetched."""


def build_folder():
    """Where the bugs are compiled."""
    folder = target() / "agents"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def target():
    """The target folder of cargo."""
    return Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")


def find(servers, stillpoint):
    """Finds what the servers need; fetches rivals that were not fetched yet."""
    found = {}
    if "stillpoint" in servers:
        found["stillpoint"] = str(stillpoint or os.environ.get("STILLPOINT") or newest())
        if not os.access(found["stillpoint"], os.X_OK):
            raise Missing(f"no program {found['stillpoint']}; build it, or name it by --stillpoint")
    if "gdb-mcp" in servers:
        if not shutil.which("gdb"):
            raise Missing("gdb; install it: apt-get install gdb")
        found["gdb-mcp"] = str(python_packages("gdb-mcp", GDB_MCP) / "bin" / "gdb-mcp")
    if "mcp-debugger" in servers:
        package = node_packages("mcp-debugger", MCP_DEBUGGER) / "@debugmcp" / "mcp-debugger"
        found["mcp-debugger"] = str(package / "dist" / "cli.mjs")
    return found


def cache():
    """Where fetched rivals are kept; nothing of them is in the repository."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "stillpoint-agents"


def python_packages(name, packages):
    """An environment of its own with packages of PyPI."""
    folder = cache() / name
    if not (folder / "done").exists():
        fetch(["python3", "-m", "venv", str(folder)])
        fetch([str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", *packages])
        (folder / "done").touch()
    return folder


def node_packages(name, package):
    """A folder of its own with a package of npm; returns its `node_modules`."""
    folder = cache() / name
    if not (folder / "done").exists():
        folder.mkdir(parents=True, exist_ok=True)
        fetch(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), package])
        (folder / "done").touch()
    return folder / "node_modules"


def fetch(command):
    """Runs a command that fetches something."""
    try:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Missing(f"{' '.join(command)}: {error}; choose other servers with --server") from None


def newest():
    """The newest binary of the workspace."""
    built = [it for it in (target() / kind / "stillpoint" for kind in ("release", "debug")) if it.exists()]
    if not built:
        raise Missing("no stillpoint; build it with `cargo build`, or name it by --stillpoint")
    return max(built, key=lambda it: it.stat().st_mtime)
