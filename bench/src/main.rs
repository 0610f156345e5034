// SPDX-License-Identifier: BSD-2-Clause
//! `tenrounds-bench`: every mode at every size, against the processor's limit and against other libraries, in one run.

mod check;
mod ours;
mod peer;
mod peers;

fn main() {
    let (peers, absent) = peers::all();
    for a in absent {
        println!("absent: {} ({}): {}", a.id, a.title, a.why);
    }
    let backend = tenrounds::core::select(None, 0, None)
        .backend
        .expect("a backend");
    let reference = ours::Core::selected(backend);
    let mut wrong = 0;
    for peer in &peers {
        println!("{}: {}", peer.id(), peer.version());
        wrong += check::all(&**peer, &reference);
    }
    for other in tenrounds::core::Backend::all() {
        if other.features() & !tenrounds::core::Cpu::detect().usable == 0 {
            wrong += check::all(&ours::Core::of(other), &reference);
        }
    }
    std::process::exit(i32::from(wrong > 0));
}
