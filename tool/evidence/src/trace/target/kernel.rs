// SPDX-License-Identifier: BSD-2-Clause
//! The kernel's code: its functions by /proc/kallsyms, their bytes by /proc/kcore. Only root may
//! read both, and some kernels are built without the second.

use super::memory;
use base::root::Root;
use classify::{Around, Bounds};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

pub struct Kernel {
    symbols: Symbols,
    memory: Memory,
}

/// The kernel's functions.
pub struct Symbols {
    /// Sorted by address.
    functions: Vec<Function>,
    /// The kernel itself first, then its modules.
    modules: Vec<String>,
    /// When /proc/kallsyms was read, and how long it is not read again.
    read: Instant,
    patience: Duration,
}

struct Function {
    start: u64,
    name: Box<str>,
    module: usize,
}

/// /proc/kcore: an ELF file whose segments are the kernel's memory.
struct Memory {
    file: File,
    /// Addresses, and the offset in the file of the first.
    segments: Vec<(Range<u64>, u64)>,
}

/// A function without a next one in the list is not longer.
const LONGEST: u64 = 64 << 10;
/// An address that is in no known function may be in a module that was loaded since. The list is
/// read again after this time, then after twice the time, and so on.
const PATIENCE: Duration = Duration::from_secs(1);

impl Kernel {
    /// Fails with a reason if the kernel's code cannot be read.
    pub fn read() -> Result<Kernel, String> {
        let memory = Memory::open()?;
        let symbols = Symbols::read()?;
        Ok(Kernel { symbols, memory })
    }

    /// The function at an address, and "kernel" or the name of its module.
    pub fn function(&mut self, address: u64) -> Option<(Around, &str)> {
        self.symbols.function(address)
    }

    /// Bytes of the kernel's memory, up to the first that cannot be read.
    pub fn bytes(&self, range: Range<u64>) -> Option<Vec<u8>> {
        self.memory.bytes(range)
    }
}

impl Symbols {
    /// Fails with a reason if the kernel's addresses are hidden.
    pub fn read() -> Result<Symbols, String> {
        let mut symbols = Symbols {
            functions: Vec::new(),
            modules: Vec::new(),
            read: Instant::now(),
            patience: PATIENCE,
        };
        symbols.list()?;
        match symbols.functions.is_empty() {
            true => Err(
                "/proc/kallsyms hides addresses; it shows them to root if kernel.kptr_restrict is 0 or 1"
                    .to_owned(),
            ),
            false => Ok(symbols),
        }
    }

    /// Whether a function has this name.
    pub fn has(&self, name: &str) -> bool {
        self.functions
            .iter()
            .any(|function| *function.name == *name)
    }

    /// Reads the functions again. Those of a module that was loaded since seem to be in the last
    /// function of a module that is near before it. If it fails, the old list stays.
    pub fn refresh(&mut self) {
        let _ = self.list();
    }

    fn list(&mut self) -> Result<(), String> {
        const LIST: &str = "/proc/kallsyms";
        self.read = Instant::now();
        let failed = |error: io::Error| format!("{LIST}: {error}");
        let file = Root::machine().open(LIST).map_err(failed)?;
        (self.functions, self.modules) = functions(BufReader::new(file)).map_err(failed)?;
        Ok(())
    }

    /// The function at an address, and "kernel" or the name of its module.
    pub fn function(&mut self, address: u64) -> Option<(Around, &str)> {
        let mut index = self.index(address);
        if index.is_none() && self.read.elapsed() > self.patience {
            // Code that BPF compiles stays unknown.
            self.patience *= 2;
            self.refresh();
            index = self.index(address);
        }
        let function = &self.functions[index?];
        let around = Around {
            range: function.start..self.end(index?),
            name: Some(function.name.to_string()),
            bounds: Bounds::Symbol,
        };
        Some((around, &self.modules[function.module]))
    }

