// SPDX-License-Identifier: BSD-2-Clause
//! `doctor` on machines that are healthy but for one thing: each finding is made where it has to
//! be, and only there.

use crate::json::valid;
use crate::machine::{Machine, FIXTURES};
use crate::support::{contains, skip, until, within, Finish, Place, CPU_MASK, PATIENCE};

#[test]
fn a_healthy_machine() {
    let machine = Machine::healthy();
    let examined = machine.examined(&[]);
    // Its one process was started before tenrounds was preferred.
    assert_eq!(examined.ids(), ["not-loaded"]);
    assert_eq!(examined.status(), 0);
    assert_eq!(examined.0.text("/doctor/verdict"), "healthy");
    assert_eq!(examined.0.text("/doctor/openssl/0/version"), "3.0.13");
    assert_eq!(
        examined.0.text("/doctor/openssl/0/directory"),
        "/usr/lib/ssl"
    );
    assert_eq!(
        examined
            .0
            .text("/doctor/processes/list/0/libcrypto/0/version"),
        "3.0.13"
    );
    let text = machine.doctor(&[], &[]).ok().out;
    assert_eq!(text.lines().next(), Some("tenrounds doctor OK: 1 note"));
    assert_eq!(
        text.lines().nth(1),
        Some("tenrounds is in force: every OpenSSL that was found prefers it. 0 of 1 running processes with OpenSSL have it loaded.")
    );
    assert_eq!(examined.0.text("/doctor/in_force"), "yes");
    assert!(!text.contains('\x1b'), "{text}");
}

/// The lines after the first say whether tenrounds is in force, and what to do first.
#[test]
fn the_verdict() {
    let summary = |machine: &Machine| {
        let examined = machine.examined(&[]);
        let lines = examined.0.list("/doctor/summary");
        let lines: Vec<&str> = lines.iter().map(|line| line.as_str().unwrap()).collect();
        let text = machine.doctor(&[], &[]).out;
        let shown: Vec<&str> = text.lines().skip(1).take(lines.len()).collect();
        assert_eq!(shown, lines);
        (examined.0.text("/doctor/in_force"), lines.join("\n"))
    };
    let machine = Machine::healthy();
    machine.write("etc/ssl/openssl.cnf", "");
    let (in_force, said) = summary(&machine);
    assert_eq!(in_force, "no");
    contains(
        &said,
        &["is not in force", "or the system, ", "or your account, "],
    );
    // What cannot work is not prescribed.
    let nowhere = [("TENROUNDS_MODULE", "/nonexistent")];
    let text = machine.doctor(&[], &nowhere).out;
    let said = text.lines().nth(2).unwrap();
    contains(
        said,
        &[
            "cannot be enabled yet: the provider is missing",
            "/nonexistent",
        ],
    );
    machine.remove("usr/lib/libcrypto.so.3");
    let (_, said) = summary(&machine);
    contains(&said, &["For the system, first install OpenSSL 3"]);
    assert!(!said.contains("enable --system"), "{said}");
    let machine = Machine::healthy();
    machine.write("etc/ssl/openssl.cnf", "");
    machine.write("proc/sys/crypto/fips_enabled", "1\n");
    let (_, said) = summary(&machine);
    contains(&said, &["cannot be enabled: the system is in FIPS mode"]);

    let machine = Machine::healthy();
    let library = std::fs::read(machine.dir.join("usr/lib/libcrypto.so.3")).unwrap();
    let other = String::from_utf8_lossy(&library).into_owned();
    assert!(other.contains("/usr/lib/ssl"));
    let at = library
        .windows(12)
        .position(|w| w == b"/usr/lib/ssl")
        .unwrap();
    let mut other = library.clone();
    other[at..at + 12].copy_from_slice(b"/opt/new/ssl");
    machine.write("opt/new/lib/libcrypto.so.3", other);
    machine.write("opt/new/ssl/openssl.cnf", "");
    let (in_force, said) = summary(&machine);
    assert_eq!(in_force, "partly");
    contains(&said, &["in force in part: 1 of 2 configurations"]);

    let machine = Machine::healthy();
    machine.edit(
        "proc/100/maps",
        "libcrypto.so.3",
        "libcrypto.so.3 (deleted)",
    );
    let (in_force, said) = summary(&machine);
    assert_eq!(in_force, "yes");
    contains(
        &said,
        &["Do first: systemctl restart nginx.service. Reason: code that was replaced"],
    );

    machine.remove("usr/lib/ossl-modules/tenrounds.so");
    let (in_force, said) = summary(&machine);
    assert_eq!(in_force, "no");
    contains(
        &said,
        &[
            "prefers it, but does not work",
            "module of provider 'tenrounds' does not exist",
        ],
    );
    // The worst comes first.
    let text = machine.doctor(&[], &[]).out;
    let at = |title: &str| {
        text.find(&format!("\n{title}"))
            .unwrap_or_else(|| panic!("{title} in {text}"))
    };
    assert!(at("Problems\n") < at("Warnings\n"));
}

