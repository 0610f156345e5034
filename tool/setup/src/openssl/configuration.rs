// SPDX-License-Identifier: BSD-2-Clause
//! The configuration that prefers the provider: everything of the base configuration, by inclusion,
//! and then what is added to its sections.
//!
//! It leans on how libcrypto reads (config(5)): sections of one name are merged, and of assignments
//! to one name in one section the last holds. So what the base names (its providers, algorithm and
//! TLS sections, whatever they are called) is extended in place, and nothing of it is lost.

use super::cnf::{Cnf, Trouble};
use super::nodejs::Nodejs;
use base::root::Root;
use libcrypto::LibCrypto;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use terminal::error::{Error, Result};

/// The preference: a property of our own (openssl/provider/provider.h). Programs whose query names
/// a provider, as `provider!=fips` does, cancel a preference by name, but not this one.
pub const PROPERTY: &str = "?tenrounds.aes=yes";
/// The preference by name, which other configurations may have.
pub const BY_NAME: &str = "?provider=tenrounds";
/// The property that it names.
const OUR_NAME: &str = "tenrounds.aes";
/// The name of our own file beside an openssl.cnf.
pub const OWN: &str = "tenrounds.cnf";
/// The sections for Node.js: the first, its providers, its algorithms.
const NODEJS: [&str; 3] = [
    "tenrounds_nodejs",
    "tenrounds_nodejs_providers",
    "tenrounds_nodejs_algorithms",
];
/// How our own files begin.
pub const OWN_HEAD: &str = "Written by 'tenrounds enable'; 'tenrounds disable' removes it.";

/// The configuration file that libcrypto would read: the one that OPENSSL_CONF names, or its own.
/// None if that is /dev/null or does not exist, which libcrypto forgives.
pub fn base(libcrypto: &LibCrypto, named: Option<OsString>) -> Option<PathBuf> {
    let path = match named {
        Some(path) => PathBuf::from(path),
        None => libcrypto.config_dir()?.join("openssl.cnf"),
    };
    if path.as_os_str().is_empty() || path == Path::new("/dev/null") || !path.exists() {
        return None;
    }
    Some(std::env::current_dir().map_or(path.clone(), |dir| dir.join(path)))
}

/// Reads a configuration. What libcrypto cannot parse is an error that names the line. libcrypto
/// forgives an included file that it cannot read.
pub fn load(file: &Path) -> Result<Cnf> {
    let cnf = Cnf::read(&Root::machine(), file);
    let mut troubles = cnf.troubles.iter();
    let found = troubles.find(|trouble| !trouble.unreadable || trouble.place.line == 0);
    let Some(Trouble { place, what, .. }) = found else {
        return Ok(cnf);
    };
    Err(Error::failure(match place.line {
        0 => what.clone(),
        line => format!(
            "{}: line {line}: {what}; fix that line",
            place.file.display()
        ),
    }))
}

/// The configuration that `run` uses: the base, which it includes, and tenrounds preferred.
pub fn generate(base: Option<(&Path, &Cnf)>, module: &Path, nodejs: &Nodejs) -> Result<Vec<u8>> {
    let mut text = Writer::new();
    text.comment("Written by 'tenrounds run': the configuration below, and tenrounds preferred.");
    let (named, cnf) = base.unzip();
    text.include(named);
    extend(text, cnf, named, module, nodejs, false)
}

/// Our own file of `enable`, which is read after a base: it includes the base, or a line of the
/// base includes it. In messages the base is called `named`.
pub fn addition(
    included: Option<&Path>,
    base: Option<&Cnf>,
    named: &Path,
    module: &Path,
    nodejs: &Nodejs,
) -> Result<Vec<u8>> {
    let mut text = Writer::new();
    text.comment(OWN_HEAD);
    text.include(included);
    extend(text, base, Some(named), module, nodejs, true)
}

/// A line that includes a file.
pub fn include_line(file: &Path) -> Vec<u8> {
    let mut line = Writer::new();
    line.include(Some(file));
    line.0
}

