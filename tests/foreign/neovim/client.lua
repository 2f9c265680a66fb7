-- A debug session by Neovim's event loop: what nvim-dap sends, in its order. Started by neovim.sh as
-- `nvim -l client.lua PROGRAM SOURCE`.

local session = dofile(vim.fs.dirname(arg[0]) .. "/session.lua")
local source, line_of, ask, event = session.source, session.line_of, session.ask, session.event
local check, stop = session.check, session.stop

session.start({}, "body")
local line = line_of("body")
local stopped, frame, locals = stop()
check("the reason of the stop", stopped.reason, "breakpoint")
check("the cursor is at the breakpoint", vim.api.nvim_win_get_cursor(0)[1], line)
check("locals are shown", { locals.i, locals.scale }, { "0", "10" })
check("the console evaluates", ask("evaluate", { expression = "i + scale", context = "repl", frameId = frame.id }).result, "10")
local targets = ask("completions", { frameId = frame.id, text = "sca", column = 4 }).targets
check("the console completes", targets[1] and targets[1].label, "scale")

ask("next", { threadId = stopped.threadId, granularity = "statement" })
stopped, frame, locals = stop()
check("a step goes to the next line", { stopped.reason, frame.line }, { "step", line_of("body_return") })
check("its value is there", locals.product, "0")

--- `dap.step_back()` and `dap.reverse_continue()` send nothing without it.
check("steps back are possible once there is a past", session.capabilities().supportsStepBack, true)
ask("stepBack", { threadId = stopped.threadId, granularity = "statement" })
stopped, frame, locals = stop()
check("a step back goes to where the step began", frame.line, line)
check("the console evaluates there", ask("evaluate", { expression = "i + scale", context = "repl", frameId = frame.id }).result, "10")
ask("next", { threadId = stopped.threadId, granularity = "statement" })
stopped, frame, locals = stop()
check("a step goes forward again", frame.line, line_of("body_return"))
ask("continue", { threadId = stopped.threadId, granularity = "statement" })
stopped, frame, locals = stop()
check("the program goes on from the present", { stopped.reason, locals.i }, { "breakpoint", "1" })
ask("reverseContinue", { threadId = stopped.threadId, granularity = "statement" })
stopped, frame, locals = stop()
check("reverse continue goes to the stop before", { frame.line, locals.i }, { line_of("body_return"), "0" })
ask("evaluate", { expression = ":past present", context = "repl", frameId = frame.id })
stopped, frame, locals = stop()
check("the console returns to the present", { frame.line, locals.i }, { line, "1" })

ask("setBreakpoints", { source = { path = source }, breakpoints = {}, lines = {} })
ask("continue", { threadId = stopped.threadId, granularity = "statement" })
check("the exit code is told", event("exited").exitCode, 0)
event("terminated")
session.finish()
