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
    let said = answer(query)?;
    // Several packages stand before the colon, separated by commas.
    let (packages, _) = said
        .lines()
        .find(|line| !line.starts_with("diversion"))?
        .split_once(": ")?;
    let package = packages.split(", ").next()?.to_owned();
    let mut query = Command::new("dpkg-query");
    query.args(["-W", "-f", "${Version}", "--"]).arg(&package);
    Some(match answer(query) {
        Some(version) => format!("{package} {version}"),
        None => package,
    })
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
