"""The scripted oracles: what a careful engineer asks each server, knowing the symptom and the source.

A script is a generator: it yields a call, and gets its answer. It ends early when the cause has been seen.
The rules are in README.md.
"""

from . import gdb_mcp, mcp_debugger, stillpoint

SERVERS = {oracle.NAME: oracle for oracle in (stillpoint, gdb_mcp, mcp_debugger)}
