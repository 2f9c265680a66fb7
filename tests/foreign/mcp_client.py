"""A session with `stillpoint mcp` by the official Python client: STILLPOINT PROGRAM FILE:LINE."""

import asyncio
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(stillpoint, program, place):
    server = StdioServerParameters(command=stillpoint, args=["mcp", "--tools", "all"])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        hello = await session.initialize()
        print(hello.server_info.name, hello.server_info.version, hello.protocol_version)
        tools = (await session.list_tools()).tools
        assert len(tools) == 19, [tool.name for tool in tools]

        async def call(tool, words, fails=False, **arguments):
            result = await session.call_tool(tool, arguments)
            text = result.content[0].text
            print(f"$ {tool} {arguments}\n{text}")
            assert bool(result.is_error) == fails, f"{tool}: is_error is {result.is_error}"
            for word in words:
                assert word in text, f"{tool}: no {word!r}"

        await call("debug_stack", ["NO_SESSION"], fails=True)
        await call("debug_launch", ["stop 1: breakpoint 1", "i = 0"], program=program, breakpoints=[place])
        await call("debug_trace", ["no hits yet"], action="add", location=place, query="i, count() by i")
        await call("debug_continue", ["changed since stop 1", "i: 0 -> 1"])
        await call("debug_breakpoint", ["NO_CODE_AT_LINE"], fails=True, location="loop.c:4000")
        await call("debug_breakpoint", ["removed 1"], action="remove", id=1)
        await call("debug_continue", ["stop 3: step", "returned by body() = 10"], action="step-out")
        await call("debug_stack", ["#0 main"])
        await call("debug_variables", ["Locals:", "i = 1"])
        await call("debug_read", ["4 bytes of i:", "01 00 00 00"], location="i")
        await call("debug_write", ["i: 1 -> 4"], location="i", value="4")
        await call("debug_evaluate", ["i * 2 = 8"], expression="i * 2")
        await call("debug_continue", ["ended: exit code 0"])
        await call("debug_trace", ["1 hit", "i = 1"])
        await call("debug_output", ["12\n"], stream="stdout")
        await call("debug_stop", ["ended"])


asyncio.run(main(*sys.argv[1:]))
