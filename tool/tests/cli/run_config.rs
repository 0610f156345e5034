// SPDX-License-Identifier: BSD-2-Clause
//! The configuration that `run` generates: what of the user's own survives, and what is refused.

use crate::enable_support::{in_namespace, Machine};
use crate::support::{contains, Finish, Place};
use std::os::unix::fs::PermissionsExt;

/// `run -- openssl ARGS` on top of a configuration.
fn openssl_over(place: &Place, configuration: &str, args: &[&str]) -> String {
    let file = place.file("own.cnf", configuration);
    let mut tool = place.tool(["run", "--", "openssl"]);
    tool.args(args).env("OPENSSL_CONF", file).done().ok().out
}

const OWN: &str = "\
openssl_conf = my_init
[my_init]
oid_section = my_oids
providers = my_providers
alg_section = my_algorithms
ssl_conf = my_ssl
[my_oids]
myOid = 1.3.6.1.4.1.99999.1
[my_providers]
legacy = my_legacy
[my_legacy]
activate = 1
[my_algorithms]
default_properties = ?my.own=yes
[my_ssl]
system_default = my_tls
[my_tls]
CipherString = ECDHE-RSA-AES256-GCM-SHA384
[req]
distinguished_name = my_name
prompt = no
[my_name]
CN = Somebody
";

#[test]
fn the_users_sections_survive() {
    let place = Place::new();
    let list = openssl_over(&place, OWN, &["list", "-providers"]);
    contains(&list, &["default", "legacy", "tenrounds"]);
    let ciphers = openssl_over(&place, OWN, &["ciphers", "-s", "-tls1_2"]);
    assert_eq!(ciphers.trim(), "ECDHE-RSA-AES256-GCM-SHA384", "of [my_tls]");
    let md4 = openssl_over(&place, OWN, &["dgst", "-md4", "own.cnf"]);
    contains(&md4, &["MD4"]);
    let request = [
        "req",
        "-new",
        "-nodes",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
    ];
    let subject = ["-keyout", "/dev/null", "-subject", "-noout"];
    let request = openssl_over(&place, OWN, &[&request[..], &subject].concat());
    contains(&request, &["Somebody"]);
}

#[test]
fn without_any_configuration_it_works_too() {
    let place = Place::new();
    for own in [
        "",
        "# nothing but a comment\n",
        "openssl_conf = empty\n[empty]\n",
    ] {
        contains(
            &openssl_over(&place, own, &["list", "-providers"]),
            &["default", "tenrounds"],
        );
    }
    let mut tool = place.tool(["run", "--", "openssl", "list", "-providers"]);
    let done = tool
        .env("OPENSSL_CONF", place.path("there is none.cnf"))
        .done()
        .ok();
    contains(&done.out, &["default", "tenrounds"]);
}

#[test]
fn run_inside_run_works() {
    let place = Place::new();
    let inner = [
        crate::support::TOOL,
        "run",
        "--",
        "openssl",
        "list",
        "-providers",
    ];
    let done = place.tool(["run", "--"]).args(inner).done().ok();
    assert_eq!(
        done.out.matches("name: tenrounds").count(),
        1,
        "{}",
        done.out
    );
}

#[test]
fn a_broken_configuration_is_named_with_its_line_and_nothing_runs() {
    let place = Place::new();
    let refuse = |own: &std::path::Path| {
        let mut tool = place.tool(["run", "--", "touch", "ran"]);
        let said = tool.env("OPENSSL_CONF", own).done().failed(1);
        assert!(!place.path("ran").exists());
        said
    };
    let broken = place.file("broken.cnf", "a = b\n\n[unclosed\nc = d\n");
    contains(&refuse(&broken), &["broken.cnf: line 3:", "no ']'"]);
    let inner = place.file("inner.cnf", "[x]\nno equals sign\n");
    let outer = place.file(
        "outer.cnf",
        &format!("a = b\n.include = {}\n", inner.display()),
    );
    contains(&refuse(&outer), &["inner.cnf: line 2:", "no '='"]);
    // A file that not even root can read.
    let socket = place.path("socket.cnf");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    contains(&refuse(&socket), &["socket.cnf: no regular file"]);
}

#[test]
fn a_configuration_that_prefers_another_provider_is_refused() {
    let place = Place::new();
    let own = "openssl_conf = i\n[i]\nalg_section = a\n[a]\ndefault_properties = ?provider=other\n";
    let file = place.file("own.cnf", own);
    let said = place
        .tool(["run", "--", "true"])
        .env("OPENSSL_CONF", file)
        .done()
        .failed(1);
    contains(
        &said,
        &["own.cnf", "'?provider=other'", "only one provider"],
    );
}

#[test]
fn a_configuration_that_does_not_work_is_tried_first_and_blamed() {
    let place = Place::new();
    let own = "openssl_conf = i\n[i]\nalg_section = a\n[a]\ndefault_properties = fips=yes\n";
    let file = place.file("own.cnf", own);
    let said = place
        .tool(["run", "--", "touch", "ran"])
        .env("OPENSSL_CONF", file)
        .done()
        .failed(1);
    contains(&said, &["nothing was run", "without tenrounds", "own.cnf"]);
    assert!(!place.path("ran").exists());
}

#[test]
fn a_missing_provider_is_named() {
    let place = Place::new();
    let mut tool = place.tool(["run", "--", "true"]);
    let said = tool
        .env("TENROUNDS_MODULE", "/nonexistent/tenrounds.so")
        .done()
        .failed(1);
    contains(
        &said,
        &["/nonexistent/tenrounds.so", "make", "TENROUNDS_MODULE"],
    );
    let mut tool = place.tool(["run", "--", "true"]);
    contains(
        &tool.env_remove("TENROUNDS_MODULE").done().failed(1),
        &["lib/ossl-modules/tenrounds.so"],
    );
}

