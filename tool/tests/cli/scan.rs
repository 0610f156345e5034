// SPDX-License-Identifier: BSD-2-Clause
//! `scan` on files that the system's assembler makes, on our own modules, and on the system's
//! libcrypto. crates/classify/tests/elf.rs tests the instructions one by one.

use crate::json::{valid, Document};
use crate::pseudo_terminal::{text_of, PseudoTerminal};
use crate::support::{
    built_module, contains, emulated, installed_library, module, skip, Done, Finish, Place, TOOL,
};
use serde_json::{json, Value};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Instructions of AES on the widest registers of this processor's family, a hash by AES, and no
/// AES.
#[cfg(target_arch = "x86_64")]
const BODIES: [&str; 3] = [
    "vaesenc %zmm1,%zmm0,%zmm0\nvaesenclast %zmm1,%zmm0,%zmm0",
    "aesenc %xmm1,%xmm0\naesenc %xmm1,%xmm0",
    "pclmulqdq $0,%xmm1,%xmm0",
];
#[cfg(target_arch = "aarch64")]
const BODIES: [&str; 3] = [
    ".arch armv8-a+crypto\naese v0.16b,v1.16b\naesmc v0.16b,v0.16b\naese v0.16b,v1.16b\neor v0.16b,v0.16b,v2.16b",
    ".arch armv8-a+crypto\naese v0.16b,v1.16b\naesmc v0.16b,v0.16b",
    ".arch armv8-a+crypto\npmull v0.1q,v1.1d,v2.1d",
];

const WIDEST: &str = if cfg!(target_arch = "aarch64") {
    "Arm CE"
} else {
    "VAES 512"
};

/// A shared library with one function.
fn library(place: &Place, name: &str, body: &str) -> PathBuf {
    let source = format!(".text\n.globl f\n.type f,%function\nf:\n{body}\nret\n.size f,.-f\n");
    let (source, file) = (place.file("a.s", &source), place.path(name));
    let cc = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut cc = Command::new(cc);
    cc.args(["-shared", "-nostdlib", "-o"])
        .arg(&file)
        .arg(source);
    assert!(cc.status().unwrap().success(), "{cc:?}");
    file
}

/// A directory with one library of each kind, and files that are no ELF files.
fn tree(place: &Place) -> PathBuf {
    let dir = place.path("tree");
    std::fs::create_dir_all(dir.join("below")).unwrap();
    for (name, body) in ["below/aes.so", "hash.so", "clmul.so"].iter().zip(BODIES) {
        library(place, &format!("tree/{name}"), body);
    }
    std::fs::write(dir.join("text"), "aesenc\n").unwrap();
    std::fs::write(dir.join("empty"), "").unwrap();
    symlink(&dir, dir.join("below/loop")).unwrap();
    symlink("below/aes.so", dir.join("link.so")).unwrap();
    std::fs::hard_link(dir.join("below/aes.so"), dir.join("name.so")).unwrap();
    dir
}

fn scan(place: &Place, args: &[&str]) -> Done {
    place.tool(["scan"]).args(args).done()
}

fn scanned(place: &Place, target: impl AsRef<Path>) -> Document {
    let mut tool = place.tool(["scan", "--json"]);
    let document = valid(&tool.arg(target.as_ref()).done().ok().out);
    assert_eq!(document.text("/command"), "scan");
    document
}

/// The file of this name in a document.
fn file(document: &Document, name: &str) -> Value {
    let files = document.list("/scan/files");
    let found = files
        .iter()
        .find(|file| file["path"].as_str().unwrap().ends_with(name));
    found
        .unwrap_or_else(|| panic!("no {name} in {files:#?}"))
        .clone()
}

