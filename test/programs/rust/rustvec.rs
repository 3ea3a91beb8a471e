// SPDX-License-Identifier: GPL-2.0-or-later
// rustvec: 100 vectors of 1,000 bytes, 100 boxes of 400, a vector that grows to 64 KiB by doubling,
// each in a function of its own. Stands by before, and when it has told its answer.
use std::arch::asm;

extern "C" {
    fn raise(number: i32) -> i32;
}
const SIGSTOP: i32 = 19;

// std::hint::black_box is newer than the oldest rustc that must do (1.63).
#[inline(always)]
fn opaque<T>(kept: &T) {
    unsafe { asm!("/* {0} */", in(reg) kept) };
}

#[no_mangle]
#[inline(never)]
pub fn keep_vectors() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for _ in 0..100 {
        let one: Vec<u8> = Vec::with_capacity(1000);
        opaque(&one);
        all.push(one);
    }
    all
}

#[no_mangle]
#[inline(never)]
pub fn keep_boxes(kept: &mut [Option<Box<[u8; 400]>>; 100]) {
    for place in kept.iter_mut() {
        *place = Some(Box::new([7; 400]));
        opaque(place);
    }
}

#[no_mangle]
#[inline(never)]
pub fn grow_vector() -> Vec<u8> {
    let mut one: Vec<u8> = Vec::with_capacity(1024);
    while one.capacity() < 65536 {
        let full = one.capacity();
        one.resize(full, 1);
        one.reserve_exact(full);
        opaque(&one);
    }
    one
}

fn main() {
    const NONE: Option<Box<[u8; 400]>> = None;
    let mut boxes = [NONE; 100];
    unsafe { raise(SIGSTOP) };
    let vectors = keep_vectors();
    keep_boxes(&mut boxes);
    let grown = grow_vector();
    // The vector of vectors doubles from 4 x 24 bytes to 128 x 24.
    let list = 24 * (4 + 8 + 16 + 32 + 64 + 128);
    let grew = 1024 * (1 + 2 + 4 + 8 + 16 + 32 + 64);
    println!(
        "{{\"sites\": {{\"keep_vectors\": [{}, 106, {}, 101], \"keep_boxes\": [40000, 100, 40000, 100], \
         \"grow_vector\": [{}, 7, 65536, 1]}}}}",
        100000 + list, 100000 + 128 * 24, grew
    );
    unsafe { raise(SIGSTOP) };
    opaque(&vectors);
    opaque(&boxes);
    opaque(&grown);
}
