// SPDX-License-Identifier: BSD-2-Clause
//! Whether the module of a provider can be loaded by the OpenSSL that is to load it.

use crate::openssl::cnf::Assignment;
use base::finding::{Finding, Group};
use base::inventory::install::Install;
use base::root::Root;
use base::trust::Trusted;
use libcrypto::elf::Elf;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const GROUP: Group = Group::Configuration;

/// Where libcrypto looks: OPENSSL_MODULES or its own directory, and ".so" behind a plain name
/// (crypto/provider_core.c, provider_init).
pub fn locate(root: &Root, path: &str, install: Option<&Install>) -> Option<PathBuf> {
    if path.starts_with('/') {
        return Some(PathBuf::from(path));
    }
    let variable = std::env::var_os("OPENSSL_MODULES").map(PathBuf::from);
    let variable = variable.filter(|_| root.is_machine());
    let dir = variable.or_else(|| install?.modules.clone())?;
    let file = match path.ends_with(".so") {
        true => path.to_owned(),
        false => format!("{path}.so"),
    };
    Some(dir.join(file))
}

/// A provider that a configuration loads.
pub struct Loaded<'a> {
    pub provider: &'a str,
    /// The module's path, as the line names it.
    pub path: &'a str,
    pub line: &'a Assignment,
    pub configuration: &'a Path,
}

pub fn check(root: &Root, loaded: &Loaded, install: Option<&Install>) -> Vec<Finding> {
    let Some(file) = locate(root, loaded.path, install) else {
        return Vec::new();
    };
    let line = loaded.line;
    let found = match root.open(&file) {
        Ok(opened) => opened_module(root, loaded, &file, opened, install),
        Err(error) => vec![unopened(loaded.provider, &file, &error, line)],
    };
    let with_line = |finding: Finding| finding.seen(&line.place, line);
    found.into_iter().map(with_line).collect()
}

fn opened_module(
    root: &Root,
    loaded: &Loaded,
    file: &Path,
    opened: std::fs::File,
    install: Option<&Install>,
) -> Vec<Finding> {
    let provider = loaded.provider;
    let mut found: Vec<Finding> = replaceable(root, loaded, file).into_iter().collect();
    let elf = match libcrypto::module::whole(opened) {
        Ok(elf) => elf,
        Err(what) => {
            let says = format!("the module of provider '{provider}' {what}");
            let finding = Finding::problem(GROUP, "module-damaged", says);
            let finding = finding.seen(file.display(), "as OpenSSL would load it");
            found.push(finding.cure("shell", reinstall(provider)));
            return found;
        }
    };
    found.extend(other_abi(provider, file, &elf, install));
    if provider == "tenrounds" {
        found.extend(other_version(file, &elf));
    }
    found
}

/// Warns about a module that users other than root and the configuration's owner can replace. Such
/// a user can run code in every program that reads the configuration.
fn replaceable(root: &Root, loaded: &Loaded, file: &Path) -> Option<Finding> {
    let provider = loaded.provider;
    let owner = std::fs::metadata(root.path(&loaded.line.place.file)).ok()?;
    let trusted = Trusted::root_and(root.top(), owner.uid());
    let loose = trusted.loose(&root.path(file)).ok()?;
    if loose.is_empty() {
        return None;
    }
    let says = format!(
        "other users can replace the module of provider '{provider}', and so run code in every program that reads {}",
        loaded.configuration.display()
    );
    let mut finding = Finding::warning(GROUP, "module-writable", says);
    for part in loose.iter().take(5) {
        finding = finding.seen(part.part.display(), &part.why);
    }
    let cures = loose.iter().filter_map(|part| part.cure.as_deref());
    for cure in cures.take(5) {
        finding = finding.cure("shell", format!("sudo {cure}"));
    }
    let elsewhere = match provider {
        "tenrounds" => "install tenrounds for the system (the package, or sudo make install in its source tree), then: sudo tenrounds enable --system   (loads a copy that only root can replace)",
        _ => "install it where only root can write, and name that path in the configuration",
    };
    Some(match loose.iter().all(|part| part.cure.is_some()) {
        true => finding,
        false => finding.cure("shell", elsewhere),
    })
}

fn unopened(provider: &str, file: &Path, error: &std::io::Error, line: &Assignment) -> Finding {
    let seen = |finding: Finding| finding.seen(file.display(), error);
    match error.kind() {
        ErrorKind::NotFound => seen(Finding::problem(
            GROUP,
            "module-missing",
            format!("the module of provider '{provider}' does not exist: {}", file.display()),
        ))
        .cure(&line.place, "module = the path of the module; or remove the provider")
        .cure("shell", reinstall(provider)),
        _ => seen(Finding::warning(
            GROUP,
            "module-unreadable",
            format!("the module of provider '{provider}' cannot be read by this user: programs of this user do not load it"),
        ))
        .cure("shell", format!("chmod 0644 {}; and 0755 for its directories", file.display())),
    }
}

fn reinstall(provider: &str) -> String {
    match provider {
        "tenrounds" => "install the provider again ('make install', or the package openssl-provider-tenrounds), then: tenrounds enable".to_owned(),
        other => format!("install the package that brings the provider '{other}' again"),
    }
}

/// Made for another processor, width or C library than libcrypto.
fn other_abi(provider: &str, file: &Path, elf: &Elf, install: Option<&Install>) -> Option<Finding> {
    let install = install?;
    let (of_module, of_library) = if elf.kind != install.kind {
        (elf.kind.clone(), install.kind.clone())
    } else {
        let of_module = elf.c_library()?;
        let of_library = install.c_library?;
        (of_module != of_library).then(|| (of_module.to_owned(), of_library.to_owned()))?
    };
    let says = format!("the module of provider '{provider}' is for another ABI than libcrypto, which cannot load it");
    Some(
        Finding::problem(GROUP, "module-abi", says)
            .seen(file.display(), of_module)
            .seen(install.library.display(), &of_library)
            .cure("shell", format!("install the provider for {of_library}, or give that OpenSSL a configuration of its own (OPENSSL_CONF)")),
    )
}

/// The provider and this tool are made for each other.
fn other_version(file: &Path, elf: &Elf) -> Option<Finding> {
    let version = elf.own_version()?;
    let ours = tenrounds_sys::version();
    (version != ours).then(|| {
        let says = format!("the provider that is installed is {version}, and this command {ours}: what it says of the provider may be wrong");
        Finding::warning(GROUP, "module-version", says)
            .seen(file.display(), &version)
            .seen("tenrounds --version", ours)
            .cure("shell", "install both from the same release, and restart what runs")
    })
}
