//! Which release a commit belongs to: the first that is not older.

#[derive(Debug)]
struct Release {
    name: &'static str,
    commit: u32,
}

/// The index of the first release with a commit of at least this number.
fn first_at_least(releases: &[Release], commit: u32) -> usize {
    let (mut low, mut high) = (0, releases.len());
    while low < high {
        let middle = (low + high) / 2;
        if releases[middle].commit < commit {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

fn release_of(releases: &[Release], commit: u32) -> &str {
    let index = first_at_least(releases, commit);
    releases[index].name
}

fn report(releases: &[Release], commits: &[u32]) -> Vec<String> {
    commits
        .iter()
        .map(|commit| format!("{commit}: {}", release_of(releases, *commit)))
        .collect()
}

fn main() {
    let releases = [
        Release { name: "1.0", commit: 120 },
        Release { name: "1.1", commit: 340 },
        Release { name: "2.0", commit: 900 },
    ];
    for line in report(&releases, &[7, 340, 341, 901]) {
        println!("{line}");
    }
}