/// A cure is one that this machine can do.
#[test]
fn cures_that_cannot_work_are_not_named() {
    let machine = Machine::healthy();
    machine.edit(
        "proc/crypto",
        "xts-aes-vaes-avx512",
        "xts(ecb(aes-generic))",
    );
    let cures = |machine: &Machine| {
        let examined = machine.examined(&[]);
        examined.the("kernel-software")
    };
    // No module of this name is listed for the kernel.
    machine.write("proc/sys/kernel/osrelease", "6.1.0\n");
    assert!(!cures(&machine).contains("modprobe"));
    machine.write(
        "lib/modules/6.1.0/modules.dep",
        "kernel/arch/x86/crypto/aesni-intel.ko: \n",
    );
    contains(&cures(&machine), &["modprobe aesni_intel"]);
    machine.remove("proc/modules");
    assert!(!cures(&machine).contains("modprobe"));
}

/// Of two OpenSSLs with one configuration both are named.
#[test]
fn all_who_read_a_configuration_are_named() {
    let machine = Machine::healthy();
    machine.write("etc/ssl/openssl.cnf", "[broken\n");
    let library = std::fs::read(machine.dir.join("usr/lib/libcrypto.so.3")).unwrap();
    machine.write("opt/new/lib/libcrypto.so.3", library);
    let found = machine.examined(&[]).the("conf-syntax");
    contains(
        &found,
        &["/usr/lib/libcrypto.so.3", "/opt/new/lib/libcrypto.so.3"],
    );
}

/// The second line of each configuration says what is to be found.
#[test]
fn configurations() {
    let mut tried = 0;
    for entry in std::fs::read_dir(format!("{FIXTURES}/conf")).unwrap() {
        let file = entry.unwrap().path();
        let text = std::fs::read_to_string(&file).unwrap();
        let expected = text
            .lines()
            .find_map(|line| line.strip_prefix("# finds: "))
            .unwrap();
        let machine = Machine::healthy();
        machine.remove("proc/100");
        machine.write("etc/ssl/included.cnf", "[included]\na = 1\n");
        machine.write("etc/ssl/openssl.cnf", &text);
        let examined = machine.examined(&[]);
        let expected = if expected == "nothing" {
            vec![]
        } else {
            vec![expected]
        };
        assert_eq!(examined.ids(), expected, "{}", file.display());
        for id in expected {
            contains(&examined.the(id), &["/ssl/openssl.cnf:", "who reads it"]);
        }
        tried += 1;
    }
    assert!(tried >= 20, "{tried}");
}

#[test]
fn the_line_and_the_cure_are_exact() {
    let machine = Machine::healthy();
    machine.edit("etc/ssl/openssl.cnf", "= ?tenrounds.aes", "= tenrounds.aes");
    let found = machine.examined(&[]).the("properties-demanded");
    contains(
        &found,
        &[
            "/usr/lib/ssl/openssl.cnf:25",
            "[alg_sect] default_properties = tenrounds.aes=yes",
            "\"set\":\"default_properties = ?tenrounds.aes=yes\"",
            "OpenSSL 3.0.13 (/usr/lib/libcrypto.so.3)",
        ],
    );
}

#[test]
fn hostile_configurations_are_survived() {
    let machine = Machine::healthy();
    let noise: Vec<u8> = (0u32..300_000)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    machine.write("etc/ssl/openssl.cnf", &noise);
    assert!(machine.examined(&[]).status() <= 2);
    machine.write("etc/ssl/openssl.cnf", vec![b'\n'; 20 << 20]);
    contains(
        &machine.examined(&[]).the("conf-unreadable"),
        &["longer than"],
    );
    machine.remove("etc/ssl/openssl.cnf");
    let fifo = machine.dir.join("etc/ssl/openssl.cnf");
    let status = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(status.unwrap().success());
    contains(
        &machine.examined(&[]).the("conf-unreadable"),
        &["no regular file"],
    );
}

/// Lines that OpenSSL refuses, and part of its message.
const REFUSED: [(&str, &str); 7] = [
    (
        "engines = engs\n[engs]\nfoo = foo_sect\n[foo_sect]\ndynamic_path = /nonexistent.so\n",
        "/nonexistent.so: cannot open shared object file",
    ),
    ("activate = 1\n", "unknown module name"),
    (
        "alg_section = algs\n[algs]\nno_such_option = 1\n",
        "name=no_such_option",
    ),
    (
        "alg_section = algs\n[algs]\ndefault_properties = ??x\n",
        "not an identifier",
    ),
    ("ssl_conf = nowhere\n", "ssl section not found"),
    (
        "providers = provs\n[provs]\nfoo = nowhere\n",
        "provider section error",
    ),
    ("no_such_module = 1\n", "unknown module name"),
];

#[test]
fn configurations_that_openssl_refuses() {
    for (lines, said) in REFUSED {
        let machine = Machine::healthy();
        machine.openssl();
        let text = format!("config_diagnostics = 1\nopenssl_conf = init\n[init]\n{lines}");
        machine.write("etc/ssl/openssl.cnf", text);
        let examined = machine.examined(&[]);
        contains(
            &examined.the("openssl-broken"),
            &[
                "\"problem\"",
                "OpenSSL does not start with /usr/lib/ssl/openssl.cnf",
                "usr/bin/openssl rand -hex 16",
                "FATAL: Startup failure",
                said,
            ],
        );
        assert_eq!(examined.status(), 2);
        let text = text_of_line(&machine, "config_diagnostics = 0");
        machine.write("etc/ssl/openssl.cnf", text);
        let ids = machine.examined(&[]).ids();
        assert!(!ids.contains(&"openssl-broken".to_owned()), "{said}");
    }
}

