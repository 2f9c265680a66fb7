//! Divides the size of an answer among its sections.

/// The remaining size of an answer. Each section gets a share of the whole and what the sections
/// before it left over.
pub struct Budget {
    all: usize,
    carried: usize,
}

impl Budget {
    /// Creates a budget of `all` bytes.
    pub fn new(all: usize) -> Self {
        Self { all, carried: 0 }
    }

    /// Fills a section with `percent` of the whole: `fill` gets the maximum size and returns the
    /// size it used.
    pub fn section(&mut self, percent: usize, fill: impl FnOnce(usize) -> usize) {
        let allowed = self.carried + self.all * percent / 100;
        self.carried = allowed.saturating_sub(fill(allowed));
    }

    /// Returns what the sections left over, plus the last section's share of 15 percent.
    pub fn rest(&self) -> usize {
        self.carried + self.all * 15 / 100
    }
}

/// Returns how many of the first items fit, and their cost.
pub fn fitting<T>(items: &[T], allowed: usize, cost: impl Fn(&T) -> usize) -> (usize, usize) {
    let mut spent = 0;
    for (count, item) in items.iter().enumerate() {
        let cost = cost(item);
        if spent + cost > allowed {
            return (count, spent);
        }
        spent += cost;
    }
    (items.len(), spent)
}

/// Cuts a text off after at most `most` bytes; one that is cut off ends with `…`.
pub fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most);
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_budget_passes_to_the_next_section() {
        let mut budget = Budget::new(1000);
        budget.section(20, |allowed| {
            assert_eq!(allowed, 200);
            50
        });
        budget.section(10, |allowed| {
            assert_eq!(allowed, 250);
            400
        });
        assert_eq!(budget.rest(), 150);
    }

    #[test]
    fn the_first_that_fit() {
        let cost = |text: &&str| text.len();
        assert_eq!(fitting(&["ab", "cde", "f"], 5, cost), (2, 5));
        assert_eq!(fitting(&["ab", "cde", "f"], 4, cost), (1, 2));
        assert_eq!(fitting(&["ab"], 1, cost), (0, 0));
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cut("aüb", 2), "a…");
        assert_eq!(cut("aüb", 4), "aüb");
    }
}
