// SPDX-License-Identifier: BSD-2-Clause
//! The configuration that prefers the provider: everything of the base configuration, by inclusion, and
//! then what is added to its sections.
//!
//! It leans on how libcrypto reads (config(5)): sections of one name are merged, and of assignments to
//! one name in one section the last holds. So what the base names (its providers, algorithm and TLS
//! sections, whatever they are called) is extended in place, and nothing of it is lost.

use crate::conf::Conf;
use crate::error::{Error, Result};
use crate::libcrypto::LibCrypto;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub const PROPERTY: &str = "?provider=tenrounds";

/// A generated configuration.
pub struct Config {
    pub text: Vec<u8>,
    /// Where the module path and the properties stand, to verify that they arrived.
    provider_section: String,
    algorithm_section: String,
    properties: String,
}

/// The configuration file that libcrypto would read: that of OPENSSL_CONF or its own; None if that does
/// not exist, which libcrypto forgives.
pub fn base(libcrypto: &LibCrypto) -> Option<PathBuf> {
    let path = match std::env::var_os("OPENSSL_CONF") {
        Some(path) => PathBuf::from(path),
        None => libcrypto.config_dir()?.join("openssl.cnf"),
    };
    if path.as_os_str().is_empty() || !path.exists() {
        return None;
    }
    Some(std::env::current_dir().map_or(path.clone(), |dir| dir.join(path)))
}

/// Writes the configuration on top of a base, which it includes. A base that libcrypto cannot parse is an
/// error that names its line.
pub fn generate(libcrypto: &LibCrypto, base: Option<&Path>, module: &Path) -> Result<Config> {
    let mut text = Writer::new();
    text.comment("Written by 'tenrounds run': the configuration below, and tenrounds preferred.");
    if let Some(base) = base {
        text.assign(".include", base.as_os_str().as_bytes());
    }
    extend(text, libcrypto, base, base, module, false)
}

/// Writes, behind some comments, what is to be read after a base, which is included or includes it. In
/// messages the base is called `named`.
pub fn addition(
    libcrypto: &LibCrypto,
    comments: &[String],
    included: Option<&Path>,
    (base, named): (Option<&Path>, &Path),
    module: &Path,
) -> Result<Config> {
    let mut text = Writer::new();
    for comment in comments {
        text.comment(comment);
    }
    if let Some(included) = included {
        text.assign(".include", included.as_os_str().as_bytes());
    }
    extend(text, libcrypto, base, Some(named), module, true)
}

/// A line that includes a file.
pub fn include_line(file: &Path) -> Vec<u8> {
    let mut line = Writer::new();
    line.assign(".include", file.as_os_str().as_bytes());
    line.0
}

/// The line that names our module.
pub fn module_line(module: &Path) -> Vec<u8> {
    let mut line = Writer::new();
    line.assign("module", module.as_os_str().as_bytes());
    line.0
}

/// Writes our own lines. A `lasting` configuration can outlive its module, so it sets `soft_load`:
/// if the module was deleted, OpenSSL then works without it and leaves no error in its queue.
fn extend(
    mut text: Writer,
    libcrypto: &LibCrypto,
    base: Option<&Path>,
    named: Option<&Path>,
    module: &Path,
    lasting: bool,
) -> Result<Config> {
    let conf = base.map(|base| Conf::load(libcrypto, base)).transpose()?;
    let layout = Layout::read(conf.as_ref());
    let properties = properties(layout.properties.as_deref(), named)?;
    text.section("default");
    text.assign_unless(layout.has_init, "openssl_conf", layout.init.as_bytes());
    text.section(&layout.init);
    text.assign_unless(
        layout.has_providers,
        "providers",
        layout.providers.as_bytes(),
    );
    text.assign_unless(
        layout.has_algorithms,
        "alg_section",
        layout.algorithms.as_bytes(),
    );
    text.section(&layout.providers);
    text.assign_unless(layout.has_default, "default", layout.default.as_bytes());
    text.assign_unless(
        layout.has_tenrounds,
        "tenrounds",
        layout.tenrounds.as_bytes(),
    );
    text.section(&layout.default);
    text.assign("activate", b"1");
    text.section(&layout.tenrounds);
    text.assign("module", module.as_os_str().as_bytes());
    text.assign("activate", b"1");
    if lasting {
        text.assign("soft_load", b"1");
    }
    text.section(&layout.algorithms);
    text.assign("default_properties", properties.as_bytes());
    Ok(Config {
        text: text.0,
        provider_section: layout.tenrounds,
        algorithm_section: layout.algorithms,
        properties,
    })
}

