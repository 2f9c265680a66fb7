"""An MCP server on the standard streams, its calls, and what they cost."""

import json
import os
import queue
import signal
import subprocess
import threading
import time


class ServerFailed(Exception):
    """The server ended, or did not answer in time."""


class Server:
    """A server that was started for one bug; use it in a `with` statement."""

    def __init__(self, command, environment, folder, log, seconds):
        """`log` is a file for its stderr; `seconds` is the time that all its answers may take."""
        self._process = subprocess.Popen(
            command, env=environment, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            start_new_session=True)
        self._messages = queue.Queue()
        self._last = 0
        self._end = time.monotonic() + seconds
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Its children first: a debuggee that is not traced any more would stay.
        for pid in [*reversed(descendants(self._process.pid)), self._process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self._process.wait()

    def initialize(self):
        """Opens the connection; returns the characters of the instructions and of the list of tools."""
        hello = self._request("initialize", {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "stillpoint-benchmark", "version": "1"}})
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        tools = self._request("tools/list", {})["tools"]
        return len(hello.get("instructions") or "") + len(json.dumps(tools, ensure_ascii=False))

    def call(self, tool, arguments):
        """Calls a tool; returns the text of its result, also where that is an error."""
        result = self._request("tools/call", {"name": tool, "arguments": arguments})
        return "\n".join(part.get("text", "") for part in result.get("content", []))

    def _request(self, method, parameters):
        self._last += 1
        self._write({"jsonrpc": "2.0", "id": self._last, "method": method, "params": parameters})
        while True:
            try:
                message = self._messages.get(timeout=max(0, self._end - time.monotonic()))
            except queue.Empty:
                raise ServerFailed(f"no answer to {method} {parameters} in time") from None
            if message is None:
                raise ServerFailed("the server has ended")
            if message.get("id") != self._last or "method" in message:
                continue
            if "error" in message:
                # An answer, too: the agent reads it.
                return {"content": [{"text": json.dumps(message["error"])}]}
            return message["result"]

    def _write(self, message):
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise ServerFailed(f"the server has ended: {error}") from None

    def _read(self):
        for line in self._process.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict):
                self._messages.put(message)
        self._messages.put(None)


def cost(tool, arguments, answer):
    """The characters of a call: the tool's name, its arguments as compact JSON, and the answer."""
    return len(tool) + len(json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))) + len(answer)


def descendants(root):
    """The processes below a process, parents before their children."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    # The name of the program, in parentheses, may contain anything.
                    parent = int(file.read().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(name))
    found = [root]
    for pid in found:
        found.extend(children.get(pid, []))
    return found[1:]
