// SPDX-License-Identifier: BSD-2-Clause
//! Reads a configuration of OpenSSL (config(5)) with the place of every line, which libcrypto's own parser
//! does not tell. Nothing here stops at an error: what is wrong is collected, and reading goes on.

use crate::root::Root;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// libcrypto sets no limit to included files that include files; a loop must end here all the same.
const DEPTH: usize = 16;
const MAX_FILES: usize = 1000;
/// The longest value after variables are replaced (crypto/conf/conf_def.c, MAX_CONF_VALUE_LENGTH).
const MAX_VALUE: usize = 65536;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub file: PathBuf,
    pub line: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

#[derive(Debug, Clone)]
pub struct Assignment {
    pub place: Place,
    pub section: String,
    pub name: String,
    pub value: String,
}

/// Something that libcrypto refuses, or cannot read.
#[derive(Debug, Clone)]
pub struct Trouble {
    pub place: Place,
    pub what: String,
    /// The file could not be read, as opposed to understood.
    pub unreadable: bool,
}

#[derive(Debug, Default)]
pub struct Cnf {
    /// In the order in which libcrypto reads them.
    pub assignments: Vec<Assignment>,
    /// Each line `[ name ]`.
    pub headers: Vec<(String, Place)>,
    pub troubles: Vec<Trouble>,
}

impl Cnf {
    pub fn read(root: &Root, file: &Path) -> Cnf {
        let mut reader = Reader {
            root,
            cnf: Cnf::default(),
            section: "default".to_owned(),
            dollar_is_plain: false,
            include_dir: None,
            values: HashMap::new(),
            files: 0,
        };
        reader.file(file, 0, None);
        reader.cnf
    }

    /// The assignment that holds: the last of that name, with or without a number and a dot before it, in
    /// that section.
    pub fn get(&self, section: &str, name: &str) -> Option<&Assignment> {
        let mut in_section = self.assignments.iter().filter(|a| a.section == section);
        in_section.rfind(|a| plain_name(&a.name) == name)
    }

    pub fn has_section(&self, section: &str) -> bool {
        self.headers.iter().any(|(name, _)| name == section)
            || self.assignments.iter().any(|a| a.section == section)
    }
}

/// "default" of "1.default": what stands before a dot only keeps names apart (crypto/conf/conf_mod.c).
pub fn plain_name(name: &str) -> &str {
    name.split_once('.').map_or(name, |(_, rest)| rest)
}

struct Reader<'a> {
    root: &'a Root,
    cnf: Cnf,
    section: String,
    dollar_is_plain: bool,
    include_dir: Option<PathBuf>,
    values: HashMap<(String, String), String>,
    files: usize,
}

