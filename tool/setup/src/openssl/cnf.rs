// SPDX-License-Identifier: BSD-2-Clause
//! The one reader of openssl.cnf (config(5)). It understands every line as libcrypto does
//! (crypto/conf/conf_def.c), and adds two things: the file and line of each assignment, which
//! libcrypto does not report, and recovery. After an error it records the trouble and reads on.

mod input;
mod syntax;
#[cfg(test)]
mod tests;

use base::root::Root;
use input::{is_included, Input};
use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use syntax::{skip_space, trim_end, Syntax};

/// The deepest nesting of included files. libcrypto has no such limit; here a loop must end.
const DEPTH: usize = 16;
const MAX_FILES: usize = 1000;
/// The longest value after the expansion of variables (MAX_CONF_VALUE_LENGTH in conf_def.c).
const MAX_VALUE: usize = 65536;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

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
        reader.read(file);
        reader.cnf
    }

    /// The assignment that counts: the last one of that name in the section, with or without a
    /// prefix such as "1.".
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

/// "default" of "1.default": the text before the dot only keeps names apart
/// (crypto/conf/conf_mod.c).
pub fn plain_name(name: &str) -> &str {
    name.split_once('.').map_or(name, |(_, rest)| rest)
}

struct Reader<'a> {
    root: &'a Root,
    cnf: Cnf,
    section: Vec<u8>,
    syntax: Syntax,
    absolute_only: bool,
    include_dir: Option<PathBuf>,
    /// The value of each section and name.
    values: HashMap<(Vec<u8>, Vec<u8>), Vec<u8>>,
    /// The open files. The last one is read; each of the others includes the one after it.
    inputs: Vec<Input>,
    /// The files of a directory that are still to be included, and the line that includes it.
    directory: Option<(std::vec::IntoIter<PathBuf>, Place)>,
    /// How many files were opened.
    files: usize,
}