/// What puts FIPS in force in a configuration, or None.
pub fn fips(conf: &Conf<'_>) -> Option<String> {
    let layout = Layout::read(Some(conf));
    let asked = layout.properties.unwrap_or_default();
    let squeezed: String = asked.chars().filter(|c| !c.is_whitespace()).collect();
    let clause = squeezed
        .split(',')
        .map(|clause| clause.trim_start_matches('?'))
        .find(|clause| {
            clause.eq_ignore_ascii_case("fips") || clause.eq_ignore_ascii_case("fips=yes")
        });
    if clause.is_some() {
        return Some(format!("default_properties = {asked}"));
    }
    let section = own(conf, &layout.providers, "fips")?;
    own(conf, &section, "activate").map(|value| format!("[{section}] activate = {value}"))
}

/// The module that a configuration names for the provider.
pub fn module(conf: &Conf<'_>) -> Option<PathBuf> {
    let section = Layout::read(Some(conf)).tenrounds;
    own(conf, &section, "module").map(PathBuf::from)
}

/// Whether a configuration activates providers, but not `default`, which it thereby switches off.
pub fn lacks_default(conf: &Conf<'_>) -> bool {
    let layout = Layout::read(Some(conf));
    let activated = |section: &str| own(conf, section, "activate").is_some();
    let others = conf.section(&layout.providers).unwrap_or_default();
    let others = others.iter().any(|(_, section)| activated(section));
    others && !(layout.has_default && activated(&layout.default))
}

impl Config {
    /// Has libcrypto parse the written file and looks whether it understood what was meant.
    pub fn verify(&self, libcrypto: &LibCrypto, file: &Path, module: &Path) -> Result<()> {
        let conf = Conf::load(libcrypto, file)?;
        let module = module.to_string_lossy();
        let arrived = own(&conf, &self.provider_section, "module").is_some_and(|m| m == module)
            && own(&conf, &self.algorithm_section, "default_properties").as_ref()
                == Some(&self.properties);
        if !arrived {
            return Err(Error::failure(format!(
                "{}: libcrypto reads something else in it than was written; is there an unusual character in {module}?",
                file.display()
            )));
        }
        Ok(())
    }
}

/// The names of the sections that matter, and which entries the base has already.
struct Layout {
    init: String,
    has_init: bool,
    providers: String,
    has_providers: bool,
    algorithms: String,
    has_algorithms: bool,
    default: String,
    has_default: bool,
    tenrounds: String,
    has_tenrounds: bool,
    properties: Option<String>,
}

impl Layout {
    fn read(conf: Option<&Conf<'_>>) -> Layout {
        let look = |section: &str, name: &str| conf.and_then(|conf| own(conf, section, name));
        let or_ours = |found: &Option<String>, ours: &str| {
            found.clone().unwrap_or_else(|| unused_section(conf, ours))
        };
        let found_init = look("default", "openssl_conf");
        let init = or_ours(&found_init, "tenrounds_init");
        let found_providers = look(&init, "providers");
        let found_algorithms = look(&init, "alg_section");
        let providers = or_ours(&found_providers, "tenrounds_providers");
        let algorithms = or_ours(&found_algorithms, "tenrounds_algorithms");
        let found_default = look(&providers, "default");
        let found_tenrounds = look(&providers, "tenrounds");
        Layout {
            default: or_ours(&found_default, "tenrounds_default"),
            tenrounds: or_ours(&found_tenrounds, "tenrounds_provider"),
            properties: look(&algorithms, "default_properties"),
            has_init: found_init.is_some(),
            has_providers: found_providers.is_some(),
            has_algorithms: found_algorithms.is_some(),
            has_default: found_default.is_some(),
            has_tenrounds: found_tenrounds.is_some(),
            init,
            providers,
            algorithms,
        }
    }
}

/// The value of a name in exactly this section (libcrypto's own lookup falls back to [default]). A
/// provider's name may follow a dot, as in "1.default".
fn own(conf: &Conf<'_>, section: &str, name: &str) -> Option<String> {
    let entries = conf.section(section)?;
    let is_meant =
        |entry: &str| entry == name || entry.split_once('.').is_some_and(|e| e.1 == name);
    entries
        .into_iter()
        .rev()
        .find(|(entry, _)| is_meant(entry))
        .map(|(_, value)| value)
}

fn unused_section(conf: Option<&Conf<'_>>, name: &str) -> String {
    let is_used = |name: &String| conf.is_some_and(|conf| conf.section(name).is_some());
    let numbered = (2..).map(|n| format!("{name}_{n}"));
    std::iter::once(name.to_owned())
        .chain(numbered)
        .find(|n| !is_used(n))
        .expect("some number is free")
}