#[test]
fn a_directory_is_scanned_and_the_verdict_comes_first() {
    let place = Place::new();
    let dir = tree(&place);
    let dir = dir.to_str().unwrap();
    let done = scan(&place, &[dir]).ok();
    let first = done.out.lines().next().unwrap();
    let widest = format!("{WIDEST} in {dir}/below/aes.so.");
    assert_eq!(
        first,
        format!("1 of 3 programs and libraries holds AES instructions: {widest}")
    );
    contains(
        &done.out,
        &[
            "1 file uses AES instructions only for hash functions or for other ciphers.",
            "not needed",
            "1 file has carry-less multiplication or SHA instructions, but no AES.",
            "unknown (1 file): The library is not known. tenrounds run --count",
        ],
    );
    assert!(
        !done.out.contains("clmul.so") && !done.out.contains("link.so"),
        "{}",
        done.out
    );
    assert_eq!(done.err, "");
    // A hard link is the same file.
    let document = scanned(&place, dir);
    assert_eq!(document.at("/scan/examined"), &json!(3));
    let kinds =
        ["aes.so", "hash.so", "clmul.so"].map(|name| file(&document, name)["holds"].clone());
    assert_eq!(kinds, ["instructions", "other-use", "others"]);
    let function = &file(&document, "aes.so")["functions"][0];
    assert_eq!(function["name"], "f");
    assert!(!function["class"].is_null(), "{function}");
    assert!(file(&document, "aes.so")["build_id"].is_string());
    assert_eq!(document.list("/scan/files").len(), 3);
}

/// The name of a file, its place and its mode say nothing, and no file is lost or counted twice.
#[test]
fn files_of_any_name_are_examined() {
    let place = Place::new();
    let aes = library(&place, "aes", BODIES[0]);
    let mut names = Vec::new();
    for number in 0..300 {
        let dir = place.path(&format!("tree/{}/{}", number % 7, number % 60));
        std::fs::create_dir_all(&dir).unwrap();
        let name = ["a.png", "b.py", ".c", "d.so.1", "e", "f.html", "g.o"][number / 5 % 7];
        let path = dir.join(format!("{number}{name}"));
        match number % 3 {
            0 => std::fs::write(&path, "text").unwrap(),
            _ => {
                std::fs::copy(&aes, &path).unwrap();
                names.push(path.to_str().unwrap().to_owned());
            }
        }
    }
    names.sort();
    let document = scanned(&place, place.path("tree"));
    let files = document.list("/scan/files");
    let found: Vec<&str> = files
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    assert_eq!(found, names);
    assert_eq!(document.at("/scan/examined"), &json!(200));
}

#[test]
fn nothing_found_is_no_failure() {
    let place = Place::new();
    let dir = place.path("texts");
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("text"), "aesenc\n").unwrap();
    let dir = dir.to_str().unwrap();
    let done = scan(&place, &[dir]).ok();
    assert_eq!(done.out, "There are no programs and no libraries here.\n");
    let plain = library(&place, "plain.so", "nop");
    let done = scan(&place, &[plain.to_str().unwrap()]).ok();
    assert_eq!(
        done.out,
        format!(
            "{} holds no AES instructions. Libraries that it opens when it runs are not followed.\n",
            plain.display()
        )
    );
    let hash = library(&place, "hash.so", BODIES[1]);
    let done = scan(&place, &[hash.to_str().unwrap()]).ok();
    let hash = "/hash.so holds no AES instructions that encrypt. Libraries that it opens when it runs are not followed.\n1 file uses AES";
    contains(&done.out, &[hash]);
}

