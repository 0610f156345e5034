// SPDX-License-Identifier: BSD-2-Clause
//! `trace` against a labelled corpus: programs and modes whose AES code is known. It prints which
//! answer each label had, and fails if one is wrong. `make check-full` runs it, because it takes a
//! minute.

use crate::support::{emulated, skip, until, Finish, Guarded, Place};
use crate::trace::{at_work, can_sample, openssl, traced, widest_aes, work, working};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// A process at work, and what `trace` must say of it.
struct Case {
    name: String,
    label: Label,
    child: Guarded,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    /// This class takes the most time of all AES code, and nothing contradicts it.
    Is(&'static str),
    /// Bitsliced code, which may stay unknown.
    Bitsliced,
    /// The same, without other AES code beside it.
    BitslicedAlone,
    /// Another cipher that uses AES instructions as an S-box.
    Sbox,
    /// A hash by AES instructions.
    Hash,
    /// No AES.
    None,
}

const INSTRUCTIONS: [&str; 4] = ["vaes512", "vaes256", "aes-ni", "arm-ce"];
const SOFTWARE: [&str; 2] = ["vperm", "tables"];

/// The answer: the kind of AES code with the most samples, or else what other code was named.
fn answer(place: &Place, child: &Guarded, seconds: &str) -> (String, Vec<String>) {
    let document = traced(place, child, seconds);
    assert!(
        document.at("/trace/samples").as_u64() > Some(5),
        "{document:#?}"
    );
    assert_eq!(document.at("/trace/lost"), 0);
    let mut samples = BTreeMap::new();
    for process in document.list("/trace/processes") {
        for finding in process["findings"].as_array().unwrap() {
            let work = finding["work"].as_str().unwrap().to_owned();
            *samples.entry(work).or_insert(0) += finding["samples"].as_u64().unwrap();
        }
    }
    let is_rounds = |work: &str| INSTRUCTIONS.contains(&work) || SOFTWARE.contains(&work);
    let most = |is: &dyn Fn(&str) -> bool| {
        let of_these = samples.iter().filter(|(work, _)| is(work));
        of_these
            .max_by_key(|(_, samples)| **samples)
            .map(|(work, _)| work.clone())
    };
    let found = most(&is_rounds).or_else(|| most(&|_| true));
    (
        found.unwrap_or_else(|| "none".to_owned()),
        samples.into_keys().collect(),
    )
}

impl Label {
    fn is_right(self, answer: &str, all: &[String]) -> bool {
        let has = |work: &str| all.iter().any(|other| other == work);
        let no_instructions = !INSTRUCTIONS.iter().any(|work| has(work));
        let no_aes = no_instructions && !SOFTWARE.iter().any(|work| has(work));
        match self {
            Label::Is(class) if INSTRUCTIONS.contains(&class) => answer == class && !has("tables"),
            Label::Is(class) => answer == class && no_instructions,
            // The rest of a mode can be vector permutation. OpenSSL encrypts single blocks of GCM
            // by tables beside its bitsliced code (AES_encrypt in CRYPTO_gcm128_init).
            Label::Bitsliced => no_instructions,
            Label::BitslicedAlone => no_aes,
            Label::Sbox => no_aes && answer == "sbox",
            Label::Hash => no_aes && answer == "hash",
            Label::None => no_aes && !has("hash") && !has("sbox"),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Label::Is(class) => class,
            Label::Bitsliced | Label::BitslicedAlone => "bitsliced",
            Label::Sbox => "sbox",
            Label::Hash => "hash",
            Label::None => "none",
        }
    }
}

#[derive(Default)]
struct Corpus {
    cases: usize,
    /// Label and answer.
    matrix: BTreeMap<(&'static str, String), usize>,
    wrong: Vec<String>,
}

impl Corpus {
    fn add(&mut self, place: &Place, case: &Case, seconds: &str) {
        let (answer, all) = answer(place, &case.child, seconds);
        if !case.label.is_right(&answer, &all) {
            self.wrong.push(format!(
                "{}: {:?} is called {answer}, of {all:?}",
                case.name, case.label
            ));
        }
        self.cases += 1;
        *self.matrix.entry((case.label.name(), answer)).or_default() += 1;
    }