/// The base's properties and ours. A query may name each property only once (property(7)).
fn properties(existing: Option<&str>, base: Option<&Path>) -> Result<String> {
    let existing = existing.unwrap_or("").trim();
    let base = base.map_or(String::new(), |base| base.display().to_string());
    let clauses: Vec<&str> = existing
        .split(',')
        .map(str::trim)
        .filter(|c| !c.is_empty())
        .collect();
    if clauses.contains(&PROPERTY) {
        return Ok(existing.to_owned());
    }
    let name = |clause: &str| {
        clause
            .trim_start_matches(['?', '-', ' '])
            .split(['=', '!'])
            .next()
            .unwrap_or("")
            .trim()
            .to_owned()
    };
    match clauses.iter().find(|clause| name(clause).eq_ignore_ascii_case("provider")) {
        Some(clause) => Err(Error::failure(format!(
            "{base}: default_properties already says '{clause}', and only one provider can be preferred; take that out, or set OPENSSL_CONF to a configuration without it"
        ))),
        None if clauses.is_empty() => Ok(PROPERTY.to_owned()),
        None => Ok(format!("{existing},{PROPERTY}")),
    }
}

/// Writes the format of config(5).
struct Writer(Vec<u8>);

impl Writer {
    fn new() -> Writer {
        Writer(Vec::new())
    }

    fn comment(&mut self, text: &str) {
        self.0.extend_from_slice(format!("# {text}\n").as_bytes());
    }

    fn section(&mut self, name: &str) {
        self.0.extend_from_slice(format!("\n[{name}]\n").as_bytes());
    }

    fn assign(&mut self, name: &str, value: &[u8]) {
        self.0.extend_from_slice(format!("{name} = ").as_bytes());
        for &byte in value {
            match byte {
                b'\n' => self.0.extend_from_slice(b"\\n"),
                b'\r' => self.0.extend_from_slice(b"\\r"),
                b'\\' | b'$' | b'"' | b'\'' | b'`' | b'#' => {
                    self.0.extend_from_slice(&[b'\\', byte])
                }
                _ => self.0.push(byte),
            }
        }
        self.0.push(b'\n');
    }

    fn assign_unless(&mut self, exists: bool, name: &str, value: &[u8]) {
        if !exists {
            self.assign(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(base: &str, module: &str) -> (String, Vec<(String, String)>) {
        let libcrypto = LibCrypto::open().unwrap();
        let dir =
            std::env::temp_dir().join(format!("tenrounds-test-{}-{:p}", std::process::id(), &base));
        std::fs::create_dir_all(&dir).unwrap();
        let (base_file, file) = (dir.join("base $1.cnf"), dir.join("out.cnf"));
        std::fs::write(&base_file, base).unwrap();
        let config = generate(&libcrypto, Some(&base_file), Path::new(module)).unwrap();
        std::fs::write(&file, &config.text).unwrap();
        config.verify(&libcrypto, &file, Path::new(module)).unwrap();
        let conf = Conf::load(&libcrypto, &file).unwrap();
        let init = own(&conf, "default", "openssl_conf").unwrap();
        let entries = conf.section(&init).unwrap();
        std::fs::remove_dir_all(&dir).unwrap();
        (String::from_utf8(config.text).unwrap(), entries)
    }

    #[test]
    fn an_empty_base_works() {
        let (_, entries) = written("", "/x/tenrounds.so");
        let names: Vec<&str> = entries.iter().map(|e| e.0.as_str()).collect();
        assert_eq!(names, ["providers", "alg_section"]);
    }

    #[test]
    fn the_sections_of_the_base_survive_in_their_order() {
        let base = "openssl_conf = a\n[a]\nssl_conf = s\nproviders = p\nalg_section = e\n\
                    [p]\n1.default = d\nlegacy = l\n[d]\nactivate=1\n[l]\nactivate = 1\n\
                    [e]\ndefault_properties = foo=bar\n[s]\nsystem_default = t\n[t]\nMinProtocol = TLSv1.2\n";
        let (text, entries) = written(base, "/x/tenrounds.so");
        let names: Vec<&str> = entries.iter().map(|e| e.0.as_str()).collect();
        assert_eq!(names, ["ssl_conf", "providers", "alg_section"]);
        assert!(
            text.contains("default_properties = foo=bar,?provider=tenrounds"),
            "{text}"
        );
        assert!(!text.contains("tenrounds_default"), "{text}");
    }

    #[test]
    fn unusual_characters_in_the_path_arrive() {
        written(
            ".pragma = dollarid:on\n",
            "/x y/$HOME/a\\b#c'd\"e`f/tenrounds.so",
        );
        written(
            "tenrounds_init = 1\n[tenrounds_init]\na=b\n",
            "/ü/tenrounds.so",
        );
    }

    #[test]
    fn a_second_preference_is_refused() {
        let refused = |p| properties(Some(p), None).unwrap_err().to_string();
        assert!(refused("fips=yes, ? provider = other").contains("'? provider = other'"));
        assert!(refused("provider!=x").contains("'provider!=x'"));
        assert_eq!(
            properties(Some("?provider=tenrounds"), None).unwrap(),
            PROPERTY
        );
    }
}