#[test]
fn what_cannot_be_scanned_is_named_with_the_reason() {
    let place = Place::new();
    let text = place.file("text", "#!/bin/sh\n");
    let damaged = place.path("damaged");
    std::fs::write(&damaged, b"\x7fELF\x02\x01\x01 and no more").unwrap();
    let fifo = place.path("fifo");
    assert!(Command::new("mkfifo")
        .arg(&fifo)
        .status()
        .unwrap()
        .success());
    let dangling = place.path("dangling");
    symlink("nowhere", &dangling).unwrap();
    for (path, why) in [
        (text, "it is no ELF file"),
        (damaged, "it is a damaged ELF file: "),
        (fifo, "it is neither a regular file nor a directory"),
        (dangling, "the symbolic link leads nowhere"),
        (place.path("none"), "there is no such file or directory"),
        (
            PathBuf::from("no-such-package"),
            "it is no file, no process and no installed package",
        ),
    ] {
        let path = path.to_str().unwrap();
        let said = scan(&place, &[path]).failed(1);
        contains(&said, &[&format!("cannot scan '{path}': {why}")]);
    }
    // A hole takes no room on the disk.
    let large = place.file("large", "\x7fELF");
    let file = std::fs::File::options().write(true).open(&large).unwrap();
    file.set_len((2 << 30) + 1).unwrap();
    let large = large.to_str().unwrap();
    let said = scan(&place, &[large]).failed(1);
    let why = "it is larger than 2 GiB, which is not examined";
    contains(&said, &[&format!("cannot scan '{large}': {why}")]);
    let troubles = scanned(&place, place.path("")).list("/scan/troubles");
    let trouble = json!({ "path": large, "why": why });
    assert!(troubles.contains(&trouble), "{troubles:#?}");
    let said = scan(&place, &["4194305"]).failed(1);
    contains(
        &said,
        &["cannot scan '4194305': there is no process 4194305"],
    );
    // The others are scanned nonetheless.
    let dir = tree(&place);
    let done = scan(&place, &["none", dir.to_str().unwrap(), "nothing"]);
    assert_eq!(done.status, Some(1));
    assert_eq!(done.err.lines().count(), 2, "{}", done.err);
    contains(
        &done.out,
        &["1 of 3 programs and libraries holds AES instructions"],
    );
}

/// On a terminal, the files that are done are counted from half a second on.
#[test]
fn a_scan_that_takes_long_shows_its_progress() {
    const FILES: usize = 3000;
    let place = Place::new();
    let (library, _) = system_libcrypto(&place);
    let dir = place.path("copies");
    std::fs::create_dir(&dir).unwrap();
    // Names of one file, of which each is examined.
    let first = dir.join("0.so");
    std::fs::copy(library, &first).unwrap();
    for number in 1..FILES {
        std::fs::hard_link(&first, dir.join(format!("{number}.so"))).unwrap();
    }
    let mut tool = place.tool(["scan"]);
    let mut terminal = PseudoTerminal::start(tool.arg(&dir), 24, 80);
    let shown = terminal.shows(&[&format!("/{FILES} files")]);
    let before = shown.split_once(&format!("/{FILES} files")).unwrap().0;
    let count = |text: &str| -> usize { text.rsplit(' ').next().unwrap().parse().unwrap() };
    let first = count(before);
    assert!((1..FILES).contains(&first), "{shown}");
    terminal.wait("higher number", |screen| {
        let text = text_of(screen);
        text.split_once('/')
            .is_some_and(|(before, _)| count(before) > first)
    });
    terminal.press("\x03");
    let status = terminal.ends();
    assert_eq!(status.signal(), Some(libc::SIGINT));
}

#[test]
fn a_directory_that_cannot_be_read() {
    // SAFETY: it has no arguments and cannot fail.
    if unsafe { libc::geteuid() } == 0 {
        // Root may read every directory, so a damaged file stands for it.
        let place = Place::new();
        let dir = place.path("dir");
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("damaged"), b"\x7fELF\x02\x01\x01 and no more").unwrap();
        let dir = dir.to_str().unwrap();
        return contains(
            &scan(&place, &[dir]).ok().out,
            &[
                "1 file or directory could not be examined, such as ",
                "/damaged: it is a damaged ELF file: ",
            ],
        );
    }
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let dir = place.path("dir");
    std::fs::create_dir(&dir).unwrap();
    let mode = |mode| std::fs::set_permissions(&dir, PermissionsExt::from_mode(mode)).unwrap();
    mode(0);
    let said = scan(&place, &[dir.to_str().unwrap()]);
    let around = scan(&place, &[place.path("").to_str().unwrap()]);
    mode(0o755);
    contains(&said.failed(1), &["Permission denied"]);
    contains(
        &around.ok().out,
        &["1 file or directory could not be examined"],
    );
}

