//! Breakpoints, frames and values in the client's form.

pub mod breakpoints;
mod expressions;
mod frames;
mod locals;
mod origin;
mod system_call;
mod traces;
mod values;

pub use breakpoints::{describe_breakpoint, described};
pub use expressions::{atom, child_expression};
pub use frames::{LastSource, describe_frame, source_of};
pub use locals::{Locals, named_variable, push};
pub use origin::{list_of_hops, origin};
pub use system_call::text_of_call;
pub use traces::{record, trace};
pub use values::{BUCKET, RenderedValue, limits, limits_of, present, read_only, variable};