/// The configuration with its first line replaced. Without config_diagnostics, OpenSSL ignores all
/// of these errors.
fn text_of_line(machine: &Machine, line: &str) -> String {
    let text = std::fs::read_to_string(machine.dir.join("etc/ssl/openssl.cnf")).unwrap();
    let (_, rest) = text.split_once('\n').unwrap();
    format!("{line}\n{rest}")
}

#[test]
fn a_configuration_of_this_shell_that_openssl_refuses() {
    let machine = Machine::healthy();
    machine.openssl();
    machine.write("etc/ssl/openssl.cnf", "");
    machine.write(
        "etc/mine.cnf",
        format!(
            "config_diagnostics = 1\nopenssl_conf = init\n[init]\n{}",
            REFUSED[1].0
        ),
    );
    assert!(!machine
        .examined(&[])
        .ids()
        .contains(&"openssl-broken".to_owned()));
    let found = machine.examined(&[("OPENSSL_CONF", "/etc/mine.cnf")]);
    contains(
        &found.the("openssl-broken"),
        &["start with /etc/mine.cnf", "unknown module name"],
    );
}

/// OpenSSL runs without the provider, and reports nothing.
#[test]
fn a_provider_that_is_not_loaded() {
    let machine = Machine::healthy();
    machine.openssl();
    // The module exists in the machine's tree, but not on this machine, where openssl runs.
    machine.edit("etc/ssl/openssl.cnf", "/usr/lib/ossl-modules/", "/absent/");
    machine.link("absent", "usr/lib/ossl-modules");
    contains(
        &machine.examined(&[]).the("provider-not-loaded"),
        &[
            "the provider 'tenrounds' is activated",
            "[provider_sect] tenrounds = tenrounds_sect",
            "list -providers",
            "active: default",
            "-provider /absent/tenrounds.so",
        ],
    );
}

/// A program that loads a truncated module is killed, or runs without it.
#[test]
fn a_truncated_module() {
    for part in [100, 10_000] {
        let machine = Machine::healthy();
        let module = machine.dir.join("usr/lib/ossl-modules/tenrounds.so");
        let whole = std::fs::read(&module).unwrap();
        assert!(whole.len() > part);
        std::fs::write(&module, &whole[..part]).unwrap();
        let found = machine.examined(&[]).the("module-damaged");
        contains(
            &found,
            &["\"problem\"", &format!("truncated to {part} of"), "SIGBUS"],
        );
    }
}

#[test]
fn a_module_that_others_can_replace() {
    let module = "usr/lib/ossl-modules/tenrounds.so";
    for (path, mode, cure) in [
        (module, 0o666, "sudo chmod go-w "),
        ("usr/lib/ossl-modules", 0o777, "sudo chmod go-w "),
        ("usr/lib", 0o777, "sudo chmod go-w "),
    ] {
        let machine = Machine::healthy();
        machine.openssl();
        machine.set_mode(path, mode);
        let examined = machine.examined(&[]);
        let part = machine.dir.join(path).display().to_string();
        contains(
            &examined.the("module-writable"),
            &[
                "\"warning\"",
                &part,
                &format!("can be written to by others (mode {mode:o})"),
                &format!("{cure}{part}\""),
                "[tenrounds_sect] module = ",
            ],
        );
        // As root, the doctor does not try the configuration.
        let tried = !examined.ids().contains(&"not-tried".to_owned());
        // SAFETY: geteuid() has no requirements.
        assert_eq!(tried, unsafe { libc::geteuid() } != 0);
    }
    // In a sticky directory only the owner can replace a file.
    let machine = Machine::healthy();
    machine.set_mode("usr/lib/ossl-modules", 0o1777);
    let ids = machine.examined(&[]).ids();
    assert!(!ids.contains(&"module-writable".to_owned()), "{ids:?}");
}

/// Only root can change the owner of a file.
#[test]
fn a_module_of_another_user() {
    // SAFETY: geteuid() has no requirements.
    if unsafe { libc::geteuid() } != 0 {
        return skip("only root can change the owner of a file");
    }
    let module = "usr/lib/ossl-modules/tenrounds.so";
    let give = |machine: &Machine, path: &str, user| {
        std::os::unix::fs::lchown(machine.dir.join(path), Some(user), None).unwrap();
    };
    let machine = Machine::healthy();
    machine.openssl();
    give(&machine, module, 12345);
    contains(
        &machine.examined(&[]).the("module-writable"),
        &["belongs to user 12345", "sudo chown root: "],
    );
    let examined = machine.examined(&[]).0;
    assert_eq!(examined.text("/doctor/in_force"), "partly");
    let said = &examined.list("/doctor/summary")[0];
    contains(
        said.as_str().unwrap(),
        &["was not tried: root does not run"],
    );
    // A user may own the modules that the user's own configuration loads.
    give(&machine, "etc/ssl/openssl.cnf", 12345);
    let examined = machine.examined(&[]);
    let ids = examined.ids();
    assert!(!ids.contains(&"module-writable".to_owned()), "{ids:?}");
    // But root does not try the configuration.
    contains(&examined.the("not-tried"), &["belongs to user 12345"]);
    // The cure for another user's directory is to install the module elsewhere, not chown.
    let machine = Machine::healthy();
    give(&machine, "usr/lib/ossl-modules", 12345);
    let found = machine.examined(&[]).the("module-writable");
    contains(&found, &["belongs to user 12345", "sudo make install"]);
    assert!(!found.contains("chown"), "{found}");
}