    fn print(&self) {
        let mut text = format!(
            "# trace: {} programs and modes\n# label      answer     number\n",
            self.cases
        );
        for ((label, answer), count) in &self.matrix {
            text += &format!("# {label:<10} {answer:<10} {count}\n");
        }
        // libtest hides what a passing test prints.
        std::io::stderr().write_all(text.as_bytes()).unwrap();
    }
}

/// The core, by masks and modes.
fn core(place: &Place, corpus: &mut Corpus) {
    let program = work(place);
    let masks: &[&str] = match cfg!(target_arch = "aarch64") {
        true => &["", "noaes", "noaes,noneon"],
        false => &[
            "",
            "noavx512",
            "novaes",
            "noaes",
            "noaes,noavx512",
            "noaes,nossse3",
        ],
    };
    for mask in masks {
        for mode in ["ecb", "ctr", "cbc", "cbc-decrypt", "xts", "gcm"] {
            let (child, backend) = working(place, &program, mode, mask);
            let label = match (backend.split('-').next().unwrap(), mode) {
                // A chain of single blocks.
                ("vaes512" | "vaes256" | "aesni", "cbc") => Label::Is("aes-ni"),
                ("vaes512", _) => Label::Is("vaes512"),
                ("vaes256", _) => Label::Is("vaes256"),
                ("aesni", _) => Label::Is("aes-ni"),
                ("armce", _) => Label::Is("arm-ce"),
                ("vperm", _) => Label::Is("vperm"),
                _ => Label::Bitsliced,
            };
            let name = format!("{backend} {mode}");
            corpus.add(place, &Case { name, label, child }, "0.4");
        }
    }
}

/// The system's OpenSSL by masks and modes, and its other ciphers.
fn system_openssl(place: &Place, corpus: &mut Corpus) {
    let version = place.program("openssl").arg("version").done().ok().out;
    let old = version.starts_with("OpenSSL 3.0.");
    let vaes = has_vaes512(place);
    // Without AES and multiplication; without all.
    for mask in [None, Some("~0x200000200000000"), Some("0:0")] {
        for (cipher, options) in [
            ("aes-128-ecb", &[][..]),
            ("aes-256-cbc", &[]),
            ("aes-128-cbc", &["-decrypt"]),
            ("aes-128-ctr", &[]),
            ("aes-128-xts", &[]),
            ("aes-128-gcm", &[]),
            ("aes-128-ccm", &[]),
            ("aes-128-cfb", &[]),
            ("aes-128-ofb", &[]),
        ] {
            let sliced = ["aes-128-ctr", "aes-128-xts", "aes-128-gcm"].contains(&cipher)
                || !options.is_empty();
            let label = match mask {
                None if !old && vaes && cipher.ends_with("gcm") => Label::Is("vaes512"),
                // Later versions have more wide code.
                None if !old => continue,
                None => Label::Is("aes-ni"),
                Some("0:0") => Label::Is("tables"),
                Some(_) if sliced => Label::Bitsliced,
                Some(_) => Label::Is("vperm"),
            };
            let name = format!("openssl {cipher} {options:?} {mask:?}");
            let child = openssl(place, cipher, mask, options);
            corpus.add(place, &Case { name, label, child }, "0.5");
        }
    }
    for cipher in [
        "camellia-128-cbc",
        "aria-128-cbc",
        "aria-128-gcm",
        "sm4-cbc",
        "chacha20",
        "chacha20-poly1305",
        "des-ede3-cbc",
        "sha256",
        "sha512",
        "sha3-256",
    ] {
        let child = openssl(place, cipher, None, &[]);
        let name = format!("openssl {cipher}");
        let label = Label::None;
        corpus.add(place, &Case { name, label, child }, "0.4");
    }
}

/// The provider in the system's OpenSSL.
fn provider(place: &Place, corpus: &mut Corpus) {
    for (mask, label) in [
        ("avx512", "vaes512"),
        ("noavx512", "vaes256"),
        ("novaes", "aes-ni"),
        ("noaes", "vperm"),
    ] {
        let mut command = place.tool([
            "run", "--mask", mask, "--", "openssl", "speed", "-seconds", "600",
        ]);
        let child = at_work(command.args(["-bytes", "16384", "-evp", "aes-128-gcm"]));
        let name = format!("provider, {mask}");
        let label = Label::Is(label);
        corpus.add(place, &Case { name, label, child }, "0.6");
    }
}

/// A program that says a line once it works.
fn ready(mut command: Command) -> Option<Guarded> {
    command.stdout(Stdio::piped());
    let mut child = Guarded(command.spawn().ok()?);
    let mut lines = BufReader::new(child.0.stdout.as_mut().unwrap()).lines();
    lines.any(|line| line.unwrap() == "ready").then_some(child)
}

/// libgcrypt by its own switches, and nettle, through Python.
fn libraries(place: &Place, corpus: &mut Corpus) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trace/library.py");
    let (wide, narrow) = ("intel-vaes-vpclmul", "intel-aesni");
    for (arguments, label) in [
        (&["gcrypt", "7", "6", wide][..], Label::Is("aes-ni")),
        (&["gcrypt", "7", "9", wide], Label::Is("aes-ni")),
        (&["gcrypt", "7", "6", wide, narrow], Label::Is("vperm")),
        (
            &["gcrypt", "7", "6", wide, narrow, "intel-ssse3"],
            Label::Is("tables"),
        ),
        // Camellia, SM4, Serpent, Twofish.
        (&["gcrypt", "310", "6"], Label::Sbox),
        (&["gcrypt", "318", "6"], Label::Sbox),
        (&["gcrypt", "304", "6"], Label::None),
        (&["gcrypt", "303", "6"], Label::None),
    ] {
        let mut python = place.program("/usr/bin/python3");
        python.arg(script).args(arguments);
        let Some(child) = ready(python) else {
            skip(&format!("trace: libgcrypt cannot do {arguments:?} here"));
            continue;
        };
        let name = format!("{arguments:?}");
        corpus.add(place, &Case { name, label, child }, "0.4");
    }
    let mut python = place.program("/usr/bin/python3");
    python
        .arg(script)
        .arg("nettle")
        .env("NETTLE_FAT_OVERRIDE", "none");
    match ready(python) {
        Some(child) => {
            let (name, label) = (
                "nettle without instructions".to_owned(),
                Label::Is("tables"),
            );
            corpus.add(place, &Case { name, label, child }, "0.4");
        }
        None => skip("trace: libnettle is not here"),
    }
}

/// Rust crates, by their own switches and by the choice that each documents or makes in its source.
fn crates(place: &Place, corpus: &mut Corpus) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/fetch");
    let mut fetch = Command::new(script);
    let built = fetch.arg("trace-crates").stderr(Stdio::inherit()).output();
    let built = built.unwrap();
    if !built.status.success() {
        return skip("trace: scripts/fetch cannot build the Rust crates");
    }
    let folder = String::from_utf8(built.stdout).unwrap();
    let folder = Path::new(folder.trim_end());
    let (is, sliced) = (Label::Is, Label::BitslicedAlone);
    let widest = widest_aes(place);
    let wide512 = is(if widest == "vaes512" {
        widest
    } else {
        "aes-ni"
    });
    let wide256 = is(if widest == "aes-ni" {
        widest
    } else {
        "vaes256"
    });
    for (line, switch, label) in [
        // The crate aes: VAES on 512 or 256 bits since 0.9.
        ("default rustcrypto ctr", "", is(widest)),
        ("default rustcrypto gcm", "", is(widest)),
        ("default rustcrypto-0.8 ctr", "", is("aes-ni")),
        ("default rustcrypto-0.8 gcm", "", is("aes-ni")),
        ("software rustcrypto ctr", "", sliced),
        ("software rustcrypto gcm", "", sliced),
        ("software rustcrypto-0.8 ctr", "", sliced),
        ("software rustcrypto-0.8 gcm", "", sliced),
        // src/aead/aes_gcm.rs: VAES on 256 bits.
        ("default ring gcm", "", wide256),
        // src/low/x86_64/aes_gcm.rs: VAES on 512 bits.
        ("default graviola gcm", "", wide512),
        (
            "default graviola gcm",
            "GRAVIOLA_CPU_DISABLE_vaes=1",
            is("aes-ni"),
        ),
        // crypto/fipsmodule/cipher/e_aes.c and modes/gcm.c: only GCM has VAES, on 512 bits.
        ("default aws-lc-rs ctr", "", is("aes-ni")),
        ("default aws-lc-rs gcm", "", wide512),
        // Without VAES, without AES, and without all.
        (
            "default aws-lc-rs gcm",
            "OPENSSL_ia32cap=~0:~0x20000000000",
            is("aes-ni"),
        ),
        (
            "default aws-lc-rs ctr",
            "OPENSSL_ia32cap=~0x200000000000000",
            is("vperm"),
        ),
        ("default aws-lc-rs ctr", "OPENSSL_ia32cap=0:0", sliced),
        ("default aws-lc-rs gcm", "OPENSSL_ia32cap=0:0", sliced),
    ] {
        let mut words = line.split(' ');
        let mut command = place.program(folder.join(words.next().unwrap()));
        command.args(words).envs(switch.split_once('='));
        let name = format!("crates: {line} {switch}");
        let child = ready(command).unwrap_or_else(|| panic!("{name} ends"));
        corpus.add(place, &Case { name, label, child }, "0.4");
    }
}