impl Reader<'_> {
    fn file(&mut self, file: &Path, depth: usize, from: Option<&Place>) {
        self.files += 1;
        let place = || {
            from.cloned().unwrap_or(Place {
                file: file.to_owned(),
                line: 0,
            })
        };
        if depth > DEPTH || self.files > MAX_FILES {
            let what = format!("{} is included too deeply; a loop?", file.display());
            return self.trouble(place(), what, false);
        }
        if self.root.path(file).is_dir() {
            for name in self.root.names(file) {
                if name.ends_with(".cnf") || name.ends_with(".conf") {
                    self.file(&file.join(name), depth + 1, from);
                }
            }
            return;
        }
        match self.root.bytes(file) {
            Ok(bytes) => self.text(file, &String::from_utf8_lossy(&bytes), depth),
            Err(error) => {
                let what = format!("cannot read {}: {error}", file.display());
                self.trouble(place(), what, true);
            }
        }
    }

    fn trouble(&mut self, place: Place, what: String, unreadable: bool) {
        self.cnf.troubles.push(Trouble {
            place,
            what,
            unreadable,
        });
    }

    fn text(&mut self, file: &Path, text: &str, depth: usize) {
        let mut joined = String::new();
        for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let line = line.trim_end_matches('\r');
            joined.push_str(line);
            if joined.ends_with('\\') && !joined.ends_with("\\\\") {
                joined.pop();
                continue;
            }
            let place = Place {
                file: file.to_owned(),
                line: index + 1,
            };
            self.line(&std::mem::take(&mut joined), place, depth);
        }
    }

    fn line(&mut self, line: &str, place: Place, depth: usize) {
        let line = without_comment(line).trim();
        if line.is_empty() {
            return;
        }
        if let Some(rest) = line.strip_prefix('[') {
            match rest.split_once(']') {
                Some((name, _)) => {
                    self.section = name.trim().to_owned();
                    self.cnf.headers.push((self.section.clone(), place));
                }
                None => self.trouble(place, format!("no ']' after '{line}'"), false),
            }
            return;
        }
        if let Some(value) = directive(line, ".include") {
            return self.include(value, place, depth);
        }
        if let Some(value) = directive(line, ".pragma") {
            return self.pragma(value);
        }
        match line.split_once('=') {
            Some((name, value)) => self.assign(name.trim(), value.trim(), place),
            None => self.trouble(place, format!("no '=' in '{line}'"), false),
        }
    }

    fn include(&mut self, value: &str, place: Place, depth: usize) {
        let path = match self.expand(value) {
            Ok(path) => PathBuf::from(path),
            Err(what) => return self.trouble(place, what, false),
        };
        let dir = std::env::var_os("OPENSSL_CONF_INCLUDE").map(PathBuf::from);
        let dir = dir.or_else(|| self.include_dir.clone());
        let path = match dir {
            Some(dir) if path.is_relative() => dir.join(path),
            _ => path,
        };
        self.file(&path, depth + 1, Some(&place));
    }

    fn pragma(&mut self, value: &str) {
        match value.split_once(':').map(|(k, v)| (k.trim(), v.trim())) {
            Some(("dollarid", on)) => self.dollar_is_plain = on == "on" || on == "true",
            Some(("includedir", dir)) => self.include_dir = Some(PathBuf::from(dir)),
            _ => {}
        }
    }

    fn assign(&mut self, name: &str, value: &str, place: Place) {
        let (section, name) = match name.split_once("::") {
            Some((section, name)) => (section.trim().to_owned(), name.trim()),
            None => (self.section.clone(), name),
        };
        match self.expand(value) {
            Ok(value) => {
                let key = (section.clone(), name.to_owned());
                self.values.insert(key, value.clone());
                self.cnf.assignments.push(Assignment {
                    place,
                    section,
                    name: name.to_owned(),
                    value,
                });
            }
            Err(what) => self.trouble(place, what, false),
        }
    }

    /// Takes quotes away and puts the values of variables in.
    fn expand(&self, raw: &str) -> Result<String, String> {
        let mut out = String::new();
        let mut rest = raw.chars();
        while let Some(c) = rest.next() {
            match c {
                '\'' | '"' | '`' => {
                    let quoted: String = rest.by_ref().take_while(|&q| q != c).collect();
                    out.push_str(&quoted);
                }
                '\\' => match rest.next() {
                    Some('n') => out.push('\n'),
                    Some('t') => out.push('\t'),
                    Some('r') => out.push('\r'),
                    Some('b') => out.push('\u{8}'),
                    Some(other) => out.push(other),
                    None => {}
                },
                '$' if !self.dollar_is_plain => {
                    let (name, after) = variable(rest.as_str());
                    out.push_str(&self.value_of(name)?);
                    rest = after.chars();
                }
                c => out.push(c),
            }
            if out.len() > MAX_VALUE {
                return Err("a value becomes longer than 65536 bytes".to_owned());
            }
        }
        Ok(out)
    }

    fn value_of(&self, name: &str) -> Result<String, String> {
        let (section, key) = name.split_once("::").unwrap_or((&self.section, name));
        let look = |section: &str| {
            self.values
                .get(&(section.to_owned(), key.to_owned()))
                .cloned()
        };
        let found = match section {
            "ENV" => std::env::var(key).ok().or_else(|| look("ENV")),
            section => look(section),
        };
        found
            .or_else(|| look("default"))
            .ok_or_else(|| format!("the variable '{name}' has no value"))
    }
}

/// What follows ".include" or ".pragma", with or without an equals sign.
fn directive<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(word)?;
    let value = rest.trim_start();
    match value.strip_prefix('=') {
        Some(value) => Some(value.trim()),
        None => (value.len() < rest.len()).then_some(value),
    }
}

fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in line.char_indices() {
        match (c, quote) {
            _ if escaped => escaped = false,
            ('\\', _) => escaped = true,
            (c, Some(q)) if c == q => quote = None,
            (_, Some(_)) => {}
            ('\'' | '"' | '`', None) => quote = Some(c),
            ('#', None) => return &line[..at],
            _ => {}
        }
    }
    line
}