#[test]
fn a_module_that_is_none_is_found_out_before_anything_runs() {
    let place = Place::new();
    let fake = place.file("tenrounds.so", "this is not ELF");
    let mut tool = place.tool(["run", "--", "touch", "ran"]);
    let said = tool.env("TENROUNDS_MODULE", fake).done().failed(1);
    contains(
        &said,
        &["tenrounds.so is damaged", "not a complete ELF file"],
    );
    assert!(!place.path("ran").exists());
}

#[test]
fn a_module_with_an_unusual_path_works() {
    let place = Place::new();
    let dir = place.path("it's $HOME, \"quoted\" #1 \\ ü");
    std::fs::create_dir(&dir).unwrap();
    std::fs::copy(crate::support::module(), dir.join("tenrounds.so")).unwrap();
    let mut tool = place.tool(["run", "--", "openssl", "list", "-providers"]);
    let done = tool
        .env("TENROUNDS_MODULE", dir.join("tenrounds.so"))
        .done()
        .ok();
    contains(&done.out, &["tenrounds"]);
}

#[test]
fn only_the_owner_writes_generated_files() {
    // SAFETY: geteuid() has no requirements.
    let (of_directory, of_file) = match unsafe { libc::geteuid() } {
        0 => (0o755, 0o644), // for daemons that become another user
        _ => (0o700, 0o600),
    };
    let place = Place::new();
    place.tool(["run", "--", "true"]).done().ok();
    let dir = place.path("cache/tenrounds");
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), of_directory);
    let files: Vec<_> = std::fs::read_dir(&dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(mode(&files[0]), of_file);
    place.tool(["run", "--count", "--", "true"]).done().ok();
    assert_eq!(
        std::fs::read_dir(&dir).unwrap().count(),
        1,
        "nothing is left behind"
    );
}

#[test]
fn a_directory_that_others_can_write_to_is_not_used() {
    let place = Place::new();
    let dir = place.path("cache/tenrounds");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o777)).unwrap();
    place.tool(["run", "--", "true"]).done().ok();
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0);
}

#[test]
fn without_a_writable_directory_it_says_so() {
    let place = Place::new();
    let mut tool = place.tool(["run", "--", "true"]);
    let said = tool
        .env("XDG_CACHE_HOME", "/proc")
        .env("TMPDIR", "/proc")
        .done()
        .failed(1);
    contains(&said, &["/proc/tenrounds", "XDG_CACHE_HOME"]);
}

/// The configuration that root's programs read, in a machine whose /var/cache is empty.
/// "$1" is the tool.
const ROOTS: &str = r#"
tool=$1
unset XDG_CACHE_HOME XDG_RUNTIME_DIR
mount -t tmpfs -o mode=755 none /var/cache
umask 077
modes() { stat -c '%u %a %n' "${1%/*}" "$1"; }
"#;

#[test]
fn daemons_of_root_can_read_what_it_reads() {
    let machine = Machine::bare();
    let script = r#"
        conf=$("$tool" run -- sh -c 'echo "$OPENSSL_CONF"')
        modes "$conf"
        eval "$("$tool" run --print-env)"
        modes "$OPENSSL_CONF"
    "#;
    let Some(done) = in_namespace(&machine, &format!("{ROOTS}{script}")) else {
        return;
    };
    let out = done.ok().out;
    let seen: Vec<String> = out.lines().map(hashless).collect();
    let expected = [
        "0 755 /var/cache/tenrounds",
        "0 644 /var/cache/tenrounds/openssl-H.cnf",
        "0 755 /var/cache/tenrounds",
        "0 644 /var/cache/tenrounds/openssl-H.cnf",
    ];
    assert_eq!(seen, expected, "{out}");
}

/// A line without the part of a name that depends on the content.
fn hashless(line: &str) -> String {
    match (line.find("openssl-"), line.strip_suffix(".cnf")) {
        (Some(at), Some(_)) => format!("{}openssl-H.cnf", &line[..at]),
        _ => line.to_owned(),
    }
}

#[test]
fn root_uses_no_directory_that_another_user_prepared() {
    let machine = Machine::bare();
    let script = r#"
        where() { "$tool" run -- sh -c 'echo "${OPENSSL_CONF%/*}"'; }
        mkdir /var/cache/elsewhere
        ln -s /var/cache/elsewhere /var/cache/tenrounds
        echo "link $(where) $(ls /var/cache/elsewhere | wc -l)"
        rm /var/cache/tenrounds
        mkdir -m 777 /var/cache/tenrounds
        echo "writable $(where) $(ls /var/cache/tenrounds | wc -l)"
        chmod 755 /var/cache/tenrounds
        # Without a second user in this namespace, nobody else can own it.
        if chown 65534 /var/cache/tenrounds 2>/dev/null; then
            echo "owned $(where) $(ls /var/cache/tenrounds | wc -l)"
        fi
    "#;
    let Some(done) = in_namespace(&machine, &format!("{ROOTS}{script}")) else {
        return;
    };
    let out = done.ok().out;
    let mut kinds = Vec::new();
    for line in out.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [kind, dir, files] = words[..] else {
            panic!("{out}");
        };
        assert!(!dir.starts_with("/var/cache"), "{out}");
        assert_eq!(files, "0", "{out}");
        kinds.push(kind);
    }
    assert!(kinds.starts_with(&["link", "writable"]), "{out}");
}