fn go(place: &Place, corpus: &mut Corpus) {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trace/work.go");
    for flags in ["", "-s -w"] {
        let program = place.path("go-work");
        let mut build = Command::new("go");
        build
            .args(["build", "-ldflags", flags, "-o"])
            .arg(&program)
            .arg(source);
        if !build.status().is_ok_and(|status| status.success()) {
            return skip("trace: there is no Go that can build");
        }
        for (what, label) in [("gcm", Label::Is("aes-ni")), ("map", Label::Hash)] {
            let mut command = place.program(&program);
            let child = Guarded(command.arg(what).spawn().unwrap());
            let name = format!("go {what} {flags:?}");
            corpus.add(place, &Case { name, label, child }, "1");
        }
    }
}

/// Whether this processor can do AES on 512 bits, and its AVX-512 may be used.
fn has_vaes512(place: &Place) -> bool {
    widest_aes(place) == "vaes512"
}

/// The Java virtual machine uses the widest registers: those of 512 bits, where `status` has them.
fn java(place: &Place, corpus: &mut Corpus) {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/trace/Work.java");
    let mut javac = Command::new("javac");
    javac
        .args(["-d", "."])
        .arg(source)
        .current_dir(place.path(""));
    if !javac.status().is_ok_and(|status| status.success()) {
        return skip("trace: there is no javac");
    }
    let widest = has_vaes512(place);
    for (mode, option) in [
        ("GCM", "-XX:+UseAES"),
        ("CTR", "-XX:+UseAES"),
        ("GCM", "-XX:-UseAES"),
        ("CTR", "-XX:-UseAES"),
    ] {
        let mut java = place.program("java");
        let child = Guarded(java.args([option, "Work", mode]).spawn().unwrap());
        // The first seconds are those of its compiler.
        until("compiled code", || child.used() >= Duration::from_secs(4));
        let (answer, all) = answer(place, &child, "1");
        let by_instructions = match widest {
            true => answer == "vaes512",
            false => INSTRUCTIONS.contains(&answer.as_str()),
        };
        let wanted = option == "-XX:+UseAES";
        let none = !INSTRUCTIONS
            .iter()
            .any(|work| all.iter().any(|other| other == work));
        if !(wanted && by_instructions || !wanted && none) {
            corpus
                .wrong
                .push(format!("java {mode} {option}: {answer}, of {all:?}"));
        }
        corpus.cases += 1;
        let label = if wanted { "java" } else { "java -UseAES" };
        *corpus.matrix.entry((label, answer)).or_default() += 1;
    }
}

#[test]
#[ignore = "takes a minute: scripts/check-full runs it"]
fn a_labelled_corpus() {
    let place = Place::new();
    if emulated() || !can_sample(&place) {
        return;
    }
    let mut corpus = Corpus::default();
    core(&place, &mut corpus);
    system_openssl(&place, &mut corpus);
    if Path::new("/proc/cpuinfo").exists() && cfg!(target_arch = "x86_64") {
        provider(&place, &mut corpus);
        libraries(&place, &mut corpus);
        crates(&place, &mut corpus);
    }
    go(&place, &mut corpus);
    java(&place, &mut corpus);
    corpus.print();
    assert!(corpus.wrong.is_empty(), "{:#?}", corpus.wrong);
    assert!(corpus.cases >= 40, "{}", corpus.cases);
}
