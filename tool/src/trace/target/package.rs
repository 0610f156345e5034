// SPDX-License-Identifier: BSD-2-Clause
//! The installed package that a file belongs to, where dpkg or rpm know it.

use crate::limited;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Package managers answer in 20 to 200 ms.
const LIMIT: Duration = Duration::from_secs(5);

/// "libssl3:amd64 3.0.19-1"; None if no package manager knows the file.
pub fn of(path: &Path) -> Option<String> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    // dpkg knows files of /usr/lib by the names that they had in /lib.
    let old = real
        .strip_prefix("/usr")
        .ok()
        .map(|rest| Path::new("/").join(rest));
    [Some(real), old]
        .into_iter()
        .flatten()
        .find_map(|path| by_dpkg(&path).or_else(|| by_rpm(&path)))
}

fn by_dpkg(path: &Path) -> Option<String> {
    let mut query = Command::new("dpkg-query");
    query.arg("-S").arg(path);
    let package = package(&answer(query)?)?.to_owned();
    let mut query = Command::new("dpkg-query");
    query.args(["-W", "-f", "${Version}", "--"]).arg(&package);
    Some(match answer(query) {
        Some(version) => format!("{package} {version}"),
        None => package,
    })
}

/// The package that dpkg-query names. Several stand before the colon, separated by commas.
fn package(said: &str) -> Option<&str> {
    let mut lines = said.lines();
    let line = lines.find(|line| !line.starts_with("diversion"))?;
    line.split_once(": ")?.0.split(", ").next()
}

fn by_rpm(path: &Path) -> Option<String> {
    let mut query = Command::new("rpm");
    query
        .args(["-qf", "--queryformat", "%{NAME} %{VERSION}-%{RELEASE}\n"])
        .arg(path);
    answer(query)?.lines().next().map(str::to_owned)
}

/// What a package manager prints; None if there is none, or if it does not know.
fn answer(query: Command) -> Option<String> {
    let output = limited::run(query, b"", LIMIT).ok()?;
    output
        .success
        .then(|| output.out.trim_end().to_owned())
        .filter(|said| !said.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What dpkg-query prints: with several packages, with a diversion, and with a colon in the
    /// path.
    #[test]
    fn the_first_package_of_an_answer() {
        let of = |said| package(said).map(str::to_owned);
        let some = |name: &str| Some(name.to_owned());
        assert_eq!(
            of("libssl3:amd64: /usr/lib/libssl.so.3"),
            some("libssl3:amd64")
        );
        assert_eq!(of("one, two:i386: /usr/share/doc"), some("one"));
        assert_eq!(
            of("diversion by dash from: /bin/sh\ndiversion by dash to: /bin/sh.distrib\ndash: /bin/sh"),
            some("dash")
        );
        assert_eq!(of("name: /usr/a: b"), some("name"));
        for none in ["", "diversion by dash from: /bin/sh", "no answer"] {
            assert_eq!(of(none), None, "{none}");
        }
    }

    /// The package manager of this machine knows its own program, by both names that dpkg may know,
    /// and no file that nobody installed.
    #[test]
    fn the_package_manager_knows_itself() {
        let found = ["/usr/bin/dpkg-query", "/usr/bin/rpm"];
        let Some(program) = found.iter().find(|path| Path::new(path).exists()) else {
            return;
        };
        let name = match *program {
            "/usr/bin/rpm" if by_rpm(Path::new(program)).is_none() => return,
            "/usr/bin/rpm" => "rpm ",
            _ => "dpkg ",
        };
        let said = of(Path::new(program)).unwrap();
        assert!(said.starts_with(name) && said.len() > name.len(), "{said}");
        assert!(
            said[name.len()..].starts_with(|first: char| first.is_ascii_digit()),
            "{said}"
        );
        assert_eq!(of(&std::env::current_exe().unwrap()), None);
        assert_eq!(of(Path::new("/usr/bin/no-such-program")), None);
    }
}