/// The paths of a process in a container are resolved in its root.
#[test]
fn a_process_in_another_root() {
    let machine = Machine::healthy();
    let library = std::fs::read(machine.dir.join("usr/lib/libcrypto.so.3")).unwrap();
    machine.link("proc/300/root", "/srv/inner");
    machine.write("proc/300/comm", "inner\n");
    machine.write("proc/300/maps", format!("{MAP}/lib/libcrypto.so.3\n"));
    machine.write(
        "proc/300/environ",
        "OPENSSL_CONF=/etc/inner.cnf\0OPENSSL_MODULES=/usr/lib/ossl-modules\0",
    );
    machine.write("srv/inner/lib/libcrypto.so.3", &library);
    machine.write("srv/inner/etc/inner.cnf", "");
    // An absolute link is resolved in the same root.
    machine.link("srv/inner/usr/lib/ssl/openssl.cnf", "/etc/inner-ssl.cnf");
    machine.write(
        "srv/inner/etc/inner-ssl.cnf",
        "openssl_conf = init\n[init]\nproviders = nowhere\n",
    );
    let examined = machine.examined(&[]);
    let installs = examined.0.list("/doctor/openssl");
    let inner: Vec<_> = installs
        .iter()
        .filter(|i| i["root"] == "/proc/300/root")
        .collect();
    assert_eq!(inner.len(), 1, "{installs:#?}");
    assert_eq!(inner[0]["library"], "/lib/libcrypto.so.3");
    let list = examined.0.list("/doctor/processes/list");
    let process = list.iter().find(|p| p["pid"] == 300).unwrap();
    assert_eq!(process["root"], "/proc/300/root");
    assert_eq!(process["libcrypto"][0]["version"], "3.0.13");
    contains(
        &examined.the("section-missing"),
        &[
            "/usr/lib/ssl/openssl.cnf:3",
            "/proc/300/root",
            "[init] providers = nowhere",
        ],
    );
    let ids = examined.ids();
    // The paths in the variables are looked up in the process's root, not in ours.
    assert!(
        !ids.contains(&"conf-variable-missing".to_owned()),
        "{ids:?}"
    );
    contains(&examined.the("modules-variable-missing"), &["300 (inner)"]);
    // The configuration of our root does not apply to that process.
    let text = examined.the("not-loaded");
    assert!(!text.contains("inner"), "{text}");
}

/// `enable` edits no configuration that only a process reads, so the verdict leaves it out, as that
/// of `status` does. The findings name it.
#[test]
fn a_libcrypto_that_only_a_process_maps() {
    let machine = Machine::healthy();
    let mut library = std::fs::read(machine.dir.join("usr/lib/libcrypto.so.3")).unwrap();
    let directory = b"/usr/lib/ssl";
    let at = library.windows(12).position(|word| word == directory);
    library[at.unwrap()..][..12].copy_from_slice(b"/srv/app/ssl");
    machine.write("srv/app/libcrypto.so.3", library);
    let broken = "openssl_conf = init\n[init]\nproviders = nowhere\n";
    machine.write("srv/app/ssl/openssl.cnf", broken);
    machine.write("proc/300/comm", "app\n");
    machine.write("proc/300/maps", format!("{MAP}/srv/app/libcrypto.so.3\n"));
    let examined = machine.examined(&[]);
    contains(
        &examined.the("section-missing"),
        &["/srv/app/ssl/openssl.cnf:3"],
    );
    assert_eq!(examined.0.text("/doctor/in_force"), "yes");
    let status = valid(&machine.tool(&["status", "--json"]).done().out);
    assert_eq!(status.text("/status/in_force"), "yes");
}

/// The doctor does not warn about the lines of `enable`, whatever was in the file before.
#[test]
fn no_finding_about_what_enable_wrote() {
    let bases = [
        "openssl_conf = init\n[init]\nproviders = provs\n[provs]\ndefault = def\n[def]\nactivate = 1\n",
        "openssl_conf = init\n[init]\nalg_section = algs\n[algs]\ndefault_properties = ?foo=bar\n",
        "",
    ];
    for base in bases {
        let machine = Machine::healthy();
        machine.remove("proc/100");
        machine.openssl();
        machine.write("etc/ssl/openssl.cnf", base);
        // Makes the paths that openssl sees on this machine valid in the tree.
        let module = crate::support::module().canonicalize().unwrap();
        let inside = module.strip_prefix("/").unwrap().to_str().unwrap();
        machine.write(inside, std::fs::read(&module).unwrap());
        machine.link(
            machine.dir.strip_prefix("/").unwrap().to_str().unwrap(),
            "/",
        );
        machine.tool(&["enable", "--system"]).done().ok();
        assert!(machine.dir.join("etc/ssl/tenrounds.cnf").exists());
        let examined = machine.examined(&[]);
        assert_eq!(examined.of_configuration(), Vec::<serde_json::Value>::new());
        assert_eq!(examined.status(), 0, "{base}");
        machine.tool(&["disable", "--system"]).done().ok();
        assert_eq!(machine.examined(&[]).status(), 0, "{base}");
    }
}

