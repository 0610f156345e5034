// SPDX-License-Identifier: BSD-2-Clause
//! Whether the module of a provider can be loaded by the OpenSSL that is to load it.

use super::finding::{Finding, Group};
use super::install::Install;
use crate::elf::Elf;
use crate::openssl_cnf::Assignment;
use crate::root::Root;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

const GROUP: Group = Group::Configuration;

/// Where libcrypto looks: OPENSSL_MODULES or its own directory, and ".so" behind a plain name
/// (crypto/provider_core.c, provider_init).
fn locate(root: &Root, path: &str, install: Option<&Install>) -> Option<PathBuf> {
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

pub fn check(
    root: &Root,
    provider: &str,
    path: &str,
    line: &Assignment,
    install: Option<&Install>,
) -> Vec<Finding> {
    let Some(file) = locate(root, path, install) else {
        return Vec::new();
    };
    let seen = |finding: Finding| {
        finding.seen(
            &line.place,
            format!("[{}] {} = {}", line.section, line.name, line.value),
        )
    };
    let elf = match root.open(&file) {
        Ok(opened) => Elf::read(opened),
        Err(error) => return vec![seen(unopened(provider, &file, &error, line))],
    };
    let Some(elf) = elf else {
        let says =
            format!("the module of provider '{provider}' is no ELF file: OpenSSL cannot load it");
        let finding =
            Finding::problem(GROUP, "module-not-elf", says).seen(file.display(), "no ELF header");
        return vec![seen(finding.cure("shell", reinstall(provider)))];
    };
    let mut found = Vec::new();
    found.extend(other_abi(provider, &file, &elf, install));
    if !elf.is_provider {
        let says = format!(
            "the module of provider '{provider}' is no provider: it has no OSSL_provider_init()"
        );
        let finding = Finding::problem(GROUP, "module-no-provider", says);
        found.push(
            finding
                .seen(file.display(), format!("{} file", elf.kind()))
                .cure("shell", reinstall(provider)),
        );
    }
    if provider == "tenrounds" {
        found.extend(other_version(&file, &elf));
    }
    found.into_iter().map(seen).collect()
}

fn unopened(provider: &str, file: &Path, error: &std::io::Error, line: &Assignment) -> Finding {
    let seen = |finding: Finding| finding.seen(file.display(), error);
    match error.kind() {
        ErrorKind::NotFound => seen(Finding::problem(
            GROUP,
            "module-missing",
            format!("the module of provider '{provider}' does not exist: {}", file.display()),
        ))
        .cure(&line.place, "module = the path of the module; or take the provider out")
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
    let (of_module, of_library) = if elf.kind() != install.kind {
        (elf.kind(), install.kind.clone())
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
    let ours = crate::core::version();
    (version != ours).then(|| {
        let says = format!("the provider that is installed is {version}, and this command {ours}: what it says of the provider may be wrong");
        Finding::warning(GROUP, "module-version", says)
            .seen(file.display(), &version)
            .seen("tenrounds --version", ours)
            .cure("shell", "install both from the same release, and restart what runs")
    })
}
