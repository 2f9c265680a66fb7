//! Which pages a list shows around the current one.

#[derive(Debug, Clone, Copy)]
struct Paging {
    items: u32,
    per_page: u32,
}

impl Paging {
    fn pages(self) -> u32 {
        self.items / self.per_page + u32::from(self.items % self.per_page != 0)
    }

    /// First and last item of a page, counted from zero.
    fn items_of(self, page: u32) -> (u32, u32) {
        let first = page * self.per_page;
        (first, (first + self.per_page).min(self.items) - 1)
    }

    /// The pages that are offered beside the current one.
    fn window(self, current: u32, width: u32) -> (u32, u32) {
        let last = self.pages() - 1;
        let begin = current.min(last) - width.min(last);
        (begin, (current + width).min(last))
    }
}

fn links(paging: Paging, current: u32) -> String {
    let (begin, end) = paging.window(current, 2);
    let (first, last) = paging.items_of(current);
    format!("pages {begin} to {end}, items {first} to {last}")
}

fn main() {
    let paging = Paging { items: 95, per_page: 10 };
    for current in [9, 4, 1, 0] {
        println!("{}", links(paging, current));
    }
}