/// The name of a variable behind the dollar sign, and what follows it.
fn variable(text: &str) -> (&str, &str) {
    for (open, close) in [('{', '}'), ('(', ')')] {
        if let Some(inner) = text.strip_prefix(open) {
            return inner.split_once(close).unwrap_or((inner, ""));
        }
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let word = |text: &str| text.find(|c| !is_part(c)).unwrap_or(text.len());
    let mut end = word(text);
    if text[end..].starts_with("::") {
        end += 2 + word(&text[end + 2..]);
    }
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(files: &[(&str, &str)]) -> Cnf {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("tenrounds-cnf-{}-{number}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        for (name, text) in files {
            let path = dir.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let cnf = Cnf::read(&Root::new(&dir), Path::new("/openssl.cnf"));
        std::fs::remove_dir_all(&dir).unwrap();
        cnf
    }

    fn value(cnf: &Cnf, section: &str, name: &str) -> Option<String> {
        cnf.get(section, name).map(|a| a.value.clone())
    }

    #[test]
    fn what_libcrypto_reads() {
        let cnf = read(&[
            (
                "openssl.cnf",
                "a = 1 # not this\nb = \"x # y\" \\\n  z\n[ one ]\nc = $a${b}\n1.d = \\$e\n\
                 .include /sub\nother::f = $one::c\n[one]\nc = last\n",
            ),
            ("sub/a.cnf", "in_one = yes\n[two]\ng = 1\n"),
            ("sub/b.txt", "[never]\n"),
        ]);
        assert!(cnf.troubles.is_empty(), "{:?}", cnf.troubles);
        let look = |section, name| value(&cnf, section, name);
        assert_eq!(look("default", "b").as_deref(), Some("x # y   z"));
        assert_eq!(look("one", "d").as_deref(), Some("$e"));
        assert_eq!(look("one", "c").as_deref(), Some("last"));
        assert_eq!(look("one", "in_one").as_deref(), Some("yes"));
        assert_eq!(look("other", "f").as_deref(), Some("1x # y   z"));
        assert_eq!(cnf.get("two", "g").unwrap().place.line, 3);
        assert!(!cnf.has_section("never"));
        assert_eq!(
            cnf.headers.iter().filter(|(name, _)| name == "one").count(),
            2
        );
    }

    #[test]
    fn what_libcrypto_refuses() {
        let cnf = read(&[(
            "openssl.cnf",
            "[ open\nno equals\na = $nothing\n.include /absent.cnf\n.include /openssl.cnf\n",
        )]);
        let said: Vec<&str> = cnf.troubles.iter().map(|t| t.what.as_str()).collect();
        for part in [
            "no ']'",
            "no '='",
            "'nothing' has no value",
            "/absent.cnf",
            "a loop?",
        ] {
            assert!(
                said.iter().any(|what| what.contains(part)),
                "{part} in {said:?}"
            );
        }
        assert!(cnf.troubles[3].unreadable);
    }

    /// The same values as libcrypto's own parser, and errors in the same files.
    #[test]
    fn libcrypto_agrees() {
        use crate::conf::Conf;
        use crate::libcrypto::LibCrypto;
        let libcrypto = LibCrypto::open().unwrap();
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/doctor/conf");
        let fixtures = std::fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let system = libcrypto.config_dir().map(|dir| dir.join("openssl.cnf"));
        let mut compared = 0;
        for file in fixtures.chain(system).filter(|file| file.exists()) {
            let name = file.display();
            let cnf = Cnf::read(&Root::new(Path::new("/")), &file);
            let conf = Conf::load(&libcrypto, &file);
            let refused = cnf.troubles.iter().any(|t| !t.unreadable);
            // What is included there depends on the machine.
            if std::fs::read_to_string(&file).unwrap().contains(".include") {
                continue;
            }
            assert_eq!(conf.is_err(), refused, "{name}: {:?}", cnf.troubles);
            let Ok(conf) = conf else { continue };
            for a in &cnf.assignments {
                let theirs = conf.section(&a.section).unwrap_or_default();
                let theirs = theirs
                    .iter()
                    .rev()
                    .find(|(key, _)| *key == a.name)
                    .map(|(_, v)| v);
                let ours = cnf.assignments.iter().rev();
                let ours = ours
                    .filter(|b| b.section == a.section && b.name == a.name)
                    .map(|b| &b.value)
                    .next();
                assert_eq!(ours, theirs, "{name}: [{}] {}", a.section, a.name);
                compared += 1;
            }
        }
        assert!(compared > 50, "{compared}");
    }

    #[test]
    fn noise_is_survived() {
        let noise: String = (0u32..20000)
            .map(|n| char::from((n.wrapping_mul(2654435761) >> 24) as u8))
            .collect();
        read(&[("openssl.cnf", &noise)]);
        read(&[("openssl.cnf", "a=${\n[]\n=\n$=$\n.include\n.pragma\n\\")]);
        let doubling: String = (0..40)
            .map(|n| format!("a{} = $a{n}$a{n}\n", n + 1))
            .collect();
        let cnf = read(&[("openssl.cnf", &format!("a0 = xx\n{doubling}"))]);
        assert!(cnf.troubles.iter().any(|t| t.what.contains("65536")));
    }
}
