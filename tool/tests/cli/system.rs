// SPDX-License-Identifier: BSD-2-Clause
//! `enable --system`, `doctor` and `make uninstall` on this machine itself, in a mount namespace in
//! which its configuration can be changed.

use crate::enable_support::{on_this_machine, Machine};
use crate::json::valid;
use crate::support::{contains, module, Done, TOOL};
use serde_json::Value;
use std::fs;

const INSTALL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/install");

/// The text that a script wrote to a file in the machine's root.
fn written(machine: &Machine, name: &str) -> String {
    fs::read_to_string(machine.at(name)).unwrap()
}

fn of_configuration(document: &str) -> Vec<Value> {
    let mut findings = valid(document).list("/doctor/findings");
    // Other tests run processes in roots of their own: ignore findings about those. What holds for
    // every configuration with tenrounds is a note.
    findings.retain(|f| {
        f["group"] == "configuration"
            && f["severity"] != "note"
            && !f.to_string().contains("\"/proc/")
    });
    findings
}

#[test]
fn the_doctor_has_nothing_to_say_of_what_enable_wrote() {
    let machine = Machine::bare();
    let script = r#"
"$tool" doctor --json >"$2/before" || [ $? -lt 3 ]
"$tool" enable --system
"$tool" doctor --json >"$2/enabled" || [ $? -lt 3 ]
openssl list -providers
"$tool" disable --system
"#;
    let Some(done) = on_this_machine(&machine, script) else {
        return;
    };
    contains(&done.ok().out, &["enabled (system)", "\n  tenrounds\n"]);
    let before = of_configuration(&written(&machine, "before"));
    assert_eq!(of_configuration(&written(&machine, "enabled")), before);
}

#[test]
fn the_doctor_tries_what_openssl_refuses() {
    let machine = Machine::bare();
    let script = r#"
printf 'config_diagnostics = 1\nopenssl_conf = init\n[init]\nactivate = 1\n' >"$conf"
"$tool" doctor --json >"$2/broken" || [ $? = 2 ]
mkdir "$2/programs"
PATH=$2/programs "$tool" doctor --json >"$2/twice" || [ $? = 2 ]
"#;
    let Some(done) = on_this_machine(&machine, script) else {
        return;
    };
    done.ok();
    let findings = of_configuration(&written(&machine, "broken"));
    assert_eq!(findings.len(), 1, "{findings:#?}");
    contains(
        &findings[0].to_string(),
        &["openssl-broken", "FATAL: Startup failure"],
    );
}

/// The verdicts of `status` and `doctor`.
fn verdicts(machine: &Machine, name: &str) -> [String; 2] {
    let document = |command: &str| valid(&written(machine, &format!("{command}-{name}")));
    [
        document("status").text("/status/in_force"),
        document("doctor").text("/doctor/in_force"),
    ]
}

/// Asks both commands, and writes down what they say.
const BOTH: &str = r#"
root=$2
both() { # NAME
    "$tool" status --json >"$root/status-$1" || [ $? = 1 ]
    "$tool" doctor --json >"$root/doctor-$1" || [ $? -lt 3 ]
}
"#;

#[test]
fn status_and_doctor_agree_in_one_shell() {
    let machine = Machine::bare();
    let script = r#"
both off
"$tool" enable
both elsewhere
export OPENSSL_CONF=$HOME/.config/tenrounds/openssl.cnf
both user
unset OPENSSL_CONF
"$tool" enable --system
both system
export OPENSSL_CONF=/dev/null
both null
"#;
    let Some(done) = on_this_machine(&machine, &format!("{BOTH}{script}")) else {
        return;
    };
    done.ok();
    for (when, expected) in [
        ("off", "no"),
        ("elsewhere", "no"),
        ("user", "yes"),
        ("system", "yes"),
        ("null", "no"),
    ] {
        assert_eq!(verdicts(&machine, when), [expected, expected], "{when}");
    }
}

