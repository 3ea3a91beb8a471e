// SPDX-License-Identifier: GPL-2.0-or-later
// wordcount SECONDS: that CPU time in a Rust program of everyday parts: strings, hash and tree maps,
// sorting with closures, trait objects, boxed recursion, threads, and a panic that is caught.
use std::collections::{BTreeMap, HashMap};
use std::os::raw::c_long;

extern "C" {
    fn clock() -> c_long; // the process's CPU time, in microseconds
}

trait Shape {
    fn area(&self, depth: u32) -> f64;
}
struct Leaf(f64);
struct Branch(Vec<Box<dyn Shape>>);

impl Shape for Leaf {
    #[inline(never)]
    fn area(&self, _depth: u32) -> f64 {
        self.0.sqrt()
    }
}
impl Shape for Branch {
    #[inline(never)]
    fn area(&self, depth: u32) -> f64 {
        self.0.iter().map(|s| s.area(depth + 1)).sum::<f64>() / (depth as f64 + 1.0)
    }
}

fn grow(depth: u32) -> Box<dyn Shape> {
    if depth == 0 {
        return Box::new(Leaf(2.5));
    }
    Box::new(Branch((0..3).map(|_| grow(depth - 1)).collect()))
}

#[inline(never)]
fn count(text: &str) -> BTreeMap<usize, Vec<String>> {
    let mut words: HashMap<String, usize> = HashMap::new();
    for word in text.split_whitespace() {
        *words.entry(word.to_lowercase()).or_insert(0) += 1;
    }
    let mut by_count: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (word, n) in words {
        by_count.entry(n).or_insert_with(Vec::new).push(word);
    }
    for list in by_count.values_mut() {
        list.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    }
    by_count
}

#[inline(never)]
fn refuse(n: usize) -> usize {
    let list: Vec<usize> = (0..n).collect();
    list[n]
}

fn work(seconds: f64) -> usize {
    let text: String = (0..2000).map(|i| format!("Word{} of {} ", i % 97, i * 31 % 1009)).collect();
    let tree = grow(6);
    let mut sum = 0;
    while unsafe { clock() } as f64 / 1e6 < seconds {
        sum += count(&text).len();
        sum += tree.area(0) as usize;
        for n in 0..10 {
            sum += std::panic::catch_unwind(|| refuse(n)).is_err() as usize;
        }
    }
    sum
}

fn main() {
    let seconds: f64 = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(1.0);
    std::panic::set_hook(Box::new(|_| {}));
    let other = std::thread::spawn(move || work(seconds));
    let sum = work(seconds) + other.join().unwrap();
    std::process::exit((sum == 1) as i32);
}