impl<'a> Reader<'a> {
    fn new(root: &'a Root) -> Reader<'a> {
        Reader {
            root,
            cnf: Cnf::default(),
            section: b"default".to_vec(),
            syntax: Syntax::default(),
            absolute_only: false,
            include_dir: None,
            values: HashMap::new(),
            inputs: Vec::new(),
            directory: None,
            files: 0,
        }
    }

    /// Reads a file and everything that it includes.
    fn read(&mut self, file: &Path) {
        let place = Place {
            file: file.to_owned(),
            line: 0,
        };
        if let Some(mut input) = self.open(file, &place) {
            input.skip(BYTE_ORDER_MARK);
            self.inputs.push(input);
        }
        let mut line = Vec::new();
        let mut continued = false;
        while let Some(input) = self.inputs.last_mut() {
            let chunk = input.chunk();
            if chunk.is_empty() && !continued {
                self.end_of_file();
                continue;
            }
            let ends = chunk.iter().rposition(|b| !b"\r\n".contains(b));
            let bare = &chunk[..ends.map_or(0, |at| at + 1)];
            // A chunk without a newline is a part of a long line.
            continued = !chunk.is_empty() && bare.len() == chunk.len();
            line.extend_from_slice(bare);
            let place = input.place();
            if !continued && line.ends_with(b"\\") && !line.ends_with(b"\\\\") {
                line.pop();
                continued = true;
            }
            if !continued {
                self.line(&std::mem::take(&mut line), &place);
            }
        }
    }

    /// Opens a file that `from` includes. Records the trouble if that is impossible.
    fn open(&mut self, file: &Path, from: &Place) -> Option<Input> {
        self.files += 1;
        if self.inputs.len() > DEPTH || self.files > MAX_FILES {
            let what = format!("{} is included too deeply; a loop?", file.display());
            self.trouble(from, what, false);
            return None;
        }
        match self.root.bytes(file) {
            Ok(bytes) => Some(Input::new(file, bytes)),
            Err(error) => {
                let what = format!("cannot read {}: {error}", file.display());
                self.trouble(from, what, true);
                None
            }
        }
    }

    /// Continues after the end of a file: with the next file of the directory, or else with the
    /// file that included it. libcrypto does so even if a file of the directory included this one;
    /// the rest of that file then follows the directory.
    fn end_of_file(&mut self) {
        self.inputs.pop();
        self.next_in_directory();
    }

    fn next_in_directory(&mut self) {
        while let Some((files, from)) = &mut self.directory {
            let from = from.clone();
            match files.next() {
                Some(file) => {
                    if let Some(input) = self.open(&file, &from) {
                        self.inputs.push(input);
                        return;
                    }
                }
                None => self.directory = None,
            }
        }
    }

    fn trouble(&mut self, place: &Place, what: String, unreadable: bool) {
        self.cnf.troubles.push(Trouble {
            place: place.clone(),
            what,
            unreadable,
        });
    }

    fn line(&mut self, line: &[u8], place: &Place) {
        let line = skip_space(syntax::without_comment(line));
        if line.is_empty() {
            return;
        }
        let done = match line {
            [b'[', name @ ..] => self.header(line, name, place),
            line => self.entry(line, place),
        };
        if let Err(what) = done {
            self.trouble(place, what, false);
        }
    }

    fn header(&mut self, line: &[u8], rest: &[u8], place: &Place) -> Result<(), String> {
        let name = self.syntax.header(rest);
        let name = name.ok_or_else(|| format!("no ']' after '{}'", text(line)))?;
        self.section = self.expand(None, name)?;
        let header = (text(&self.section), place.clone());
        self.cnf.headers.push(header);
        Ok(())
    }

    /// An assignment or a directive: a name, and what follows it.
    fn entry(&mut self, line: &[u8], place: &Place) -> Result<(), String> {
        let (section, name, after) = self.syntax.name(line);
        let section = section.unwrap_or(&self.section).to_vec();
        if let Some(value) = syntax::directive(".pragma", name, after) {
            return self.pragma(value);
        }
        if let Some(value) = syntax::directive(".include", name, after) {
            return self.include(&section, value, place);
        }
        let stray = skip_space(after);
        let [b'=', value @ ..] = stray else {
            return Err(match text(stray).chars().next() {
                Some(stray) => format!("no '=' before '{stray}' in '{}'", text(line)),
                None => format!("no '=' in '{}'", text(line)),
            });
        };
        let value = self.expand(Some(&section), trim_end(skip_space(value)))?;
        self.cnf.assignments.push(Assignment {
            place: place.clone(),
            section: text(&section),
            name: text(name),
            value: text(&value),
        });
        self.values.insert((section, name.to_vec()), value);
        Ok(())
    }

    fn include(&mut self, section: &[u8], value: &[u8], place: &Place) -> Result<(), String> {
        let value = self.expand(Some(section), trim_end(value))?;
        let path = PathBuf::from(OsString::from_vec(value));
        let dir = std::env::var_os("OPENSSL_CONF_INCLUDE").map(PathBuf::from);
        let dir = dir.or_else(|| self.include_dir.clone());
        let path = match dir {
            Some(dir) if path.is_relative() => dir.join(path),
            _ => path,
        };
        if self.absolute_only && path.is_relative() {
            return Err(format!("'{}' is no absolute path", path.display()));
        }
        if !self.root.path(&path).is_dir() {
            let input = self.open(&path, place);
            self.inputs.extend(input);
        } else if self.directory.is_none() {
            let mut names = self.root.unsorted_names(&path);
            names.retain(|name| is_included(name));
            let files: Vec<PathBuf> = names.iter().map(|name| path.join(name)).collect();
            self.directory = Some((files.into_iter(), place.clone()));
            self.next_in_directory();
        } else {
            let what = format!(
                "{} is not read: a file of an included directory cannot include a directory",
                path.display()
            );
            self.trouble(place, what, true);
        }
        Ok(())
    }

    /// config(5), section "Directives". libcrypto ignores a pragma that it does not know.
    fn pragma(&mut self, value: &[u8]) -> Result<(), String> {
        let whole = trim_end(value);
        let wrong = || format!("'.pragma {}' is no pragma", text(whole));
        let colon = whole.iter().position(|&b| b == b':').ok_or_else(wrong)?;
        let (name, value) = (&whole[..colon], &whole[colon + 1..]);
        if name.is_empty() || value.is_empty() {
            return Err(wrong());
        }
        let value = skip_space(value);
        let flag = || match value.to_ascii_lowercase().as_slice() {
            b"on" | b"true" => Ok(true),
            b"off" | b"false" => Ok(false),
            _ => Err(wrong()),
        };
        match trim_end(name) {
            b"dollarid" => self.syntax.dollar_in_names = flag()?,
            b"abspath" => self.absolute_only = flag()?,
            b"includedir" => {
                self.include_dir = Some(PathBuf::from(OsString::from_vec(value.to_vec())));
            }
            _ => {}
        }
        Ok(())
    }

    /// Removes quotes and backslashes, and inserts the values of variables. A name without a
    /// section is looked up in `section` and then in [default].
    fn expand(&self, section: Option<&[u8]>, raw: &[u8]) -> Result<Vec<u8>, String> {
        let mut out = Vec::new();
        let mut rest = raw;
        // libcrypto limits the size of its buffer, and only where it inserts a variable.
        let mut size = raw.len() + 1;
        while let [first, after @ ..] = rest {
            rest = match first {
                b'\'' | b'"' | b'`' => syntax::unquote(*first, after, &mut out),
                b'\\' => syntax::unescape(after, &mut out),
                b'$' if self.syntax.is_variable(after) => {
                    let (of, name, after) = self.syntax.variable(after)?;
                    let value = self.value_of(of.or(section), name)?;
                    let consumed = rest.len() - after.len();
                    size = size + value.len() - consumed;
                    if size > MAX_VALUE {
                        return Err("a value becomes longer than 65536 bytes".to_owned());
                    }
                    out.extend_from_slice(&value);
                    after
                }
                &other => {
                    out.push(other);
                    after
                }
            };
        }
        Ok(out)
    }

    /// Looks a variable up: in its section, then in the environment for the section ENV, then in
    /// [default].
    fn value_of(&self, section: Option<&[u8]>, name: &[u8]) -> Result<Vec<u8>, String> {
        let look = |section: &[u8]| self.values.get(&(section.to_vec(), name.to_vec())).cloned();
        let environment = || match section {
            Some(b"ENV") => std::env::var_os(OsString::from_vec(name.to_vec())),
            _ => None,
        };
        section
            .and_then(look)
            .or_else(|| environment().map(OsStringExt::into_vec))
            .or_else(|| look(b"default"))
            .ok_or_else(|| format!("the variable '{}' has no value", text(name)))
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