/// Only root can read the module, or the configuration.
#[test]
fn what_other_users_cannot_read_is_not_in_force_for_all() {
    let machine = Machine::bare();
    let script = r#"
refused() { # WORDS
    if "$tool" enable --system >"$root/out" 2>"$root/said"; then exit 9; fi
    cat "$root/said" >&2
    grep -qF "not for all users: $1" "$root/said"
}
not_for_all() { # NAME
    if "$tool" status --check >"$root/text"; then exit 8; fi
    both "$1"
}
cp "$conf" "$root/before"
chmod 750 $modules
refused "$modules cannot be searched by others (mode 750); to correct it: chmod a+rx $modules"
cmp "$conf" "$root/before"
chmod 755 $modules
"$tool" enable --system
"$tool" status --check
chmod 750 $modules
not_for_all module
refused "$modules cannot be searched"
chmod 755 $modules
chmod 600 "${conf%/*}/tenrounds.cnf"
not_for_all own
"#;
    let Some(done) = on_this_machine(&machine, &format!("{BOTH}{script}")) else {
        return;
    };
    done.ok();
    for (name, cause) in [
        ("module", "cannot be searched by others (mode 750)"),
        ("own", "cannot be read by others (mode 600)"),
    ] {
        assert_eq!(verdicts(&machine, name), ["partly", "partly"], "{name}");
        contains(&written(&machine, &format!("status-{name}")), &[cause]);
        let findings = of_configuration(&written(&machine, &format!("doctor-{name}")));
        let mut hidden = findings.iter().filter(|f| f["id"] == "hidden-from-others");
        contains(
            &hidden.next().unwrap().to_string(),
            &[cause, "sudo chmod a+r"],
        );
    }
}

/// A process in a chroot whose openssl.cnf is not ours.
#[test]
fn the_doctor_looks_into_the_root_of_a_process() {
    let machine = Machine::bare();
    let script = r#"
inner=$2/inner
mkdir -p "$inner/etc/ssl" "$inner/dev"
for dir in usr bin lib lib64; do
    if [ -L /$dir ]; then cp -a /$dir "$inner"; elif [ -d /$dir ]; then mkdir "$inner/$dir"; mount --rbind /$dir "$inner/$dir"; fi
done
touch "$inner/dev/null"
mount --bind /dev/null "$inner/dev/null"
mkdir -p "$inner/${conf%/*}"
printf 'openssl_conf = init\n[init]\nproviders = nowhere\n' >"$inner$conf"
touch "$inner/etc/only-there.cnf"
mkfifo "$2/input"
PATH=$PATH:/usr/sbin:/sbin
chroot "$inner" openssl enc -aes-256-ctr -K 00 -iv 00 <"$2/input" >/dev/null 2>&1 &
pid=$!
OPENSSL_CONF=/etc/only-there.cnf chroot "$inner" openssl enc -aes-256-ctr -K 00 -iv 00 <"$2/input" >/dev/null 2>&1 &
other=$!
trap 'kill $pid $other' EXIT
exec 3>"$2/input"
for one in $pid $other; do
    n=0
    until grep -q libcrypto "/proc/$one/maps"; do n=$((n + 1)); [ $n -lt 1200 ]; sleep 0.05; done
done
"$tool" enable --system
"$tool" doctor --json >"$2/document" || [ $? = 2 ]
echo "/proc/$pid/ /proc/$other/"
"#;
    let Some(done) = on_this_machine(&machine, script) else {
        return;
    };
    let out = done.ok().out;
    let ours: Vec<&str> = out.lines().last().unwrap().split(' ').collect();
    let document = valid(&written(&machine, "document"));
    let list = document.list("/doctor/processes/list");
    let chroots: Vec<&Value> = list
        .iter()
        .filter(|p| p["name"] == "openssl" && p["root"].is_string())
        .collect();
    assert!(chroots.len() >= 2, "{list:#?}");
    let findings = document.list("/doctor/findings");
    let missing: Vec<String> = findings
        .iter()
        .filter(|f| f["id"] == "section-missing")
        .map(Value::to_string)
        // And not of another container of this machine, or of another run of this test.
        .filter(|f| f.contains("nowhere") && ours.iter().any(|root| f.contains(root)))
        .collect();
    assert_eq!(missing.len(), 1, "{findings:#?}");
    contains(
        &missing[0],
        &["openssl.cnf:3", "/proc/", "[init] providers = nowhere"],
    );
    let absent =
        |f: &&Value| f["id"] == "conf-variable-missing" && f.to_string().contains("only-there");
    assert_eq!(findings.iter().find(absent), None);
}