/// Writes our own lines. A `lasting` configuration can outlive its module, so it sets `soft_load`:
/// if the module was deleted, OpenSSL then works without it and leaves no error in its queue.
fn extend(
    mut text: Writer,
    base: Option<&Cnf>,
    named: Option<&Path>,
    module: &Path,
    nodejs: &Nodejs,
    lasting: bool,
) -> Result<Vec<u8>> {
    let nothing = Cnf::default();
    let layout = Layout::of(base.unwrap_or(&nothing));
    let properties = properties(layout.properties.as_deref(), named)?;
    text.section("default");
    text.assign_new("openssl_conf", &layout.init);
    let for_nodejs = layout.nodejs.filter(|_| nodejs.too_old.is_none());
    if let Some([init, ..]) = &for_nodejs {
        text.assign("nodejs_conf", init.as_bytes());
    }
    text.section(&layout.init.name);
    text.assign_new("providers", &layout.providers);
    text.assign_new("alg_section", &layout.algorithms);
    text.section(&layout.providers.name);
    text.assign_new("default", &layout.default);
    text.assign_new("tenrounds", &layout.tenrounds);
    text.section(&layout.default.name);
    text.assign("activate", b"1");
    text.section(&layout.tenrounds.name);
    text.assign("module", module.as_os_str().as_bytes());
    text.assign("activate", b"1");
    if lasting {
        text.assign("soft_load", b"1");
    }
    text.section(&layout.algorithms.name);
    text.assign("default_properties", properties.as_bytes());
    if let Some([init, providers, algorithms]) = &for_nodejs {
        text.section(init);
        text.assign("providers", providers.as_bytes());
        text.assign("alg_section", algorithms.as_bytes());
        text.section(providers);
        text.assign("default", layout.default.name.as_bytes());
        text.assign("tenrounds", layout.tenrounds.name.as_bytes());
        text.section(algorithms);
        text.assign("default_properties", PROPERTY.as_bytes());
    }
    Ok(text.0)
}

/// The clauses of a property query (property(7)).
pub fn clauses(properties: &str) -> impl Iterator<Item = &str> {
    let clauses = properties.split(',').map(str::trim);
    clauses.filter(|clause| !clause.is_empty())
}

/// Whether a clause prefers or demands our algorithms.
pub fn prefers_ours(clause: &str) -> bool {
    let clause = clause.trim_start_matches('?');
    [PROPERTY, BY_NAME].iter().any(|ours| ours[1..] == *clause)
}

/// Whether a clause demands FIPS.
pub fn is_fips(clause: &str) -> bool {
    let clause: String = clause.chars().filter(|c| !c.is_whitespace()).collect();
    clause.eq_ignore_ascii_case("fips") || clause.eq_ignore_ascii_case("fips=yes")
}

/// What puts FIPS in force in a configuration, or None.
fn fips(cnf: &Cnf) -> Option<String> {
    let layout = Layout::of(cnf);
    let asked = layout.properties.unwrap_or_default();
    if clauses(&asked).any(|clause| is_fips(clause.trim_start_matches('?'))) {
        return Some(format!("default_properties = {asked}"));
    }
    let section = cnf.value(&layout.providers.name, "fips")?;
    let activate = cnf.value(section, "activate")?;
    Some(format!("[{section}] activate = {activate}"))
}

/// Refuses a configuration that puts FIPS in force.
pub fn refuse_fips(cnf: &Cnf, file: &Path) -> Result<()> {
    match fips(cnf) {
        None => Ok(()),
        Some(why) => Err(Error::failure(format!(
            "{}: FIPS is in force ('{why}'), and tenrounds is not validated; it stays off here",
            file.display()
        ))),
    }
}

/// The module that a configuration names for the provider.
pub fn module(cnf: &Cnf) -> Option<PathBuf> {
    let section = Layout::of(cnf).tenrounds.name;
    cnf.value(&section, "module").map(PathBuf::from)
}

/// A section that matters.
struct Section {
    name: String,
    /// Whether the base names it already.
    named: bool,
}

/// The sections that matter, and the properties that the base asks for.
struct Layout {
    init: Section,
    providers: Section,
    algorithms: Section,
    default: Section,
    tenrounds: Section,
    /// Sections of our own for Node.js; None if the base names one, which stays as it is. Node.js
    /// does not read the base's section, and ends where an entry there is wrong or not for its
    /// OpenSSL.
    nodejs: Option<[String; 3]>,
    properties: Option<String>,
}

impl Layout {
    fn of(cnf: &Cnf) -> Layout {
        let look = |section: &str, name: &str, ours: &str| match cnf.value(section, name) {
            Some(found) => Section {
                name: found.to_owned(),
                named: true,
            },
            None => Section {
                name: unused_section(cnf, ours),
                named: false,
            },
        };
        let init = look("default", "openssl_conf", "tenrounds_init");
        let providers = look(&init.name, "providers", "tenrounds_providers");
        let algorithms = look(&init.name, "alg_section", "tenrounds_algorithms");
        let properties = cnf.value(&algorithms.name, "default_properties");
        Layout {
            default: look(&providers.name, "default", "tenrounds_default"),
            tenrounds: look(&providers.name, "tenrounds", "tenrounds_provider"),
            nodejs: match cnf.value("default", "nodejs_conf") {
                Some(_) => None,
                None => Some(NODEJS.map(|name| unused_section(cnf, name))),
            },
            properties: properties.map(str::to_owned),
            init,
            providers,
            algorithms,
        }
    }
}

