// SPDX-License-Identifier: BSD-2-Clause
//! The one reader of openssl.cnf (config(5)): `.include`, `.pragma`, variables, and the place of
//! every line, which libcrypto's own parser does not tell. It does not stop at an error: it collects
//! what is wrong, and reads on.

use crate::root::Root;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// libcrypto sets no limit to included files that include files. Here a loop must end.
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

impl std::fmt::Display for Assignment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[{}] {} = {}", self.section, self.name, self.value)
    }
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
    /// Reads a file and all files that it includes.
    pub fn read(root: &Root, file: &Path) -> Cnf {
        let mut reader = Reader::new(root);
        reader.file(file, 0, None);
        reader.cnf
    }

    /// The assignment that holds: the last of that name, with or without a number and a dot before it, in
    /// that section.
    pub fn get(&self, section: &str, name: &str) -> Option<&Assignment> {
        let mut in_section = self.section(section);
        in_section.rfind(|a| plain_name(&a.name) == name)
    }

    /// The value of that assignment.
    pub fn value(&self, section: &str, name: &str) -> Option<&str> {
        self.get(section, name).map(|a| a.value.as_str())
    }

    pub fn section<'a: 'b, 'b>(
        &'a self,
        section: &'b str,
    ) -> impl DoubleEndedIterator<Item = &'a Assignment> + 'b {
        self.assignments
            .iter()
            .filter(move |a| a.section == section)
    }

    pub fn has_section(&self, section: &str) -> bool {
        self.headers.iter().any(|(name, _)| name == section)
            || self.assignments.iter().any(|a| a.section == section)
    }

    /// The section with which libcrypto begins: the one that `openssl_conf` names.
    pub fn init(&self) -> Option<&str> {
        self.value("default", "openssl_conf")
    }

    /// The entry of that section with this name: "providers", "alg_section" and so on.
    pub fn initial(&self, name: &str) -> Option<&Assignment> {
        self.get(self.init()?, name)
    }

    /// The lines that set default_properties, of which the last holds.
    pub fn default_properties(&self) -> Vec<&Assignment> {
        let Some(section) = self.initial("alg_section") else {
            return Vec::new();
        };
        let lines = self.section(&section.value);
        lines
            .filter(|a| plain_name(&a.name) == "default_properties")
            .collect()
    }
}

/// "default" of "1.default": what stands before a dot only keeps names apart (crypto/conf/conf_mod.c).
pub fn plain_name(name: &str) -> &str {
    name.split_once('.').map_or(name, |(_, rest)| rest)
}

/// The place that libcrypto means by a line number. libcrypto counts on through the files that a
/// configuration includes (crypto/conf/conf_def.c), so the number alone points nowhere in any of them.
pub fn locate(root: &Root, file: &Path, number: usize) -> Option<Place> {
    let mut reader = Reader::new(root);
    reader.wanted = number;
    reader.file(file, 0, None);
    reader.found
}

struct Reader<'a> {
    root: &'a Root,
    cnf: Cnf,
    section: String,
    dollar_is_plain: bool,
    absolute_only: bool,
    include_dir: Option<PathBuf>,
    values: HashMap<(String, String), String>,
    files: usize,
    /// Lines of all files that were read so far.
    lines: usize,
    /// The line to find, and its place.
    wanted: usize,
    found: Option<Place>,
}

