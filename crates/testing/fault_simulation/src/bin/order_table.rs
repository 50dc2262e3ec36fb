//! Prints the tables of docs/order.md: `order_table SEEDS`. `cargo xtask order` runs it.

#![allow(clippy::print_stdout, reason = "the tables are for a person")]

use fault_simulation::OrderTable;

fn main() {
    let seeds = std::env::args().nth(1).and_then(|seeds| seeds.parse().ok()).unwrap_or(5);
    println!("Seeds 1 to {seeds}.");
    for table in OrderTable::all() {
        println!("\n{}\n{}", table.head, table.rule());
        for row in table.rows {
            println!("{}", row.measured(seeds));
        }
    }
}
