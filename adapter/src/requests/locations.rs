//! The requests `breakpointLocations` and `locations`.

use crate::protocol::RequestError;
use crate::protocol::{
    BreakpointLocation, BreakpointLocationsArguments, BreakpointLocationsResponse, Capabilities,
    LocationsArguments, LocationsResponse,
};
use crate::requests::breakpoints::key_of;
use crate::requests::{Effect, Request};
use crate::session::RequiredState;
use crate::session::Session;
use crate::session::breakpoints::debug_info_path;

/// Returns where statements start in some lines.
pub enum BreakpointLocations {}

impl Request for BreakpointLocations {
    const COMMAND: &'static str = "breakpointLocations";
    const WHEN: RequiredState = RequiredState::Always;
    type Arguments = BreakpointLocationsArguments;
    type Body = BreakpointLocationsResponse;

    fn advertise(capabilities: &mut Capabilities) {
        capabilities.supports_breakpoint_locations_request = true;
    }

    fn handle(
        session: &mut Session,
        arguments: BreakpointLocationsArguments,
    ) -> Result<BreakpointLocationsResponse, RequestError> {
        let client = &session.client;
        let first = client.line_in(arguments.line);
        let last = arguments
            .end_line
            .map_or(first, |line| client.line_in(line));
        if let Some(code) = session.codes.code_of_source(&arguments.source) {
            let listing = session.debugger.listing(&code, session.settings.flavor)?;
            // The first instruction is in line 2.
            let end = u32::try_from(listing.rows.len())
                .unwrap_or(u32::MAX)
                .saturating_add(1);
            let lines = first.max(2)..=last.min(end);
            let breakpoints = lines.map(|line| BreakpointLocation {
                line: session.client.line_out(line),
                column: None,
            });
            return Ok(BreakpointLocationsResponse {
                breakpoints: breakpoints.collect(),
            });
        }
        let key = key_of(arguments.source, Self::COMMAND)?;
        let source = debug_info_path(session, &key);
        let local = session.client.path_in(&key);
        let Session {
            sources, client, ..
        } = session;
        // A location of unknown column (0) counts as the start of its line.
        let column = client.given_column(arguments.column);
        let end_column = client.given_column(arguments.end_column);
        let begin = column
            .map(|column| sources.column_in(&local, first, column, client))
            .filter(|column| *column > 1)
            .unwrap_or(0);
        let end = end_column.map_or(u32::MAX, |column| {
            sources.column_in(&local, last, column, client)
        });
        let mut places = session.debugger.breakpoint_locations(&source, first, last);
        if session.is_cancelled() {
            return Err(RequestError::Cancelled);
        }
        places.retain(|place| ((first, begin)..=(last, end)).contains(place));
        let Session {
            sources, client, ..
        } = session;
        // The only location of a line is what a line breakpoint means; with a column, editors would
        // offer it a second time.
        let by_column = column.or(end_column).is_some();
        let mut breakpoints = Vec::with_capacity(places.len());
        for places in places.chunk_by(|one, next| one.0 == next.0) {
            let tells = by_column || places.len() > 1;
            for &(line, column) in places {
                let known = tells && column > 0;
                breakpoints.push(BreakpointLocation {
                    line: client.line_out(line),
                    column: known.then(|| sources.column_out(&source, line, column, client)),
                });
            }
        }
        Ok(BreakpointLocationsResponse { breakpoints })
    }
}

/// Returns the source location for a reference that a variable has.
pub enum Locations {}

impl Request for Locations {
    const COMMAND: &'static str = "locations";
    const EFFECT: Effect = Effect::Reads;
    type Arguments = LocationsArguments;
    type Body = LocationsResponse;

    fn handle(
        session: &mut Session,
        arguments: LocationsArguments,
    ) -> Result<LocationsResponse, RequestError> {
        let place = session.handles.location(arguments.location_reference)?;
        Ok(LocationsResponse {
            source: session.sources.of_file(&place.file, &session.client),
            line: session.client.line_out(place.line),
            column: session.sources.known_column_out(&place, &session.client),
        })
    }
}