/// Programs seldom have AES code of their own: they load it, through a library that loads another.
#[test]
fn the_libraries_that_a_program_loads_are_followed() {
    let place = Place::new();
    let aes = library(&place, "libaes.so.1", BODIES[0]);
    let cc = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let linked = |name: &str, with: &Path, runpath: &str| {
        let (source, file) = (place.file("b.s", ".text\n"), place.path(name));
        let mut cc = Command::new(&cc);
        cc.args(["-shared", "-nostdlib", "-Wl,--no-as-needed", "-o"]);
        let (dir, name) = (with.parent().unwrap(), with.file_name().unwrap());
        cc.arg(&file).arg(source).arg("-L").arg(dir);
        cc.arg(format!("-l:{}", name.to_str().unwrap()));
        cc.arg(format!("-Wl,-rpath,{runpath}"));
        assert!(cc.status().unwrap().success(), "{cc:?}");
        file
    };
    // $ORIGIN is the folder of the file that needs the library.
    std::fs::create_dir(place.path("below")).unwrap();
    let middle = linked("below/libmiddle.so", &aes, "$ORIGIN/..");
    let server = linked("server", &middle, "$ORIGIN/below");
    let server = server.to_str().unwrap();
    let done = scan(&place, &[server]).ok();
    let first = done.out.lines().next().unwrap();
    let words = format!("{server} holds no AES instructions itself, but loads them through ");
    assert!(first.starts_with(&words), "{first}");
    contains(first, &["libaes.so.1", WIDEST]);
    let document = scanned(&place, server);
    assert_eq!(document.at("/scan/programs/0/libraries"), 2);
    let through = document.text("/scan/programs/0/through/0/path");
    assert_eq!(Path::new(&through), aes.canonicalize().unwrap());
    assert_eq!(document.at("/scan/examined"), 3);
    // Two programs, and one with AES code of its own.
    let done = scan(&place, &[server, middle.to_str().unwrap()]).ok();
    contains(
        &done.out,
        &[
            "1 of 3 programs and libraries holds AES instructions",
            &format!("{server} loads AES instructions through "),
        ],
    );
    // Without its library, the program is what there is.
    std::fs::remove_file(&aes).unwrap();
    let done = scan(&place, &[server]).ok();
    contains(
        &done.out,
        &[
            "1 library that it loads hold no AES",
            "libaes.so.1 was not found",
        ],
    );
    // The system's.
    let openssl = Command::new("sh")
        .args(["-c", "command -v openssl"])
        .output();
    let openssl = String::from_utf8(openssl.unwrap().stdout).unwrap();
    let done = scan(&place, &[openssl.trim()]).ok();
    contains(
        done.out.lines().next().unwrap(),
        &["through", "libcrypto.so"],
    );
}

/// A path can be longer than the kernel takes. What lies below is not examined, and counted.
#[test]
fn folders_that_are_too_deep_are_named() {
    let place = Place::new();
    let top = place.path("top");
    std::fs::create_dir(&top).unwrap();
    let name = "x".repeat(250);
    let name = std::ffi::CString::new(name).unwrap();
    let mut dir = OwnedFd::from(std::fs::File::open(&top).unwrap());
    for _ in 0..20 {
        // SAFETY: the descriptor is open, and the name is a C string.
        let below = unsafe {
            assert_eq!(libc::mkdirat(dir.as_raw_fd(), name.as_ptr(), 0o755), 0);
            libc::openat(dir.as_raw_fd(), name.as_ptr(), libc::O_DIRECTORY)
        };
        assert!(below >= 0);
        // SAFETY: it was opened just now, and nothing else owns it.
        dir = unsafe { OwnedFd::from_raw_fd(below) };
    }
    let done = scan(&place, &[top.to_str().unwrap()]).ok();
    contains(
        &done.out,
        &[
            "1 file or directory could not be examined, such as ",
            "File name too long",
        ],
    );
}

/// Root of a container may not read its own processes.
#[test]
fn root_without_the_capability_is_told_so() {
    // SAFETY: it has no arguments and cannot fail.
    if unsafe { libc::geteuid() } != 0 {
        return skip("dropping capabilities of root needs root");
    }
    let place = Place::new();
    let child = crate::support::sleeping(place.program("sleep"));
    let pid = child.0.id().to_string();
    let mut tool = place.program("setpriv");
    let drop = "--bounding-set=-sys_ptrace,-perfmon,-sys_admin,-dac_override,-dac_read_search";
    tool.args([drop, "--inh-caps=-all", "--"]);
    let said = tool.args([TOOL, "scan", &pid]).done().failed(1);
    contains(&said, &["process", &pid, "root lacks CAP_SYS_PTRACE here"]);
    assert!(!said.contains("another user"), "{said}");
}

