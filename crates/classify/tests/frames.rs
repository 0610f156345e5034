// SPDX-License-Identifier: BSD-2-Clause
//! Frames of an installed program, and of the same program damaged in many ways. The tests of
//! `trace --callers` follow real stacks.

#![cfg(target_arch = "x86_64")]

use classify::frames::{Frame, Frames};
use classify::{Bounds, Program};

const STACK: u64 = 0x7000;

/// The steps from a frame, with a stack of these words at `STACK`.
fn steps(frames: &Frames, address: u64, words: &[u64]) -> usize {
    let read = |at: u64| {
        let index = usize::try_from(at.checked_sub(STACK)?).ok()?;
        words.get(index / 8).filter(|_| index % 8 == 0).copied()
    };
    // By their numbers in machine code: RSP is 4, RBP is 5.
    let mut registers = [0; 16];
    (registers[4], registers[5]) = (STACK, STACK + 64);
    let mut frame = Frame::sampled(address, &registers);
    let mut count = 0;
    while let Ok(Some(next)) = frames.caller(&frame, 0, &read) {
        // Each frame ends above the one before, so the stack bounds the steps.
        assert!(next.stack() > frame.stack());
        frame = next;
        count += 1;
    }
    count
}

fn example() -> Vec<u8> {
    std::fs::read("/bin/true").unwrap()
}

#[test]
fn the_entry_of_a_function_has_its_caller_on_the_stack() {
    let data = example();
    let frames = Frames::read(&data).unwrap();
    let program = Program::read(&data).unwrap();
    let begins = |address: &u64| {
        let around = program.around(*address);
        around.is_some_and(|it| it.range.start == *address && it.bounds == Bounds::Unwind)
    };
    // The first instruction of a function: the return address is the first word.
    let starts: Vec<u64> = (0x1000..0x8000).filter(begins).collect();
    assert!(starts.len() > 20, "{starts:?}");
    // 1 is in no function, so that each chain has one step.
    let one = starts
        .iter()
        .filter(|start| steps(&frames, **start, &[1; 64]) == 1);
    assert!(one.count() * 10 >= starts.len() * 9, "{starts:x?}");
    assert_eq!(steps(&frames, 1, &[1; 64]), 0);
    // The return address lies outside of the copy.
    assert_eq!(steps(&frames, starts[0], &[]), 0);
}

/// No damage leads to a panic or an endless chain.
#[test]
fn damaged_files_are_no_panic() {
    let data = example();
    let mut random = fastrand::Rng::with_seed(4);
    for _ in 0..300 {
        let mut data = data.clone();
        for _ in 0..random.usize(1..200) {
            let at = random.usize(..data.len());
            data[at] = random.u8(..);
        }
        if random.bool() {
            data.truncate(random.usize(..data.len()));
        }
        let Ok(frames) = Frames::read(&data) else {
            continue;
        };
        for _ in 0..50 {
            let words: Vec<u64> = (0..32).map(|_| random.u64(0x1000..0x9000)).collect();
            steps(&frames, random.u64(0x1000..0x9000), &words);
        }
    }
}
