-- A debug session of a recorded program by Neovim's event loop, with the requests of `dap.step_back()`,
-- `dap.reverse_continue()` and the REPL. Started by neovim.sh as `nvim -l recorded.lua PROGRAM SOURCE`.

local session = dofile(vim.fs.dirname(arg[0]) .. "/session.lua")
local source, line_of, ask, event = session.source, session.line_of, session.ask, session.event
local check, stop = session.check, session.stop

local stopped, frame, locals
local function go(command)
  ask(command, { threadId = stopped.threadId, granularity = "statement" })
  stopped, frame, locals = stop()
end
local function say(command)
  return ask("evaluate", { expression = command, context = "repl", frameId = frame.id }).result
end

session.start({ record = true }, "call")
stopped, frame, locals = stop()
check("steps back are possible from the first stop on", session.capabilities().supportsStepBack, true)
check("the program stops", { frame.line, locals.i, locals.total }, { line_of("call"), "0", "0" })
go("continue")
go("continue")
check("it has passed the breakpoint", { locals.i, locals.total }, { "2", "12" })
go("reverseContinue")
check("reverse continue meets it again", { stopped.reason, frame.line, locals.i }, { "breakpoint", line_of("call"), "1" })
check("the stop says that it is in the past", stopped.description, "In the past: breakpoint")
go("stepBack")
check("a step back goes to the line before", { frame.line, locals.i }, { line_of("loop"), "0" })
go("stepBack")
check("and to the one before that", { frame.line, locals.total }, { line_of("after_call"), "0" })
check("the REPL says where it is", say(":recording"):find("in the past") ~= nil, true)
go("next")
check("a step goes forward", frame.line, line_of("loop"))
say(":rn")
stopped, frame, locals = stop()
check("the REPL steps back", frame.line, line_of("after_call"))
say(":past present")
stopped, frame, locals = stop()
check("the REPL returns to the present", { frame.line, locals.i }, { line_of("call"), "2" })

ask("setBreakpoints", { source = { path = source }, breakpoints = {}, lines = {} })
go("continue")
check("the program stops before it exits", { stopped.reason, stopped.description }, { "exit", "Exiting with code 0" })
ask("continue", { threadId = stopped.threadId, granularity = "statement" })
check("the exit code is told", event("exited").exitCode, 0)
event("terminated")
session.finish()