#[test]
fn the_files_of_a_process() {
    let place = Place::new();
    let aes = library(&place, "libwide.so", BODIES[0]);
    // A copy, which is deleted while it runs.
    let program = place.path("program");
    std::fs::copy("/bin/cat", &program).unwrap();
    let mut cat = place.program(&program);
    cat.env("LD_PRELOAD", &aes)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = cat.started();
    {
        // Once it answers, it has loaded its libraries.
        use std::io::{Read, Write};
        child.0.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        child
            .0
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut [0])
            .unwrap();
    }
    std::fs::remove_file(&program).unwrap();
    let pid = child.0.id().to_string();
    let document = scanned(&place, &pid);
    assert_eq!(file(&document, "/libwide.so")["holds"], "instructions");
    // The library, the program, the dynamic linker and the C library.
    assert!(
        document.at("/scan/examined").as_u64() >= Some(4),
        "{document:?}"
    );
    assert_eq!(document.list("/scan/troubles"), [json!(null); 0]);
    let replaced = place.path("libwide.so");
    std::fs::remove_file(&replaced).unwrap();
    let document = scanned(&place, &pid);
    let why = document.text("/scan/troubles/0/why");
    contains(&why, &["was deleted or replaced since the process started"]);
}

/// The path of the libcrypto that the tool uses, and its version.
fn system_libcrypto(place: &Place) -> (PathBuf, String) {
    let host = valid(&place.tool(["status", "--json"]).done().ok().out);
    let path = PathBuf::from(host.text("/host/openssl/library"));
    let version = host.text("/host/openssl/version");
    let version = version.trim_start_matches("OpenSSL ");
    (path, version.split(' ').next().unwrap().to_owned())
}

#[test]
fn the_system_s_libcrypto() {
    let place = Place::new();
    let (path, version) = system_libcrypto(&place);
    let document = scanned(&place, path.canonicalize().unwrap());
    let found = &document.list("/scan/files")[0];
    assert_eq!(
        found["library"],
        json!({ "name": "OpenSSL", "version": version })
    );
    assert_eq!(found["reach"], "provider");
    // OpenSSL has AES on wide registers since 3.1.
    let old = version.starts_with("3.0.");
    let expected = match old {
        _ if cfg!(target_arch = "aarch64") => "arm-ce",
        true => "aes-ni",
        false => "vaes512",
    };
    assert_eq!(found["class"], expected);
    let text = scan(&place, &[path.to_str().unwrap()]).ok().out;
    contains(
        &text,
        &[
            " holds AES instructions: ",
            &format!("OpenSSL {version}"),
            "tenrounds enable",
        ],
    );
}

#[test]
fn a_package() {
    let place = Place::new();
    let (path, _) = system_libcrypto(&place);
    let mut owner = Command::new("dpkg-query");
    owner
        .arg("-S")
        .arg(format!("*/{}", path.file_name().unwrap().to_str().unwrap()));
    let owner = owner.output().ok().filter(|output| output.status.success());
    let Some(owner) = owner.map(|output| String::from_utf8(output.stdout).unwrap()) else {
        return skip("no package of dpkg has a libcrypto");
    };
    let (package, _) = owner.split_once(": ").unwrap();
    let document = scanned(&place, package.split(',').next().unwrap());
    assert_eq!(file(&document, "libcrypto.so.3")["reach"], "provider");
}

