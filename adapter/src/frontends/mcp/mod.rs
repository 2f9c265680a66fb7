//! `stillpoint mcp`: the debugger for agents, with the Model Context Protocol on stdin and stdout.
//! It is a client of the DAP server, like any editor; each session is a process of its own.

mod agent_breakpoint;
mod arguments;
mod breakpoints;
mod error;
mod inspect;
mod link;
mod output;
mod run;
mod session;
mod text;
mod tools;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    InitializeResult, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
};
use rmcp::service::RequestContext;
use rmcp::transport::stdio_pipes;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use std::process::ExitCode;
use std::sync::Arc;
use tools::Tools;

/// What clients may tell their models of us.
const INSTRUCTIONS: &str = "A native debugger for C, C++ and Rust. Typical use: debug_launch with \
                            `breakpoints`, read the stop in the reply, then debug_continue \
                            (step-over, step-into, step-out, run-to) until the cause is found. \
                            Each reply has source, variables, changes, stack and output, so that \
                            no further call is needed to inspect the stop. For many hits of one \
                            location, use debug_logpoint or a condition instead of many stops. \
                            Errors begin with a code and name the remedy.";

/// Serves the client on stdin and stdout until it disconnects. The debuggee ends with it.
pub fn mcp() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let served = match runtime {
        Ok(runtime) => {
            let served = runtime.block_on(serve());
            // Reading from stdin may block for ever; the process ends without it.
            runtime.shutdown_background();
            served
        }
        Err(error) => Err(error.to_string()),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("stillpoint: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve() -> Result<(), String> {
    let tools = Arc::new(Tools::default());
    let server = Server {
        tools: Arc::clone(&tools),
    };
    let served = match server.serve(stdio_pipes()).await {
        Ok(running) => running
            .waiting()
            .await
            .map(drop)
            .map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    tools.close().await;
    served
}

struct Server {
    tools: Arc<Tools>,
}

impl ServerHandler for Server {
    fn get_info(&self) -> InitializeResult {
        let version = env!("CARGO_PKG_VERSION");
        InitializeResult::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("stillpoint", version))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = tools::list().map_err(|error| ErrorData::internal_error(error, None))?;
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Err(near) = tools::find(&request.name) {
            let message = format!("unknown tool `{}`; did you mean `{near}`?", request.name);
            return Err(ErrorData::invalid_params(message, None));
        }
        let arguments = request.arguments.unwrap_or_default();
        let called = tokio::select! {
            called = self.tools.call(&request.name, arguments) => called,
            // A cancelled call gets no result; the program's state does not change.
            () = context.ct.cancelled() => {
                return Err(ErrorData::invalid_request("cancelled", None));
            }
        };
        let result = match called {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
        };
        Ok(result.into())
    }
}
