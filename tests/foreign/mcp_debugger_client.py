"""A session through @debugmcp/mcp-debugger: BRIDGE PROGRAM SOURCE."""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(bridge, program, source):
    with open(source) as file:
        lines = file.read().splitlines()

    def line_of(marker):
        return 1 + next(at for at, line in enumerate(lines) if line.endswith(f"//@ {marker}"))

    server = StdioServerParameters(command="node", args=[bridge, "stdio"], env=dict(os.environ))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()

        async def call(tool, **arguments):
            result = await session.call_tool(tool, arguments)
            text = "\n".join(part.text for part in result.content)
            print(f"$ {tool} {arguments}\n{text}")
            answer = json.loads(text)
            assert answer["success"], f"{tool} failed"
            return answer

        own = {"sessionId": (await call("create_debug_session", language="cpp"))["sessionId"]}

        async def at(marker):
            """The bridge may answer before the stop is there."""
            for _ in range(200):
                answer = await call("get_stack_trace", **own)
                frames = answer.get("stackFrames") or []
                if frames and frames[0]["line"] == line_of(marker):
                    return frames
                await asyncio.sleep(0.1)
            raise AssertionError(f"no stop at {marker}")

        await call("set_breakpoint", **own, file=source, line=line_of("body"))
        started = await call("start_debugging", **own, scriptPath=program)
        assert started["state"] == "paused", started
        frames = await at("body")
        assert [frame["name"] for frame in frames[:2]] == ["body", "main"], frames
        answer = await call("get_local_variables", **own)
        values = {it["name"]: it["value"] for it in answer["variables"]}
        assert values["i"] == "0" and values["scale"] == "10", values
        answer = await call("evaluate_expression", **own, expression="scale * 4 + 2")
        assert answer["result"] == "42", answer
        await call("step_over", **own)
        await at("body_return")
        await call("step_out", **own)
        frames = await at("call")
        # Its list of breakpoints knows what became of them.
        answer = await call("list_breakpoints", **own)
        assert all(it["verified"] for it in answer["breakpoints"]), answer
        await call("clear_breakpoints", **own)
        await call("continue_execution", **own)
        for _ in range(200):
            answer = await call("get_output", **own)
            if "105" in json.dumps(answer):
                break
            await asyncio.sleep(0.1)
        else:
            raise AssertionError("the program's output is not told")
        await call("close_debug_session", **own)


asyncio.run(main(*sys.argv[1:]))