#[test]
fn fips_of_the_system() {
    let machine = Machine::healthy();
    machine.write("proc/sys/crypto/fips_enabled", "1\n");
    contains(
        &machine.examined(&[]).the("fips-system"),
        &["\"warning\"", "is preferred"],
    );
    machine.write("etc/ssl/openssl.cnf", "");
    contains(&machine.examined(&[]).the("fips-system"), &["\"note\""]);
}

/// The id of what is found if libcrypto's own mask is set, and a value of it that masks nothing.
#[cfg(not(target_arch = "aarch64"))]
const MASK_FINDING: &str = "ia32cap";
#[cfg(not(target_arch = "aarch64"))]
const ALL_FEATURES: &str = "~0x0:~0x0:~0x0:~0x0:~0x0";
#[cfg(target_arch = "aarch64")]
const MASK_FINDING: &str = "armcap";
#[cfg(target_arch = "aarch64")]
const ALL_FEATURES: &str = "-1";

#[test]
fn variables_of_this_shell() {
    let cases = [
        (("TENROUNDS_MASK", "novaes"), "mask", "unset TENROUNDS_MASK"),
        (
            ("TENROUNDS_MASK", "novase"),
            "mask-unknown",
            "did you mean 'novaes'",
        ),
        (CPU_MASK, MASK_FINDING, "removes aes, clmul"),
        (
            ("OPENSSL_CONF", ""),
            "conf-variable-missing",
            "without any configuration",
        ),
        (
            ("OPENSSL_CONF", "/nowhere.cnf"),
            "conf-variable-missing",
            "/nowhere.cnf",
        ),
        (
            ("OPENSSL_MODULES", "/nowhere"),
            "modules-variable-missing",
            "\"problem\"",
        ),
        (
            ("OPENSSL_ENGINES", "/usr/lib"),
            "variable-overrides",
            "\"note\"",
        ),
        (
            (CPU_MASK.0, ALL_FEATURES),
            "variable-overrides",
            "overrides the default",
        ),
        (
            ("OPENSSL_CONF", "/cache/tenrounds/a.cnf"),
            "variable-run",
            "tenrounds run",
        ),
    ];
    let machine = Machine::healthy();
    machine.write("cache/tenrounds/a.cnf", "");
    for (variable, id, part) in cases {
        let found = machine.examined(&[variable]).the(id);
        contains(&found, &[part, variable.0, "unset "]);
    }
}

#[test]
fn variables_of_processes() {
    let machine = Machine::healthy();
    machine.write(
        "proc/100/environ",
        format!("A=b\0{}={}\0SECRET=hunter2\0", CPU_MASK.0, CPU_MASK.1),
    );
    let done = machine.doctor(&["--json"], &[]);
    assert_eq!(done.status, Some(1));
    assert!(!done.out.contains("hunter2"));
    let examined = machine.examined(&[]);
    let cure = "systemctl restart nginx.service";
    contains(
        &examined.the(MASK_FINDING),
        &["/proc/100/environ", "100 (nginx)", cure],
    );
}

/// A program on Arm cannot see what a hypervisor hides, so nothing is said about it.
#[cfg(target_arch = "aarch64")]
#[test]
fn processors() {
    let machine = Machine::healthy();
    let healthy = machine.examined(&[]).ids();
    let arm = |features: &str| {
        format!(
            "processor\t: 0\nFeatures\t: fp asimd {features} cpuid\n\
             CPU implementer\t: 0x41\nCPU part\t: 0xd08\n"
        )
    };
    for features in ["aes pmull sha3", "aes pmull", "aes"] {
        machine.write("proc/cpuinfo", arm(features));
        assert_eq!(machine.examined(&[]).ids(), healthy, "{features}");
    }
    machine.write("proc/cpuinfo", arm("crc32"));
    contains(
        &machine.examined(&[]).the("no-aes"),
        &[
            "\"note\"",
            "constant-time software",
            "CPU implementer: 0x41, CPU part: 0xd08, no 'aes' in Features",
        ],
    );
}

