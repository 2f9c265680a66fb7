//! A frame's variables in responses.

use super::{limits, variable};
use crate::protocol::{RequestError, Variable, VariablesWriter};
use crate::session::Session;
use engine::{FrameKey, Limits, Named};

/// Describes a variable of a scope for the client.
///
/// # Errors
/// The client has cancelled the request.
pub fn named_variable(
    session: &mut Session,
    frame: FrameKey,
    named: Named,
    limits: &Limits,
) -> Result<Variable, RequestError> {
    let Named {
        name,
        expression,
        value,
        declaration,
        ..
    } = named;
    let variable = variable(session, Some(frame), name, expression, value, limits)?;
    let declared = declaration.map(|place| session.handles.location_id(place));
    Ok(Variable {
        declaration_location_reference: declared,
        ..variable
    })
}

/// The variables of a frame, read in parts.
#[derive(Debug)]
pub struct Locals {
    frame: FrameKey,
    limits: Limits,
    rest: std::vec::IntoIter<Named>,
    body: VariablesWriter,
}

impl Locals {
    /// Creates the response without variables.
    ///
    /// # Errors
    /// The frame does not exist any more.
    pub fn of(session: &mut Session, frame: FrameKey) -> Result<Self, RequestError> {
        let locals = session.debugger.locals(frame)?;
        Ok(Self {
            frame,
            limits: limits(session, None),
            body: VariablesWriter::for_about(locals.len()),
            rest: locals.into_iter(),
        })
    }

    /// Returns true if there are variables left to read.
    pub fn is_more(&self) -> bool {
        self.rest.len() > 0
    }

    /// Reads and serializes the next `count` variables.
    ///
    /// # Errors
    /// The client has cancelled the request.
    pub fn read_more(&mut self, session: &mut Session, count: usize) -> Result<(), RequestError> {
        for named in self.rest.by_ref().take(count) {
            let variable = named_variable(session, self.frame, named, &self.limits)?;
            push(&mut self.body, &variable)?;
        }
        Ok(())
    }

    /// Reads the remaining variables and returns the response.
    ///
    /// # Errors
    /// The client has cancelled the request.
    pub fn finish(mut self, session: &mut Session) -> Result<VariablesWriter, RequestError> {
        self.read_more(session, usize::MAX)?;
        Ok(self.body)
    }
}

/// Adds a variable to a response.
///
/// # Errors
/// Never for variables of this crate.
pub fn push<S: AsRef<str>>(
    body: &mut VariablesWriter,
    variable: &Variable<S>,
) -> Result<(), RequestError> {
    let pushed = body.push(variable);
    pushed.map_err(|error| RequestError::Other(error.to_string()))
}
