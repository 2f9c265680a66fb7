"""A session through dap-mcp: CONFIG SOURCE LINE."""

import asyncio
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main(config, source, line):
    bridge = StdioServerParameters(command=sys.executable, args=["-m", "dap_mcp", "--config", config])
    async with stdio_client(bridge) as (read, write), ClientSession(read, write) as session:
        await session.initialize()

        async def call(tool, words, **arguments):
            result = await session.call_tool(tool, arguments)
            text = "\n".join(part.text for part in result.content)
            print(f"$ {tool} {arguments}\n{text}")
            assert not result.isError, f"{tool} failed"
            for word in words:
                assert word in text, f"{tool}: no {word!r}"

        await call("set_breakpoint", [], path=source, line=int(line))
        await call("launch", ["return product;", "scale"])
        await call("evaluate", ["42"], expression="scale * 4 + 2")
        await call("step_out", ["total += body(i, 10);"])
        await call("next", ["total += 1;"])
        # Its remove_all_breakpoints sets them all once more.
        await call("remove_breakpoint", [], path=source, line=int(line))
        await call("continue_execution", ["erminated"])


asyncio.run(main(*sys.argv[1:]))
