// SPDX-License-Identifier: GPL-2.0-or-later
// rustnames SECONDS: burns in <[u8; N] as rustnames::Work>::go, a name that holds a semicolon.
use std::arch::asm;
use std::time::Instant;

// std::hint::black_box is newer than the oldest rustc that must do (1.63).
#[inline(always)]
fn opaque(mut x: u64) -> u64 {
    unsafe { asm!("/* {0} */", inout(reg) x) };
    x
}

trait Work {
    fn go(&self, rounds: u64) -> u64;
}

impl<const N: usize> Work for [u8; N] {
    #[inline(never)]
    fn go(&self, rounds: u64) -> u64 {
        let mut x = self[N - 1] as u64;
        for _ in 0..rounds {
            x = opaque(x).wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        }
        x
    }
}

fn main() {
    let seconds: f64 = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(1.0);
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < seconds {
        opaque([opaque(1) as u8; 7].go(500_009));
    }
}