/// A staged tree with the layout that `make` produces.
fn dist(machine: &Machine) -> String {
    let dist = machine.place.path("dist");
    for dir in ["bin", "lib/ossl-modules", "share/doc"] {
        fs::create_dir_all(dist.join(dir)).unwrap();
    }
    fs::copy(TOOL, dist.join("bin/tenrounds")).unwrap();
    fs::copy(module(), dist.join("lib/ossl-modules/tenrounds.so")).unwrap();
    fs::write(dist.join("share/doc/file"), "text\n").unwrap();
    dist.to_str().unwrap().to_owned()
}

/// Installs the tree into /usr/local, then runs the script, in which "uninstall" is `make
/// uninstall`.
fn uninstall(machine: &Machine, script: &str) -> Option<Done> {
    let dist = dist(machine);
    let script = format!(
        r#"
unset TENROUNDS_MODULE
root=$2
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
install="sh {INSTALL}"
uninstall() {{ $install --remove '{dist}' "${{1:-/usr/local}}" "${{2:-}}"; }}
$install '{dist}' /usr/local
{script}"#
    );
    on_this_machine(machine, &script)
}

#[test]
fn uninstall_undoes_what_enable_did() {
    let machine = Machine::bare();
    let script = r#"
cp "$conf" "$root/before"
uninstall
[ ! -e /usr/local/bin/tenrounds ]
$install "$root/../dist" /usr/local
/usr/local/bin/tenrounds enable --system
/usr/local/bin/tenrounds enable
openssl list -providers | grep tenrounds
uninstall
cmp "$conf" "$root/before"
[ ! -e "${conf%/*}/tenrounds.cnf" ]
[ ! -e "$HOME/.config/tenrounds" ]
[ ! -e /var/lib/tenrounds ]
[ -z "$(find /usr/local -type f)" ]
openssl rand -hex 4
"#;
    let Some(done) = uninstall(&machine, script) else {
        return;
    };
    let out = done.ok().out;
    contains(
        &out,
        &[
            ": disabled (system)",
            ": disabled (user)",
            "removed from /usr/local",
        ],
    );
}

/// An OpenSSL whose configuration lies where nobody would search for it.
#[test]
fn uninstall_undoes_what_enable_did_anywhere() {
    let machine = Machine::bare();
    let script = r#"
cp "$conf" "$root/before"
mkdir -p /var/lib/other
cp "$conf" /var/lib/other/openssl.cnf
cat >/usr/local/bin/openssl <<'END'
#!/bin/sh
if [ "$1" = version ]; then
    echo 'OpenSSL 3.0.0 7 sep 2021 (Library: OpenSSL 3.0.0 7 sep 2021)'
    echo 'OPENSSLDIR: "/var/lib/other"'
    exit
fi
OPENSSL_CONF=${OPENSSL_CONF-/var/lib/other/openssl.cnf} exec /usr/bin/openssl "$@"
END
chmod 755 /usr/local/bin/openssl
/usr/local/bin/tenrounds enable --system
# Only that one is still enabled.
cp "$root/before" "$conf"
rm "${conf%/*}/tenrounds.cnf"
grep /usr/local/lib/ossl-modules/tenrounds.so /var/lib/other/tenrounds.cnf
uninstall
cmp /var/lib/other/openssl.cnf "$root/before"
[ ! -e /var/lib/other/tenrounds.cnf ] && [ ! -e /var/lib/tenrounds ]
[ ! -e /usr/local/lib/ossl-modules ]
# Our own file is gone, and the line that names it is left.
$install "$root/../dist" /usr/local
/usr/local/bin/tenrounds enable --system
rm /var/lib/other/tenrounds.cnf
cp "$root/before" "$conf"
rm "${conf%/*}/tenrounds.cnf"
uninstall
cmp /var/lib/other/openssl.cnf "$root/before"
"#;
    let Some(done) = uninstall(&machine, script) else {
        return;
    };
    contains(&done.ok().out, &["/var/lib/other/openssl.cnf: disabled"]);
}