#[cfg(not(target_arch = "aarch64"))]
#[test]
fn virtual_machines() {
    let cases = [
        (
            " vaes vpclmulqdq",
            "",
            "vm-hides",
            "<cpu mode='host-passthrough'/>",
        ),
        (" vaes vpclmulqdq", "", "vm-hides", "hides vaes, vclmul"),
        (" pclmulqdq", "", "vm-hides", "hides clmul"),
        (" ssse3", "", "vm-hides", "qm set VMID --cpu host"),
        (" avx2", "", "vm-hides", "hides avx2"),
        (" xsave avx f16c", "", "registers-not-saved", "XCR0"),
    ];
    for (from, to, id, part) in cases {
        let machine = Machine::healthy();
        machine.edit("proc/cpuinfo", from, to);
        contains(
            &machine.examined(&[]).the(id),
            &[part, "/proc/cpuinfo", "AMD EPYC"],
        );
    }
    let machine = Machine::healthy();
    machine.edit("proc/cpuinfo", " xsave avx f16c", "");
    machine.edit("proc/cmdline", "quiet", "noxsave");
    contains(
        &machine.examined(&[]).the("registers-not-saved"),
        &["boot without 'noxsave'"],
    );
    let unknown = Machine::healthy();
    unknown.edit("proc/cpuinfo", "cpu family\t: 25", "cpu family\t: 6");
    unknown.edit("proc/cpuinfo", " vaes vpclmulqdq", "");
    contains(&unknown.examined(&[]).the("vm-maybe-hides"), &["\"note\""]);
    let bare = Machine::healthy();
    bare.edit("proc/cpuinfo", " hypervisor", "");
    bare.edit("proc/cpuinfo", " aes ", " ");
    contains(&bare.examined(&[]).the("firmware"), &["AES-NI"]);
}

#[cfg(not(target_arch = "aarch64"))]
#[test]
fn a_processor_whose_clock_drops() {
    let of_intel = |model: &str| {
        let machine = Machine::healthy();
        machine.edit("proc/cpuinfo", "AuthenticAMD", "GenuineIntel");
        machine.edit("proc/cpuinfo", "cpu family\t: 25", "cpu family\t: 6");
        machine.edit(
            "proc/cpuinfo",
            "model\t\t: 17",
            &format!("model\t\t: {model}"),
        );
        machine
    };
    let healthy = Machine::healthy().examined(&[]).ids();
    let ice_lake = of_intel("106");
    let examined = ice_lake.examined(&[]);
    contains(
        &examined.the("clock-drops"),
        &[
            "\"note\"",
            "family 6 model 106",
            "vaes256 is selected, not vaes512",
            "TENROUNDS_MASK=avx512",
        ],
    );
    assert_eq!(examined.status(), 0);
    // Nothing is lost where 512 bits are hidden, so nothing is advised either.
    ice_lake.edit("proc/cpuinfo", " avx512f avx512bw avx512vl", "");
    assert_eq!(ice_lake.examined(&[]).ids(), healthy);
    let sapphire_rapids = of_intel("143");
    assert_eq!(sapphire_rapids.examined(&[]).ids(), healthy);
}

#[test]
fn a_mask_that_demands() {
    let machine = Machine::healthy();
    let examined = machine.examined(&[("TENROUNDS_MASK", "avx512")]);
    contains(
        &examined.the("variable-overrides"),
        &["overrides the default"],
    );
    let examined = machine.examined(&[("TENROUNDS_MASK", "avx512,noaes")]);
    contains(&examined.the("mask"), &["removes aes"]);
}

#[test]
fn other_processors_and_absent_files() {
    let machine = Machine::healthy();
    let other = match cfg!(target_arch = "aarch64") {
        true => "processor : 0\nflags : fpu sse sse2\n",
        false => "processor : 0\nFeatures : fp asimd aes pmull\n",
    };
    machine.write("proc/cpuinfo", other);
    for file in ["sys", "proc/crypto", "proc/cmdline", "etc", "usr"] {
        machine.remove(file);
    }
    let examined = machine.examined(&[]);
    assert_eq!(examined.ids(), ["kernel-no-crypto"]);
    assert!(examined.0.at("/doctor/kernel/drivers").is_null());
    std::fs::remove_dir_all(machine.dir.join("proc")).unwrap();
    let done = machine.doctor(&[], &[]);
    contains(&done.failed(3), &["no /proc"]);
}

const MAP: &str = "7f0000000000-7f0000100000 r-xp 00000000 fe:00 1002   ";

#[test]
fn a_process_with_a_replaced_library() {
    let machine = Machine::healthy();
    machine.edit(
        "proc/100/maps",
        "libcrypto.so.3",
        "libcrypto.so.3 (deleted)",
    );
    let examined = machine.examined(&[]);
    contains(
        &examined.the("restart-needed"),
        &[
            "100 (nginx)",
            "libcrypto.so.3 (deleted)",
            "systemctl restart nginx.service",
        ],
    );
    assert_eq!(examined.status(), 1);
    assert_eq!(
        *examined
            .0
            .at("/doctor/processes/list/0/libcrypto/0/deleted"),
        true
    );
}

#[test]
fn a_process_with_tenrounds_in_it() {
    let machine = Machine::healthy();
    let maps = format!("{MAP}/usr/lib/libcrypto.so.3\n{MAP}/usr/lib/ossl-modules/tenrounds.so\n");
    machine.write("proc/100/maps", &maps);
    let examined = machine.examined(&[]);
    assert_eq!(examined.ids(), Vec::<String>::new());
    let mapped = examined.0.text("/doctor/processes/list/0/tenrounds");
    assert_eq!(mapped, "/usr/lib/ossl-modules/tenrounds.so");
}