impl<'a> Reader<'a> {
    fn new(root: &'a Root) -> Reader<'a> {
        Reader {
            root,
            cnf: Cnf::default(),
            section: "default".to_owned(),
            dollar_is_plain: false,
            absolute_only: false,
            include_dir: None,
            values: HashMap::new(),
            files: 0,
            lines: 0,
            wanted: 0,
            found: None,
        }
    }

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
            for name in self.root.unsorted_names(file) {
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
            let place = Place {
                file: file.to_owned(),
                line: index + 1,
            };
            self.lines += 1;
            if self.lines == self.wanted {
                self.found = Some(place.clone());
            }
            joined.push_str(line.trim_end_matches('\r'));
            if joined.ends_with('\\') && !joined.ends_with("\\\\") {
                joined.pop();
                continue;
            }
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
        let done = if let Some(value) = directive(line, ".include") {
            self.include(value, &place, depth)
        } else if let Some(value) = directive(line, ".pragma") {
            self.pragma(value)
        } else {
            self.assign(line, &place)
        };
        if let Err(what) = done {
            self.trouble(place, what, false);
        }
    }

    fn include(&mut self, value: &str, place: &Place, depth: usize) -> Result<(), String> {
        let path = PathBuf::from(self.expand(value)?);
        let dir = std::env::var_os("OPENSSL_CONF_INCLUDE").map(PathBuf::from);
        let dir = dir.or_else(|| self.include_dir.clone());
        let path = match dir {
            Some(dir) if path.is_relative() => dir.join(path),
            _ => path,
        };
        if self.absolute_only && path.is_relative() {
            return Err(format!("'{}' is no absolute path", path.display()));
        }
        self.file(&path, depth + 1, Some(place));
        Ok(())
    }

    /// config(5), section "Directives". libcrypto ignores a pragma that it does not know.
    fn pragma(&mut self, value: &str) -> Result<(), String> {
        let wrong = || format!("'.pragma {value}' is no pragma");
        let (name, value) = value
            .split_once(':')
            .map(|(name, value)| (name.trim(), value.trim()))
            .filter(|(name, value)| !name.is_empty() && !value.is_empty())
            .ok_or_else(wrong)?;
        let flag = || match value {
            "on" | "true" => Ok(true),
            "off" | "false" => Ok(false),
            _ => Err(wrong()),
        };
        match name {
            "dollarid" => self.dollar_is_plain = flag()?,
            "abspath" => self.absolute_only = flag()?,
            "includedir" => self.include_dir = Some(PathBuf::from(value)),
            _ => {}
        }
        Ok(())
    }

    fn assign(&mut self, line: &str, place: &Place) -> Result<(), String> {
        let no_equals = || format!("no '=' in '{line}'");
        let (name, value) = line.split_once('=').ok_or_else(no_equals)?;
        let (section, name) = match name.split_once("::") {
            Some((section, name)) => (section.trim(), name.trim()),
            None => (self.section.as_str(), name.trim()),
        };
        if let Some(stray) = name.chars().find(|c| !self.may_be_in_a_name(*c)) {
            return Err(format!("no '=' before '{stray}' in '{line}'"));
        }
        let value = self.expand(value.trim())?;
        let key = (section.to_owned(), name.to_owned());
        self.cnf.assignments.push(Assignment {
            place: place.clone(),
            section: key.0.clone(),
            name: key.1.clone(),
            value: value.clone(),
        });
        self.values.insert(key, value);
        Ok(())
    }

    /// crypto/conf/keysets.pl: letters, digits and these signs; a backslash escapes any other.
    fn may_be_in_a_name(&self, c: char) -> bool {
        c.is_ascii_alphanumeric()
            || "_!.%&*+,/;?@^~|-\\".contains(c)
            || c == '$' && self.dollar_is_plain
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
                    let (name, after) = variable(rest.as_str())?;
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
fn variable(text: &str) -> Result<(&str, &str), String> {
    for (open, close) in [('{', '}'), ('(', ')')] {
        if let Some(inner) = text.strip_prefix(open) {
            let parts = inner.split_once(close);
            return parts.ok_or_else(|| format!("no '{close}' after '${text}'"));
        }
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let word = |text: &str| text.find(|c| !is_part(c)).unwrap_or(text.len());
    let mut end = word(text);
    if text[end..].starts_with("::") {
        end += 2 + word(&text[end + 2..]);
    }
    Ok(text.split_at(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::libcrypto::LibCrypto;
    use crate::openssl::conf::Conf;

    fn directory() -> PathBuf {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("tenrounds-cnf-{}-{number}", std::process::id());
        std::env::temp_dir().join(name)
    }

    fn read(files: &[(&str, &str)]) -> Cnf {
        let dir = directory();
        for (name, text) in files {
            let path = dir.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let cnf = Cnf::read(&Root::new(&dir), Path::new("/openssl.cnf"));
        std::fs::remove_dir_all(&dir).unwrap();
        cnf
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
        let look = |section, name| cnf.value(section, name);
        assert_eq!(look("default", "b"), Some("x # y   z"));
        assert_eq!(look("one", "d"), Some("$e"));
        assert_eq!(look("one", "c"), Some("last"));
        assert_eq!(look("one", "in_one"), Some("yes"));
        assert_eq!(look("other", "f"), Some("1x # y   z"));
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

    /// Each of these files alone is refused by libcrypto and by this reader, or by neither.
    #[test]
    fn libcrypto_refuses_the_same_lines() {
        let libcrypto = LibCrypto::open().unwrap();
        let dir = directory();
        std::fs::create_dir_all(&dir).unwrap();
        let file = dir.join("a.cnf");
        for (text, refused) in [
            ("a b = c\n", true),
            ("a\u{fc} = c\n", true),
            ("$a = c\n", true),
            (".pragma = dollarid:on\n$a = c\nb = $a\n", false),
            (".pragma dollarid:perhaps\n", true),
            (".pragma nothing\n", true),
            (".pragma = other:1\n", false),
            (".pragma = abspath:true\n.include = somewhere.cnf\n", true),
            (".pragma = includedir:/absent\n", false),
            ("a = ${b\n", true),
            ("b = 1\na = $(b)${b}$b\n", false),
            ("s::a = 1\n[t]\nb = $s::a\n", false),
            ("= 1\n", false),
            ("a-b.c;d@e = 1\n", false),
            ("a = \"x # y\n", false),
            ("a\n", true),
        ] {
            std::fs::write(&file, text).unwrap();
            let cnf = Cnf::read(&Root::new(Path::new("/")), &file);
            let by_us = cnf.troubles.iter().any(|t| !t.unreadable);
            let by_them = Conf::load(&libcrypto, &file).is_err();
            assert_eq!((by_us, by_them), (refused, refused), "{text}");
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn lines_are_counted_through_included_files() {
        let dir = directory();
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("inner.cnf"), "1\n2\n3\n").unwrap();
        std::fs::write(dir.join("outer.cnf"), "1\n.include = /inner.cnf\n3\n").unwrap();
        let root = Root::new(&dir);
        let place = |n| locate(&root, Path::new("/outer.cnf"), n).map(|p| p.to_string());
        let found: Vec<_> = (1..=7).map(place).collect();
        std::fs::remove_dir_all(&dir).unwrap();
        let (outer, inner) = ("/outer.cnf", "/inner.cnf");
        let lines = [
            (outer, 1),
            (outer, 2),
            (inner, 1),
            (inner, 2),
            (inner, 3),
            (outer, 3),
        ];
        let expected = lines.map(|(file, line)| Some(format!("{file}:{line}")));
        assert_eq!(found[..6], expected);
        assert_eq!(found[6], None);
    }

    /// The same values as libcrypto's own parser, and errors in the same files.
    #[test]
    fn libcrypto_agrees() {
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
