//! Settings for child processes of the debuggee.

use engine::Follow;
use serde::Deserialize;
use std::time::Duration;

/// One string or several.
#[derive(Deserialize, Debug)]
#[serde(untagged, expecting = "expected a list of strings, or one string")]
pub enum OneOrMany {
    /// A list.
    List(Vec<String>),
    /// A single string.
    One(String),
}

impl Default for OneOrMany {
    fn default() -> Self {
        OneOrMany::List(Vec::new())
    }
}

/// The handling of child processes.
pub struct FollowForkPlan {
    /// The engine's part.
    pub follow: engine::FollowFork,
    /// How long a child process is held for the client to start its session.
    pub patience: Duration,
}

/// Builds the plan from the settings `followFork…`.
///
/// # Errors
/// An unknown word or an invalid pattern; the text names the key.
pub fn follow_fork_plan(
    follow: Option<&str>,
    programs: &OneOrMany,
    timeout: Option<f64>,
) -> Result<FollowForkPlan, String> {
    const DEFAULT_SECONDS: f64 = 10.0;
    let programs = match programs {
        OneOrMany::List(list) => list.as_slice(),
        OneOrMany::One(one) => std::slice::from_ref(one),
    };
    let seconds = timeout
        .filter(|it| it.is_finite())
        .unwrap_or(DEFAULT_SECONDS);
    Ok(FollowForkPlan {
        follow: engine::FollowFork::new(mode(follow)?, programs)
            .map_err(|mistake| format!("`followForkPrograms`: {mistake}"))?,
        patience: Duration::from_secs_f64(seconds.clamp(0.1, 3600.0)),
    })
}

fn mode(word: Option<&str>) -> Result<Follow, String> {
    match word {
        None | Some("parent") => Ok(Follow::Parent),
        Some("child") => Ok(Follow::Child),
        Some("both") => Ok(Follow::Both),
        Some(other) => Err(format!(
            "`followFork`: unknown value `{other}`; expected `parent`, `child` or `both`"
        )),
    }
}
