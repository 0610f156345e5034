// SPDX-License-Identifier: BSD-2-Clause
//! Every peer against the others on random input: all modes, keys, directions and kinds of length.
//! What does not agree is never timed.

use super::*;
use crate::peer::{
    Direction, Inputs, Mode, Operation, Spec, AAD, OTHER_AAD, RAGGED, STAGGER, UNITS, UNIT_BYTES,
};
use catalogue::Cipher;
use std::panic::{catch_unwind, AssertUnwindSafe};

const SIZES: [usize; 17] = [
    16, 31, 48, 64, 100, 112, 128, 240, 256, 512, 1024, 1350, 1420, 4096, 8192, 16384, 65536,
];

fn inputs(random: &mut fastrand::Rng, spec: Spec) -> Inputs {
    let mut made = Inputs {
        key: vec![0; spec.key_bytes()],
        iv: [0; 16],
        aad: [0; 20],
    };
    random.fill(&mut made.key);
    random.fill(&mut made.iv);
    random.fill(&mut made.aad);
    // Half of the time, counters of 32 bits overflow within a message.
    if random.bool() {
        made.iv[12..15].fill(0xff);
    }
    made
}

fn other(spec: Spec) -> Spec {
    Spec {
        direction: match spec.direction {
            Direction::Encrypt => Direction::Decrypt,
            Direction::Decrypt => Direction::Encrypt,
        },
        ..spec
    }
}

/// Something to read: random, but for messages to be opened, which the first that can seals.
fn data(
    random: &mut fastrand::Rng,
    peers: &[Peer],
    spec: Spec,
    bytes: usize,
    inputs: &Inputs,
) -> Vec<u8> {
    let mut data = vec![0; spec.input_bytes(bytes)];
    random.fill(&mut data);
    if spec.is_checked() && spec.direction == Direction::Decrypt {
        let mut plain = vec![0; other(spec).input_bytes(bytes)];
        random.fill(&mut plain);
        let sealing = peers
            .iter()
            .find_map(|p| p.prepare(other(spec), bytes, inputs).unwrap());
        if let Some(mut sealing) = sealing {
            sealing.call(&plain, &mut data);
        }
    }
    data
}

/// Two calls, and the first again.
fn outputs(operation: &mut dyn Operation, spec: Spec, bytes: usize, input: &[u8]) -> [Vec<u8>; 3] {
    let mut call = |again: bool| {
        if again {
            operation.restart();
        }
        let mut output = vec![0xa5; spec.output_bytes(bytes)];
        operation.call(input, &mut output);
        output
    };
    [call(false), call(false), call(true)]
}

fn specs(streams: usize) -> Vec<Spec> {
    let mut all = Vec::new();
    for mode in Mode::aes() {
        for key_bits in [128, 192, 256] {
            for direction in [Direction::Encrypt, Direction::Decrypt] {
                let no_such_key = Cipher::new(mode, key_bits).is_none();
                if no_such_key || mode == Mode::Cmac && direction == Direction::Decrypt {
                    continue;
                }
                let spec = Spec {
                    mode,
                    key_bits,
                    direction,
                    streams,
                    aad: AAD,
                    gap: 0,
                    form: Form::Usual,
                };
                all.push(spec);
                if mode == Mode::Cbc && streams == 16 {
                    let gap = STAGGER;
                    all.push(Spec { gap, ..spec });
                }
                if spec.wraps() && streams == 1 {
                    let form = Form::Inverse;
                    all.push(Spec { form, ..spec });
                }
                if matches!(mode, Mode::Gcm | Mode::Ecb) && streams > 1 {
                    let form = Form::OwnKeys;
                    all.push(Spec { form, ..spec });
                }
                if mode == Mode::Gcm && streams == 1 {
                    let form = Form::Record;
                    all.push(Spec { form, ..spec });
                }
                if mode == Mode::Gcm {
                    all.extend(OTHER_AAD.map(|aad| Spec { aad, ..spec }));
                    let (aad, form) = (0, Form::NullAad);
                    all.push(Spec { aad, form, ..spec });
                }
            }
        }
    }
    all
}