fn unused_section(cnf: &Cnf, name: &str) -> String {
    let numbered = (2..).map(|n| format!("{name}_{n}"));
    std::iter::once(name.to_owned())
        .chain(numbered)
        .find(|name| !cnf.has_section(name))
        .expect("some number is free")
}

/// The base's properties and ours. A query may name each property only once (property(7)).
fn properties(existing: Option<&str>, base: Option<&Path>) -> Result<String> {
    let existing = existing.unwrap_or("").trim();
    let base = base.map_or(String::new(), |base| base.display().to_string());
    let mut kept: Vec<&str> = clauses(existing).collect();
    kept.retain(|clause| ![PROPERTY, BY_NAME].contains(clause));
    if let Some(clause) = kept.iter().find(|clause| contradicts(clause)) {
        return Err(Error::failure(format!(
            "{base}: default_properties already says '{clause}', and only one provider can be preferred; remove that, or set OPENSSL_CONF to a configuration without it"
        )));
    }
    kept.push(PROPERTY);
    Ok(kept.join(","))
}

/// Whether a clause prefers, demands or excludes something that our preference cannot stand beside.
fn contradicts(clause: &str) -> bool {
    let plain: String = clause.chars().filter(|c| !c.is_whitespace()).collect();
    let plain = plain.trim_start_matches(['?', '-']).to_ascii_lowercase();
    let (name, excludes) = match plain.split_once("!=") {
        Some((name, value)) => (name, value != "tenrounds"),
        None => (plain.split('=').next().unwrap_or(""), false),
    };
    name == OUR_NAME || (name == "provider" && !excludes)
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

    fn include(&mut self, file: Option<&Path>) {
        if let Some(file) = file {
            self.assign(".include", file.as_os_str().as_bytes());
        }
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

    /// Names a section, unless the base does.
    fn assign_new(&mut self, name: &str, section: &Section) {
        if !section.named {
            self.assign(name, section.name.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(base: &str, module: &str) -> (String, Vec<(String, String)>) {
        let dir =
            std::env::temp_dir().join(format!("tenrounds-test-{}-{:p}", std::process::id(), &base));
        std::fs::create_dir_all(&dir).unwrap();
        let (base_file, file) = (dir.join("base $1.cnf"), dir.join("out.cnf"));
        std::fs::write(&base_file, base).unwrap();
        let cnf = load(&base_file).unwrap();
        let config = generate(
            Some((&base_file, &cnf)),
            Path::new(module),
            &Nodejs::default(),
        )
        .unwrap();
        std::fs::write(&file, &config).unwrap();
        let read = load(&file).unwrap();
        assert_eq!(super::module(&read).as_deref(), Some(Path::new(module)));
        let entries = read.section(read.init().unwrap());
        let entries = entries.map(|a| (a.name.clone(), a.value.clone())).collect();
        std::fs::remove_dir_all(&dir).unwrap();
        (String::from_utf8(config).unwrap(), entries)
    }

    #[test]
    fn an_empty_base_works() {
        let (_, entries) = written("", "/x/tenrounds.so");
        let names: Vec<&str> = entries.iter().map(|e| e.0.as_str()).collect();
        assert_eq!(names, ["providers", "alg_section"]);
    }

    #[test]
    fn nodejs_gets_a_section_of_its_own_unless_the_base_names_one() {
        let base = "openssl_conf = a\n[a]\nssl_conf = s\n[s]\nsystem_default = t\n[t]\n";
        let (text, _) = written(base, "/x/tenrounds.so");
        let section = "\n[tenrounds_nodejs]\nproviders = tenrounds_nodejs_providers\n\
                       alg_section = tenrounds_nodejs_algorithms\n\n[";
        assert!(
            text.contains("\nnodejs_conf = tenrounds_nodejs\n"),
            "{text}"
        );
        assert!(text.contains(section), "{text}");
        let (text, _) = written("[tenrounds_nodejs]\nx = y\n", "/x/tenrounds.so");
        assert!(
            text.contains("\nnodejs_conf = tenrounds_nodejs_2\n"),
            "{text}"
        );
        let (text, _) = written("nodejs_conf = n\n[n]\nx = y\n", "/x/tenrounds.so");
        assert!(!text.contains("nodejs_conf ="), "{text}");
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
            text.contains("default_properties = foo=bar,?tenrounds.aes=yes"),
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
        for clause in [
            "provider!=tenrounds",
            "tenrounds.aes=no",
            "provider=tenrounds",
        ] {
            assert!(refused(clause).contains(&format!("'{clause}'")), "{clause}");
        }
        for (base, expected) in [
            ("", PROPERTY),
            (BY_NAME, PROPERTY),
            (PROPERTY, PROPERTY),
            (
                "provider!=x, ?provider=tenrounds",
                "provider!=x,?tenrounds.aes=yes",
            ),
        ] {
            assert_eq!(properties(Some(base), None).unwrap(), expected);
        }
    }
}