/// nginx with tenrounds in it, and a library that asks for another provider.
#[test]
fn a_process_that_asks_for_other_algorithms() {
    let machine = Machine::healthy();
    let asks = "const char *query(void) { return \"provider=default\"; }";
    machine.compile("opt/app/asks.so", asks, &["-shared", "-fPIC"]);
    let libraries = [
        "usr/lib/libcrypto.so.3",
        "usr/lib/ossl-modules/tenrounds.so",
    ];
    let map =
        |paths: &[&str]| -> String { paths.iter().map(|path| format!("{MAP}/{path}\n")).collect() };
    machine.write(
        "proc/100/maps",
        map(&[&libraries[..], &["opt/app/asks.so"]].concat()),
    );
    let found = machine.examined(&[]).the("excluded-by-query");
    contains(
        &found,
        &["100 (nginx)", "/opt/app/asks.so (provider=default)"],
    );
    // Without tenrounds the query excludes nothing.
    machine.write("proc/100/maps", map(&[libraries[0], "opt/app/asks.so"]));
    assert!(!machine
        .examined(&[])
        .ids()
        .contains(&"excluded-by-query".to_owned()));
}

#[test]
fn processes_that_cannot_be_reached() {
    let machine = Machine::healthy();
    let own = "int EVP_EncryptInit_ex(void) { return 0; }\nint main(void) { return 0; }";
    machine.compile("opt/app/node", own, &[]);
    machine.write("proc/200/maps", format!("{MAP}/opt/app/node\n"));
    machine.write("proc/200/comm", "evil\x1b[31m\n");
    machine.write("proc/202/maps", format!("{MAP}/opt/lib/libcrypto.so.1.1\n"));
    let examined = machine.examined(&[]);
    contains(
        &examined.the("carries-own"),
        &["/opt/app/node (OpenSSL)", "200 (evil\u{fffd}[31m)"],
    );
    contains(&examined.the("old-openssl"), &["/opt/lib/libcrypto.so.1.1"]);
    assert_eq!(examined.status(), 0);
    let text = machine.doctor(&["--verbose"], &[]).ok().out;
    contains(&text, &["libcrypto.so.1.1", "/opt/app/node (OpenSSL)"]);
    assert!(!text.contains('\x1b'));
    let brief = machine.doctor(&[], &[]).ok().out;
    contains(
        &brief,
        &["cure (system): install the distribution's build of the program"],
    );
    assert!(!brief.contains("seen "), "{brief}");
}

/// An OpenSSL inside a program or a library, as in Node.js and in wheels, that has loaded
/// tenrounds.
#[test]
fn what_is_mapped_is_reached() {
    let machine = Machine::healthy();
    let own = "int EVP_EncryptInit_ex(void) { return 0; }\nint main(void) { return 0; }";
    machine.compile("opt/app/node", own, &[]);
    let module = "/usr/lib/ossl-modules/tenrounds.so";
    machine.write(
        "proc/200/maps",
        format!("{MAP}/opt/app/node\n{MAP}{module}\n"),
    );
    machine.write("proc/200/comm", "node\n");
    let examined = machine.examined(&[]);
    assert_eq!(examined.ids(), ["not-loaded"]);
    assert!(!examined.the("not-loaded").contains("node"));
    let summary = examined.0.list("/doctor/summary");
    contains(
        summary[0].as_str().unwrap(),
        &["1 of 2 running processes with OpenSSL have it loaded"],
    );
}

#[test]
fn without_proc_nothing_is_said() {
    let machine = crate::enable_support::Machine::bare();
    let script = r#"
mount -t tmpfs none /proc
"$1" doctor 2>&1 || echo "status $?"
"$1" status --json || true
"#;
    if let Some(done) = crate::enable_support::in_namespace(&machine, script) {
        contains(
            &done.out,
            &["there is no /proc", "status 3", "\"processes\": null"],
        );
    }
}

#[test]
fn apparmor_that_knows_nothing_of_tenrounds() {
    let machine = Machine::healthy();
    let found = || machine.examined(&[]).ids().contains(&"apparmor".to_owned());
    machine.write("etc/apparmor.d/abstractions/openssl", "");
    machine.write("sys/kernel/security/apparmor/profiles", "named (enforce)\n");
    assert!(!found(), "it is not enabled");
    machine.write("sys/module/apparmor/parameters/enabled", "Y\n");
    contains(
        &machine.examined(&[]).the("apparmor"),
        &["1 profiles are loaded", "abstractions/openssl.d/tenrounds"],
    );
    let ours = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../packaging/apparmor/tenrounds"
    );
    let ours = std::fs::read_to_string(ours).unwrap();
    machine.write("etc/apparmor.d/abstractions/openssl.d/tenrounds", ours);
    assert!(!found());
    let elsewhere = "/opt/tenrounds/lib/ossl-modules/tenrounds.so";
    let usual = "/usr/lib/ossl-modules/tenrounds.so";
    let module = std::fs::read(machine.dir.join(&usual[1..])).unwrap();
    machine.write(&elsewhere[1..], module);
    machine.edit("etc/ssl/openssl.cnf", usual, elsewhere);
    contains(
        &machine.examined(&[]).the("apparmor"),
        &[&format!("echo '  {elsewhere} mr,' | sudo tee -a ")],
    );
    let drop_in = "etc/apparmor.d/abstractions/openssl.d/tenrounds";
    machine.edit(drop_in, "# SPDX", &format!("  {elsewhere} mr,\n# SPDX"));
    assert!(!found());
    machine.edit("etc/ssl/openssl.cnf", elsewhere, usual);
    machine.remove("etc/apparmor.d/abstractions/openssl.d");
    machine.write("sys/kernel/security/apparmor/profiles", "");
    assert!(!found(), "no profile is loaded");
    machine.write("sys/kernel/security/apparmor/profiles", "named (enforce)\n");
    machine.write("etc/ssl/openssl.cnf", "");
    assert!(!found(), "tenrounds is not preferred");
}