fn random() -> fastrand::Rng {
    let seed = std::env::var("SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| fastrand::u64(..));
    println!("SEED={seed}");
    fastrand::Rng::with_seed(seed)
}

/// All who have an operation give the same output; how many cells each has.
fn agree(peers: &[Peer], streams: usize, sizes: &[usize], of: fn(Mode) -> bool) -> Vec<usize> {
    let mut random = random();
    let mut cells = vec![0; peers.len()];
    for spec in specs(streams).into_iter().filter(|s| of(s.mode)) {
        // Key wrap takes 12 blocks, one after the other, for each block: longer keys only take
        // time.
        let most = if spec.wraps() { 512 } else { usize::MAX };
        for &bytes in sizes
            .iter()
            .filter(|bytes| spec.has_length(**bytes) && **bytes <= most)
        {
            let inputs = inputs(&mut random, spec);
            let input = data(&mut random, peers, spec, bytes, &inputs);
            let mut expected: Option<(String, [Vec<u8>; 3])> = None;
            for (peer, cells) in peers.iter().zip(&mut cells) {
                let Some(mut operation) = peer.operation(spec, bytes, &inputs).unwrap() else {
                    continue;
                };
                *cells += 1;
                let got = outputs(&mut *operation, spec, bytes, &input);
                assert_eq!(got[0], got[2], "{} {spec:?} {bytes}: restarted", peer.id());
                match &expected {
                    None => expected = Some((peer.id().to_owned(), got)),
                    Some((id, expected)) => {
                        assert!(
                            *expected == got,
                            "{} and {id} differ: {spec:?} {bytes}",
                            peer.id()
                        )
                    }
                }
            }
        }
    }
    cells
}

/// The core, whose own tests know the standards' vectors, and all peers.
fn core_and_peers() -> (Vec<Peer>, Vec<Missing>) {
    let mut peers = Peers::others();
    peers.here.insert(0, ours::selected().expect("a backend"));
    (peers.here, peers.missing)
}

#[test]
fn peers_agree() {
    let (peers, absent) = core_and_peers();
    for a in &absent {
        println!("{} is absent: {}", a.id, a.why);
    }
    // In CI, as in the tests of the core.
    let must_run = std::env::var_os("TENROUNDS_MUST_RUN").is_some();
    assert!(absent.is_empty() || !must_run, "peers are absent");
    let cells = agree(&peers, 1, &SIZES, |_| true);
    for (peer, cells) in peers.iter().zip(cells) {
        println!("{}: {cells} cells", peer.id());
        assert!(cells > 0, "{} does nothing", peer.id());
    }
}

#[test]
fn many_streams_agree() {
    let (peers, _) = core_and_peers();
    // In the others, a library without such a call makes single calls (below).
    let chained = |mode| ![Mode::Xts, Mode::Gcm, Mode::Ecb].contains(&mode);
    let cells = [
        agree(&peers, 5, &SIZES, chained),
        agree(&peers, 16, &SIZES, chained),
        agree(&peers, RAGGED, &[64 << 10, 256 << 10], chained),
    ];
    for (place, peer) in peers.iter().enumerate() {
        let cells: Vec<usize> = cells.iter().map(|cells| cells[place]).collect();
        println!("{}: {cells:?} cells", peer.id());
        let many = ["core", "ipsec-mb"].contains(&peer.id());
        assert!(cells.iter().all(|n| (*n > 0) == many), "{}", peer.id());
    }
}

/// The core's calls for many messages, of one key and of a key for each, give what every library
/// gives one by one.
#[test]
fn many_messages_agree() {
    let (peers, _) = core_and_peers();
    for (mode, sizes) in [(Mode::Gcm, &SIZES[..]), (Mode::Ecb, &[16])] {
        for streams in [16, RAGGED] {
            let cells = agree(
                &peers,
                streams,
                sizes,
                match mode {
                    Mode::Gcm => |mode| mode == Mode::Gcm,
                    _ => |mode| mode == Mode::Ecb,
                },
            );
            for (peer, cells) in peers.iter().zip(&cells) {
                println!("{}: {cells} cells", peer.id());
            }
            assert!(cells[0] > 0 && cells.iter().filter(|n| **n > 0).count() > 3);
        }
    }
}

/// The core's call for several units gives what every library gives unit by unit.
#[test]
fn runs_of_units_agree() {
    let (peers, _) = core_and_peers();
    let cells = agree(&peers, UNITS, &[16, 31, UNIT_BYTES, 4096], |mode| {
        mode == Mode::Xts
    });
    // 128 and 256 bits, both directions.
    assert_eq!(cells[0], 16);
    let stock = peers.iter().position(|p| p.id().starts_with("openssl-"));
    assert!(stock.is_none_or(|stock| cells[stock] == 16), "{cells:?}");
}

/// A length of all modes.
const TAMPERED: usize = 104;

#[test]
fn wrong_tags_are_seen() {
    let mut random = random();
    let (peers, _) = core_and_peers();
    for mut spec in specs(1) {
        spec.direction = Direction::Decrypt;
        if !spec.is_checked() || !spec.has_length(TAMPERED) {
            continue;
        }
        let inputs = inputs(&mut random, spec);
        let mut input = data(&mut random, &peers, spec, TAMPERED, &inputs);
        let bit = random.usize(..input.len() * 8);
        input[bit / 8] ^= 1 << (bit % 8);
        for peer in &peers {
            if let Some(mut opening) = peer.prepare(spec, TAMPERED, &inputs).unwrap() {
                let mut output = vec![0; spec.output_bytes(TAMPERED)];
                let opened = catch_unwind(AssertUnwindSafe(|| opening.call(&input, &mut output)));
                assert!(
                    opened.is_err(),
                    "{} takes a wrong tag: {spec:?}, bit {bit}",
                    peer.id()
                );
            }
        }
    }
}