#[test]
fn uninstall_leaves_alone_what_another_module_does() {
    let machine = Machine::bare();
    let script = r#"
mkdir -p /opt/other
$install "$root/../dist" /opt/other
/opt/other/bin/tenrounds enable --system
cp "$conf" "$root/enabled"
uninstall
[ ! -e /usr/local/bin/tenrounds ]
cmp "$conf" "$root/enabled"
openssl list -providers | grep tenrounds
"#;
    let Some(done) = uninstall(&machine, script) else {
        return;
    };
    contains(&done.ok().out, &["removed from /usr/local"]);
}

/// Nothing is removed then, so that the tool can still undo `enable` later.
#[test]
fn uninstall_refuses_where_it_cannot_undo() {
    let machine = Machine::bare();
    let script = r#"
refused() { # WORDS [ARGUMENT...]
    words=$1; shift
    if uninstall "$@" >"$said.out" 2>"$said"; then echo "not refused: $words"; exit 1; fi
    cat "$said"
    grep -q "nothing was removed from" "$said"
    grep -qF "$words" "$said"
    [ -x /usr/local/bin/tenrounds ] && [ -f /usr/local/lib/ossl-modules/tenrounds.so ]
    [ -f /usr/local/share/doc/file ]
}
said=$root/said
cp "$conf" "$root/before"
# Our line, changed by hand.
/usr/local/bin/tenrounds enable --system
sed -i 's/^\.include = .*tenrounds/&  /; s/tenrounds  \.cnf/tenrounds.cnf # mine/' "$conf"
grep -n 'cnf # mine' "$conf"
refused 'remove these lines by hand' /usr/local ''
# A configuration that cannot be written.
sed -i 's/ # mine$//' "$conf"
mount --bind "${conf%/*}" "${conf%/*}"
mount -o remount,ro,bind "${conf%/*}"
refused 'Read-only file system' /usr/local ''
umount "${conf%/*}"
uninstall >/dev/null
$install "$root/../dist" /usr/local
# A line written by hand.
cp "$root/before" "$conf"
printf '[mine]\nmodule = /usr/local/lib/ossl-modules/tenrounds.so\n' >>"$conf"
refused 'remove them by hand' /usr/local ''
cp "$root/before" "$conf"
# The same beside what enable wrote, which stays in force.
/usr/local/bin/tenrounds enable --system
cp "$conf" "$root/enabled"
printf '[mine]\nmodule = /usr/local/lib/ossl-modules/tenrounds.so\n' >"${conf%/*}/mine.cnf"
refused 'remove them by hand' /usr/local ''
cmp "$conf" "$root/enabled"
rm "${conf%/*}/mine.cnf"
/usr/local/bin/tenrounds disable --system
# An image in which it is enabled.
mkdir -p "$root/image/etc/ssl"
$install "$root/../dist" /usr/local "$root/image"
printf 'module = /usr/local/lib/ossl-modules/tenrounds.so\n' >"$root/image/etc/ssl/tenrounds.cnf"
refused "chroot $root/image /usr/local/bin/tenrounds disable --system" /usr/local "$root/image"
[ -x "$root/image/usr/local/bin/tenrounds" ]
rm "$root/image/etc/ssl/tenrounds.cnf"
uninstall /usr/local "$root/image"
[ ! -e "$root/image/usr/local/bin/tenrounds" ] && [ -x /usr/local/bin/tenrounds ]
"#;
    let Some(done) = uninstall(&machine, script) else {
        return;
    };
    done.ok();
}