#[test]
fn hostile_processes_are_survived() {
    let machine = Machine::healthy();
    let noise: Vec<u8> = (0u32..200_000)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    machine.write("proc/300/maps", &noise);
    machine.write("proc/300/environ", &noise);
    machine.write(
        "opt/noise",
        [b"\x7fELF\x02\x01\x01".as_slice(), &noise].concat(),
    );
    let mut broken = std::fs::read(machine.dir.join("usr/lib/libcrypto.so.3")).unwrap();
    broken[40..64].fill(0xff);
    machine.write("opt/broken", &broken);
    machine.write("opt/cut", &broken[..100]);
    let maps =
        ["noise", "broken", "cut", "absent", "../..", ""].map(|f| format!("{MAP}/opt/{f}\n"));
    machine.write("proc/301/maps", maps.concat());
    machine.write("proc/99999999999/maps", "");
    std::fs::create_dir_all(machine.dir.join("proc/302/maps")).unwrap();
    let examined = machine.examined(&[]);
    // Noise maps nothing.
    assert_eq!(*examined.0.at("/doctor/processes/seen"), 2);
}

#[test]
fn the_kernel() {
    let cases = [
        (
            "xts-aes-vaes-avx512",
            "xts-aes-aesni-x",
            "kernel-no-vaes",
            "6.10",
        ),
        (
            "xts-aes-vaes-avx512",
            "xts(ecb(aes-generic))",
            "kernel-software",
            "CONFIG_CRYPTO_AES_NI_INTEL",
        ),
        (
            "selftest     : passed",
            "selftest     : unknown",
            "kernel-selftest",
            "dmesg",
        ),
    ];
    for (from, to, id, part) in cases {
        let machine = Machine::healthy();
        let all = std::fs::read_to_string(machine.dir.join("proc/crypto")).unwrap();
        machine.write("proc/crypto", all.replacen(from, to, 1));
        contains(&machine.examined(&[]).the(id), &[part, "/proc/crypto"]);
    }
}

#[test]
fn disks() {
    let machine = Machine::healthy();
    let disk = machine.examined(&[]).0.at("/doctor/disks/0").clone();
    assert_eq!(
        (&disk["kind"], &disk["sector_size"]),
        (&"LUKS2".into(), &4096.into())
    );
    machine.write("sys/block/dm-0/queue/logical_block_size", "512\n");
    let found = machine.examined(&[]).the("disk-sector");
    contains(
        &found,
        &["--sector-size 4096", "logical_block_size", "of data"],
    );
}

#[test]
fn the_exit_status_of_a_wrong_command_line_is_not_that_of_a_problem() {
    let machine = Machine::healthy();
    machine.doctor(&["--nonsense"], &[]).failed(3);
    machine.write("etc/ssl/openssl.cnf", "[broken\n");
    let done = machine.doctor(&[], &[]);
    assert_eq!(done.status, Some(2));
    contains(&done.out, &["tenrounds doctor CRITICAL: 1 problem"]);
}

/// On this machine, whatever it is, the doctor ends soon, with a verdict, and changes nothing.
#[test]
fn this_machine() {
    let place = Place::new();
    let begun = std::time::Instant::now();
    let done = place.tool(["doctor", "--json"]).done();
    let document = valid(&done.out);
    assert!(matches!(done.status, Some(0..=2)), "{done:?}");
    assert!(begun.elapsed() < within(5 * PATIENCE));
    let libraries = document.list("/doctor/openssl");
    assert!(libraries
        .iter()
        .any(|l| l["version"].as_str().is_some_and(|v| v.starts_with("3."))));
    let findings = document.list("/doctor/findings");
    assert!(
        findings.iter().all(|f| f["id"] != "openssl-broken"),
        "{findings:#?}"
    );
}

/// A process that `run` has started is seen with tenrounds in it, and what steers it.
#[test]
fn a_live_process_with_tenrounds() {
    let place = Place::new();
    let mut child = place
        .tool([
            "run",
            "--",
            "openssl",
            "enc",
            "-aes-256-ctr",
            "-K",
            "00",
            "-iv",
            "00",
        ])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .started();
    let pid = child.0.id();
    // It becomes openssl, which then reads its configuration.
    until("mapping of tenrounds in openssl", || {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"));
        maps.is_ok_and(|maps| maps.contains("/tenrounds.so"))
    });
    let document = valid(&place.tool(["doctor", "--json"]).done().out);
    drop(child.0.stdin.take());
    child.ends();
    let list = document.list("/doctor/processes/list");
    let process = list.iter().find(|p| p["pid"] == pid).unwrap();
    assert!(process["tenrounds"]
        .as_str()
        .unwrap()
        .ends_with("/tenrounds.so"));
    assert_eq!(process["name"], "openssl");
    assert!(
        process["variables"]["OPENSSL_CONF"].is_string(),
        "{process:#}"
    );
}