    fn index(&self, address: u64) -> Option<usize> {
        let next = self
            .functions
            .partition_point(|function| function.start <= address);
        let index = next.checked_sub(1)?;
        (address < self.end(index)).then_some(index)
    }

    /// The end of a function: the beginning of the next one.
    fn end(&self, index: usize) -> u64 {
        let longest = self.functions[index].start.saturating_add(LONGEST);
        match self.functions.get(index + 1) {
            Some(next) => next.start.min(longest),
            None => longest,
        }
    }
}

/// The functions of /proc/kallsyms, "ffffffffc0401000 t xts_encrypt\t[aesni_intel]", and the names
/// of the modules. Without those whose addresses are hidden, that is 0, and without the marks of
/// code and data on Arm ("$x", "$d").
fn functions(text: impl BufRead) -> io::Result<(Vec<Function>, Vec<String>)> {
    let mut modules = vec!["kernel".to_owned()];
    let mut functions = Vec::new();
    for line in text.lines() {
        let line = line?;
        let mut fields = line.split_ascii_whitespace();
        let (Some(address), Some(kind), Some(name)) = (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let start = u64::from_str_radix(address, 16).unwrap_or(0);
        if start == 0 || !matches!(kind, "t" | "T" | "w" | "W") || name.starts_with('$') {
            continue;
        }
        let module = match fields.next() {
            None => 0,
            Some(module) => {
                let module = module.trim_matches(['[', ']']);
                let known = modules.iter().rposition(|known| known == module);
                known.unwrap_or_else(|| {
                    modules.push(terminal::style::clean(module));
                    modules.len() - 1
                })
            }
        };
        functions.push(Function {
            start,
            name: name.into(),
            module,
        });
    }
    // Of several names for one address, the first stays.
    functions.sort_by_key(|function| function.start);
    functions.dedup_by_key(|function| function.start);
    Ok((functions, modules))
}

impl Memory {
    fn open() -> Result<Memory, String> {
        const CORE: &str = "/proc/kcore";
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => format!("the kernel has no {CORE}"),
            _ => format!("{CORE}: {error}"),
        };
        let file = Root::machine().open(CORE).map_err(failed)?;
        // Before the program headers there is only the file header; a page has about 70 of them.
        let mut head = vec![0; 64 << 10];
        let count = file.read_at(&mut head, 0).map_err(failed)?;
        let segments = classify::loaded(&head[..count]);
        let segments = segments.ok_or_else(|| format!("{CORE} is no ELF file"))?;
        Ok(Memory { file, segments })
    }

    fn bytes(&self, range: Range<u64>) -> Option<Vec<u8>> {
        let (addresses, offset) = self
            .segments
            .iter()
            .find(|(addresses, _)| addresses.contains(&range.start))?;
        let end = range.end.min(addresses.end);
        let offset = offset.checked_add(range.start - addresses.start)?;
        memory::read(&self.file, offset, end.checked_sub(range.start)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_kallsyms() {
        let text = concat!(
            "0000000000001000 T first\n",
            "0000000000001000 t alias\n",
            "0000000000003000 t aesni_xts_encrypt\t[aesni_intel]\n",
            "0000000000002000 D data\n",
            "0000000000002800 W weak\n",
            "0000000000003400 t aesni_xts_decrypt\t[aesni_intel]\n",
            "0000000000003600 t $x\t[aesni_intel]\n",
            "0000000000000000 T hidden\nnonsense\n\nzz t bad\n",
        );
        let (functions, modules) = functions(text.as_bytes()).unwrap();
        let listed: Vec<(u64, &str, &str)> = functions
            .iter()
            .map(|function| {
                let module = modules[function.module].as_str();
                (function.start, &*function.name, module)
            })
            .collect();
        assert_eq!(
            listed,
            [
                (0x1000, "first", "kernel"),
                (0x2800, "weak", "kernel"),
                (0x3000, "aesni_xts_encrypt", "aesni_intel"),
                (0x3400, "aesni_xts_decrypt", "aesni_intel"),
            ]
        );
    }
}
