use std::collections::BTreeMap;

#[derive(Debug)]
enum Status {
    Open,
    Paid { by: String },
}

struct Item {
    name: &'static str,
    count: u32,
    cents: u32,
}

impl Item {
    fn price(&self) -> u32 {
        self.count * self.cents
    }
}

struct Order {
    customer: String,
    items: Vec<Item>,
    status: Status,
}

fn total(order: &Order, discount: u32) -> u32 {
    let mut sum = 0;
    for item in &order.items {
        let price = item.price();
        sum += price;
    }
    sum - discount
}

fn item(name: &'static str, count: u32, cents: u32) -> Item {
    Item { name, count, cents }
}

fn main() {
    let mut stock = BTreeMap::from([("apples", 120), ("pears", 35)]);
    let order = Order {
        customer: String::from("Ada"),
        items: vec![item("apples", 12, 30), item("pears", 4, 55)],
        status: Status::Paid { by: "card".into() },
    };
    let owed = total(&order, 50);
    for item in &order.items {
        *stock.entry(item.name).or_default() -= item.count;
    }
    let currency = std::env::var("SHOP_CURRENCY").unwrap_or_default();
    println!("{} owes {owed} {currency} {:?}", order.customer, order.status);
    if matches!(order.status, Status::Open) {
        std::process::exit(1);
    }
}