#[test]
fn our_own_code() {
    let place = Place::new();
    let library = built_module().ancestors().find_map(|dir| {
        let file = dir.join("libtenrounds.so");
        file.exists().then_some(file)
    });
    for path in [module()].into_iter().chain(library) {
        let document = scanned(&place, &path);
        let found = &document.list("/scan/files")[0];
        assert_eq!(
            found["library"],
            json!({ "name": "tenrounds", "version": env!("CARGO_PKG_VERSION") }),
            "{path:?}"
        );
        assert_eq!(found["reach"], "itself");
        assert!(found["tables"].as_array().unwrap().is_empty(), "{path:?}");
        let functions = found["functions"].as_array().unwrap();
        let mut classes: Vec<&str> = functions
            .iter()
            .filter_map(|f| f["class"].as_str())
            .collect();
        classes.sort_unstable();
        classes.dedup();
        match cfg!(target_arch = "aarch64") {
            true => assert!(classes.contains(&"arm-ce"), "{classes:?}"),
            false => {
                for class in ["aes-ni", "vaes256", "vaes512"] {
                    assert!(classes.contains(&class), "{path:?}: {classes:?}");
                }
            }
        }
    }
}

/// Loads a library, and prints the version that one of its functions returns, and the path of the
/// file that the process then has mapped.
const ASK: &str = "import ctypes, sys
library, function, named = sys.argv[1:]
call = getattr(ctypes.CDLL(library), function)
call.restype = ctypes.c_char_p
print(call(None).decode())
ctypes.CDLL(named)
print(next(line.split()[-1] for line in open('/proc/self/maps') if '/' + named in line))";

/// Libraries of the distribution: `scan` names them, and the version that they say themselves.
#[test]
#[ignore = "needs libraries that only make check-full asks for"]
fn installed_libraries_are_known() {
    if emulated() {
        return;
    }
    let place = Place::new();
    let mut asked = vec![
        (
            "libgcrypt",
            "libgcrypt.so.20",
            "gcry_check_version",
            "libgcrypt.so.20",
        ),
        (
            "GnuTLS",
            "libgnutls.so.30",
            "gnutls_check_version",
            "libgnutls.so.30",
        ),
        // The functions of nettle return numbers.
        (
            "nettle",
            "libgnutls.so.30",
            "gnutls_check_version",
            "libnettle.so.8",
        ),
        ("NSS", "libnss3.so", "NSS_GetVersion", "libfreeblpriv3.so"),
    ];
    if cfg!(target_arch = "x86_64") {
        let file = installed_library(&["libIPSec_MB.so.2", "libIPSec_MB.so.1"]);
        let file = file.unwrap_or("libIPSec_MB.so.1");
        asked.push(("Intel IPsec MB", file, "imb_get_version_str", file));
    }
    for (name, library, function, named) in asked {
        let mut python = place.program("/usr/bin/python3");
        let done = python.args(["-c", ASK, library, function, named]).done();
        if done.status != Some(0) {
            let why = done.err.trim_end().lines().last().unwrap_or_default();
            let is_missing = why.contains("cannot open shared object file");
            assert!(is_missing, "{name}: {}", done.err);
            skip(&format!("{name} is not installed: {why}"));
            continue;
        }
        let (version, path) = done.out.trim().split_once('\n').unwrap();
        let version = match name {
            "nettle" => Value::Null,
            _ => version.trim_start_matches('v').into(),
        };
        let file = file(&scanned(&place, path), path);
        assert_eq!(
            file["library"],
            json!({ "name": name, "version": version }),
            "{path}"
        );
    }
    let mut java = place.program("java");
    let Ok(output) = java
        .args(["-XshowSettings:properties", "-version"])
        .output()
    else {
        return skip("there is no java");
    };
    let said = Done::from(output).err;
    let property = |name: &str| {
        let mut lines = said
            .lines()
            .filter_map(|line| line.trim().split_once(" = "));
        let found = lines.find(|(key, _)| *key == name);
        found
            .unwrap_or_else(|| panic!("no {name} in {said}"))
            .1
            .to_owned()
    };
    let machine = property("java.home") + "/lib/server/libjvm.so";
    let file = file(&scanned(&place, &machine), "libjvm.so");
    let known = json!({ "name": "HotSpot", "version": property("java.vm.version") });
    assert_eq!(
        (&file["library"], &file["holds"]),
        (&known, &json!("writes-code"))
    );
}
