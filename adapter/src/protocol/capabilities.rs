//! The adapter's capabilities.

use super::ExceptionBreakpointsFilter;
use serde::{Deserialize, Serialize};

/// A mode of breakpoints.
#[derive(Serialize, Debug, Clone)]
#[serde(rename_all = "camelCase")]
pub struct BreakpointMode {
    /// Its id.
    pub mode: &'static str,
    /// Its name.
    pub label: &'static str,
    /// Its description.
    pub description: &'static str,
    /// The kinds of breakpoints that support it, in the specification's words.
    pub applies_to: &'static [&'static str],
}

/// The `capabilities` event.
#[derive(Serialize, Debug)]
pub struct CapabilitiesEventBody {
    /// The changed capabilities.
    pub capabilities: ChangedCapabilities,
}

/// Capabilities that a session may get or lose.
#[derive(Serialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct ChangedCapabilities {
    #[serde(flatten)]
    of_live: Option<LiveCapabilities>,
    /// Whether a stop before the present one can be shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    supports_step_back: Option<bool>,
}

/// Capabilities that need a program which runs.
#[derive(Serialize, Debug, Default)]
#[serde(rename_all = "camelCase")]
struct LiveCapabilities {
    supports_set_variable: bool,
    supports_set_expression: bool,
    supports_goto_targets_request: bool,
    supports_restart_frame: bool,
    supports_step_in_targets_request: bool,
    supports_stepping_granularity: bool,
    supports_single_thread_execution_requests: bool,
    supports_data_breakpoints: bool,
}

impl ChangedCapabilities {
    /// Returns the capabilities for a core file, which can neither run nor change.
    pub fn of_core_file() -> Self {
        Self {
            of_live: Some(LiveCapabilities::default()),
            supports_step_back: None,
        }
    }

    /// Returns the capability to step back.
    pub fn of_past(has_past: bool) -> Self {
        Self {
            of_live: None,
            supports_step_back: Some(has_past),
        }
    }
}

/// The body of the `initialize` response; each request adds its capabilities
/// (`Request::advertise`). Lists of static texts are only ever sent.
#[derive(Serialize, Deserialize, Debug, Default, Clone)]
#[serde(rename_all = "camelCase", default)]
pub struct Capabilities {
    pub supports_configuration_done_request: bool,
    pub supports_function_breakpoints: bool,
    pub supports_conditional_breakpoints: bool,
    pub supports_hit_conditional_breakpoints: bool,
    pub supports_evaluate_for_hovers: bool,
    pub supports_set_variable: bool,
    pub supports_set_expression: bool,
    pub supports_completions_request: bool,
    #[serde(skip_serializing_if = "Vec::is_empty", skip_deserializing)]
    pub completion_trigger_characters: Vec<&'static str>,
    pub supports_value_formatting_options: bool,
    pub support_terminate_debuggee: bool,
    pub supports_delayed_stack_trace_loading: bool,
    pub supports_log_points: bool,
    pub supports_terminate_request: bool,
    pub supports_restart_request: bool,
    pub supports_cancel_request: bool,
    pub supports_clipboard_context: bool,
    pub supports_modules_request: bool,
    pub supports_loaded_sources_request: bool,
    pub supports_breakpoint_locations_request: bool,
    pub supports_stepping_granularity: bool,
    pub supports_instruction_breakpoints: bool,
    pub supports_data_breakpoints: bool,
    pub supports_data_breakpoint_bytes: bool,
    #[serde(skip_serializing_if = "Vec::is_empty", skip_deserializing)]
    pub supported_checksum_algorithms: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty", skip_deserializing)]
    pub breakpoint_modes: Vec<BreakpointMode>,
    pub supports_step_in_targets_request: bool,
    pub supports_goto_targets_request: bool,
    pub supports_restart_frame: bool,
    pub supports_read_memory_request: bool,
    pub supports_write_memory_request: bool,
    pub supports_disassemble_request: bool,
    pub supports_single_thread_execution_requests: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exception_breakpoint_filters: Vec<ExceptionBreakpointsFilter>,
    pub supports_exception_filter_options: bool,
    pub supports_exception_options: bool,
    pub supports_exception_info_request: bool,
    #[serde(rename = "supportsANSIStyling")]
    pub supports_ansi_styling: bool,
}
