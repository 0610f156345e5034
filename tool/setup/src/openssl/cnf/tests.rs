// SPDX-License-Identifier: BSD-2-Clause
//! Tests of the reader of openssl.cnf, most of them against libcrypto's own parser.

mod oracle;

use super::*;
use libcrypto::LibCrypto;
use oracle::Conf;

fn directory() -> PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("tenrounds-cnf-{}-{number}", std::process::id());
    std::env::temp_dir().join(name)
}

fn read(files: &[(&str, &str)]) -> Cnf {
    let dir = directory();
    for (name, text) in files {
        let path = dir.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let cnf = Cnf::read(&Root::new(&dir), Path::new("/openssl.cnf"));
    std::fs::remove_dir_all(&dir).unwrap();
    cnf
}

#[test]
fn what_libcrypto_reads() {
    let cnf = read(&[
        (
            "openssl.cnf",
            "a = 1 # not this\nb = \"x # y\" \\\n  z\n[ one ]\nc = $a${b}\n1.d = \\$e\n\
             .include /sub\nother::f = $one::c\n[one]\nc = last\n",
        ),
        ("sub/a.cnf", "in_one = yes\n[two]\ng = 1\n"),
        ("sub/b.txt", "[never]\n"),
    ]);
    assert!(cnf.troubles.is_empty(), "{:?}", cnf.troubles);
    let look = |section, name| cnf.value(section, name);
    assert_eq!(look("default", "b"), Some("x # y   z"));
    assert_eq!(look("one", "d"), Some("$e"));
    assert_eq!(look("one", "c"), Some("last"));
    assert_eq!(look("one", "in_one"), Some("yes"));
    assert_eq!(look("other", "f"), Some("1x # y   z"));
    assert_eq!(cnf.get("two", "g").unwrap().place.line, 3);
    assert!(!cnf.has_section("never"));
    assert_eq!(
        cnf.headers.iter().filter(|(name, _)| name == "one").count(),
        2
    );
}

#[test]
fn what_libcrypto_refuses() {
    let cnf = read(&[(
        "openssl.cnf",
        "[ open\nno equals\na = $nothing\n.include /absent.cnf\n.include /openssl.cnf\n",
    )]);
    let said: Vec<&str> = cnf.troubles.iter().map(|t| t.what.as_str()).collect();
    for part in [
        "no ']'",
        "no '='",
        "'nothing' has no value",
        "/absent.cnf",
        "a loop?",
    ] {
        assert!(
            said.iter().any(|what| what.contains(part)),
            "{part} in {said:?}"
        );
    }
    assert!(cnf.troubles[3].unreadable);
}

/// Each of these files alone is refused by libcrypto and by this reader, or by neither.
#[test]
fn libcrypto_refuses_the_same_lines() {
    let libcrypto = LibCrypto::open().unwrap();
    let dir = directory();
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("a.cnf");
    for (text, refused) in [
        ("a b = c\n", true),
        ("a\u{fc} = c\n", true),
        ("$a = c\n", true),
        (".pragma = dollarid:on\n$a = c\nb = $a\n", false),
        (".pragma dollarid:perhaps\n", true),
        (".pragma nothing\n", true),
        (".pragma = other:1\n", false),
        (".pragma = abspath:true\n.include = somewhere.cnf\n", true),
        (".pragma = includedir:/absent\n", false),
        ("a = ${b\n", true),
        ("b = 1\na = $(b)${b}$b\n", false),
        ("s::a = 1\n[t]\nb = $s::a\n", false),
        ("= 1\n", false),
        ("a-b.c;d@e = 1\n", false),
        ("a = \"x # y\n", false),
        ("a\n", true),
    ] {
        std::fs::write(&file, text).unwrap();
        let cnf = Cnf::read(&Root::new(Path::new("/")), &file);
        let by_us = cnf.troubles.iter().any(|t| !t.unreadable);
        let by_them = Conf::load(&libcrypto, &file).is_err();
        assert_eq!((by_us, by_them), (refused, refused), "{text}");
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

/// Compares every value of a file with what libcrypto reads, or that both refuse the file. Returns
/// the number of values. A failure names the `context`.
fn compare(libcrypto: &LibCrypto, file: &Path, context: &str) -> usize {
    let text = || String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned();
    let cnf = Cnf::read(&Root::new(Path::new("/")), file);
    let refused = cnf.troubles.iter().any(|t| !t.unreadable);
    let conf = match Conf::load(libcrypto, file) {
        Ok(conf) => conf,
        Err(why) => {
            assert!(refused, "{context} {why:?} in {:?}", text());
            return 0;
        }
    };
    assert!(!refused, "{context} {:?} in {:?}", cnf.troubles, text());
    let headers = cnf.headers.iter().map(|(name, _)| name);
    let named = headers.chain(cnf.assignments.iter().map(|a| &a.section));
    let mut compared = 0;
    for section in named.collect::<std::collections::BTreeSet<_>>() {
        let of_section = cnf.section(section);
        let ours: HashMap<_, _> = of_section
            .map(|a| (a.name.clone(), a.value.clone()))
            .collect();
        let theirs: HashMap<_, _> = conf.section(section).unwrap().into_iter().collect();
        assert_eq!(ours, theirs, "{context} [{section}] of {:?}", text());
        compared += ours.len();
    }
    compared
}

/// Names, quotes, escapes and continued lines that a reader can get wrong, with libcrypto's values.
#[test]
fn libcrypto_reads_the_same_values() {
    let libcrypto = LibCrypto::open().unwrap();
    let dir = directory();
    std::fs::create_dir_all(&dir).unwrap();
    let file = dir.join("a.cnf");
    // libcrypto reads a line in chunks of 510 bytes.
    let long = |end: &str| format!("a = {}{end}\n", "x".repeat(505));
    for (text, name, value) in [
        ("a\\(b = 1", "a\\(b", "1"),
        ("a\\=b = 1 \\= 2", "a\\=b", "1 = 2"),
        ("a = 'it\\'s' \"a \\\"b\\\"\" `\\n`", "a", "it's a \"b\" n"),
        ("a = \\n\\t\\r\\b\\q\\#\\\\ # b", "a", "\n\t\r\u{8}q#\\"),
        ("a = b\\ ", "a", "b"),
        ("a = 1 \\\n 2\\\n3 \\\\\nb = 4", "a", "1  23 \\"),
        ("a = b\\\\\\\nc = d", "a", "b\\"),
        ("a = b \\", "a", "b"),
        ("a = 'open # c", "a", "open # c"),
        ("a = \u{b}b\u{a0}", "a", "\u{b}b\u{a0}"),
        ("\u{feff}a = 1", "a", "1"),
        (
            "b = 1\na = $b$(b)${default::b}$default::b\\$b",
            "a",
            "1111$b",
        ),
        (".pragma dollarid:on\n$b = 1\na = $b${$b}", "a", "$b1"),
        (
            "default::a = 1\n[s]\nb = $a\ndefault::a = ${s::b}2",
            "a",
            "12",
        ),
        ("[ENV]\nPATH = here\n[default]\na = $ENV::PATH", "a", "here"),
        ("s::c = 1\nc = 2\ns::d = $c\na = $s::d", "a", "1"),
        ("[ s\\n ] b\nc = 1\n[default]\na = 2", "a", "2"),
        (".includes = /absent\na = 1", "a", "1"),
        (&long("\\y"), "a", &format!("{}y", "x".repeat(505))),
        (&long("\rb = 2"), "b", "2"),
        ("a = 1\0 2\nb = 3\n\0a = 2", "a", "1b = 3"),
    ] {
        std::fs::write(&file, text).unwrap();
        assert_ne!(compare(&libcrypto, &file, ""), 0, "{text:?}");
        let cnf = Cnf::read(&Root::new(Path::new("/")), &file);
        let mut of_name = cnf.assignments.iter().rev().filter(|a| a.name == name);
        let read = of_name.next().map(|a| a.value.as_str());
        assert_eq!(read, Some(value), "{text:?}");
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

/// Random files, and files that include them, read as libcrypto reads them.
#[test]
fn libcrypto_reads_the_same_from_random_files() {
    let libcrypto = LibCrypto::open().unwrap();
    let dir = directory();
    std::fs::create_dir_all(dir.join("sub")).unwrap();
    let (file, other) = (dir.join("a.cnf"), dir.join("sub/b.Conf"));
    let include = |path: &Path| format!(".include = {}\n", path.display());
    let (included, directory) = (include(&other), include(&dir.join("sub")));
    let starts = [
        "a = ",
        "b=",
        "s::c = ",
        "\\(d=",
        "default::b = ",
        "[s]#",
        "[ t \\u ]",
        "a = $b",
        "a=${b}\\",
        "b = $(s::c)",
        ".pragma = dollarid:on\n",
        ".pragma dollarid : off\n",
        &included,
        &directory,
    ];
    let values = [
        "x", "y", " ", "\\", "\\\\", "\\\n", "'", "'x'", "\"", "\"#\"", "`", "#", "\\n", "\r",
        "\0", "\u{fc}", "$a", "::", "=",
    ];
    let seed = std::env::var("SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or_else(|| std::process::id().into());
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % below
    };
    let mut compared = 0;
    for _ in 0..1500 {
        // The included file includes nothing.
        for (path, starts) in [(&other, &starts[..starts.len() - 2]), (&file, &starts[..])] {
            let mut text = "a = 1\nb = 2\ns::c = 3\n".to_owned();
            for _ in 0..random(8) {
                text.push_str(starts[random(starts.len())]);
                if random(8) == 0 {
                    text.push_str(&"z".repeat(490 + random(20)));
                }
                for _ in 0..random(5) {
                    text.push_str(values[random(values.len())]);
                }
                text.push_str(["\n", "\n", "\r\n", ""][random(4)]);
            }
            std::fs::write(path, text).unwrap();
        }
        compared += compare(&libcrypto, &file, &format!("SEED={seed}"));
    }
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(compared > 1000, "{compared}");
}

/// The same values as libcrypto's own parser, and errors in the same files.
#[test]
fn libcrypto_agrees() {
    let libcrypto = LibCrypto::open().unwrap();
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures/doctor/conf");
    let fixtures = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let system = libcrypto.config_dir().map(|dir| dir.join("openssl.cnf"));
    let mut compared = 0;
    for file in fixtures.chain(system).filter(|file| file.exists()) {
        // What is included there depends on the machine.
        if std::fs::read_to_string(&file).unwrap().contains(".include") {
            continue;
        }
        compared += compare(&libcrypto, &file, "");
    }
    assert!(compared > 50, "{compared}");
}

#[test]
fn noise_is_survived() {
    let noise: String = (0u32..20000)
        .map(|n| char::from((n.wrapping_mul(2654435761) >> 24) as u8))
        .collect();
    read(&[("openssl.cnf", &noise)]);
    read(&[("openssl.cnf", "a=${\n[]\n=\n$=$\n.include\n.pragma\n\\")]);
    let doubling: String = (0..40)
        .map(|n| format!("a{} = $a{n}$a{n}\n", n + 1))
        .collect();
    let cnf = read(&[("openssl.cnf", &format!("a0 = xx\n{doubling}"))]);
    assert!(cnf.troubles.iter().any(|t| t.what.contains("65536")));
}
