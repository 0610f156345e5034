// SPDX-License-Identifier: BSD-2-Clause
//! Runs bpftrace(8) with a script of ours, and reads the maps that it prints as JSON.
//!
//! bpftrace 0.17 says "attached_probes" before it attaches them, and takes 100 ms for each when it
//! ends by itself. So each script begins with a probe at a function of this process. bpftrace
//! attaches that one last: once it answers a call, all are attached. The same probe prints the maps
//! while the others are still there, and then bpftrace is killed. The kernel removes the probes of
//! a process that ends, however it ends.

use super::signals;
use base::inventory::processes;
use base::root::Root;
use mappings::Maps as Mappings;
use minijinja::value::Serde;
use serde_json::{Map, Value};
use setup::openssl::trial::on_path;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Rows of a map. bpftrace may need two entries for each.
pub const MOST_ROWS: usize = 1 << 14;
/// bpftrace compiles and attaches meanwhile, perhaps on an emulated processor of a busy machine.
const PATIENCE: Duration = Duration::from_secs(900);
/// bpftrace prints its maps within this time.
const PRINTED: Duration = Duration::from_secs(60);
/// What is kept of bpftrace's errors.
const MOST_ERRORS: u64 = 1 << 14;
/// The messages for a script's first probe, with the number of the script. Other calls of the
/// function have other arguments.
const READY: u64 = 0x7465_6e72_0001_0000;
const REPORT: u64 = 0x7465_6e72_0002_0000;

extern "C" {
    /// Of the C library. Hardly any program calls it, and it returns a constant.
    fn gnu_get_libc_version() -> *const libc::c_char;
}

/// A running bpftrace, all of whose probes are attached.
pub struct Bpftrace {
    /// None once it was ended.
    child: Option<Child>,
    lines: Receiver<Value>,
    /// Of its script, in this process.
    number: u64,
    /// What it printed, once it was asked.
    printed: Result<Maps, String>,
}

/// Calls, and the sum of their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    pub calls: u64,
    pub bytes: u64,
}

/// What bpftrace printed: maps by their names.
#[derive(Debug, Default)]
pub struct Maps(Map<String, Value>);

/// The program. Fails with what is missing.
pub fn able() -> Result<PathBuf, String> {
    if !is_root() {
        return Err("this needs root (with CAP_SYS_ADMIN)".to_owned());
    }
    if !is_first_namespace() {
        return Err(
            "this needs the first PID namespace: trace the processes of a container from outside"
                .to_owned(),
        );
    }
    let found = on_path("bpftrace");
    found.ok_or_else(|| "the program bpftrace is missing: apt install bpftrace".to_owned())
}

/// bpftrace asks for the user, and the kernel for the capability.
fn is_root() -> bool {
    const SYS_ADMIN: u64 = 1 << 21;
    let own = std::process::id();
    let capabilities = processes::status::<String>(&Root::machine(), own, "CapEff");
    let capabilities = capabilities.and_then(|all| u64::from_str_radix(&all, 16).ok());
    // SAFETY: it always succeeds.
    let user = unsafe { libc::geteuid() };
    user == 0 && capabilities.is_none_or(|capabilities| capabilities & SYS_ADMIN != 0)
}

/// Whether bpftrace numbers processes as this process does.
fn is_first_namespace() -> bool {
    /// PROC_PID_INIT_INO (linux/proc_ns.h).
    const FIRST: &str = "pid:[4026531836]";
    let own = Root::machine().link("/proc/self/ns/pid");
    own.is_none_or(|own| own.as_os_str() == FIRST)
}

/// A script from its template, with what it names. bits.bt, which scripts include, sets $bits to
/// the number of bits of $length: 0 of 0, 5 of 16 to 31. Scripts have no logarithm.
pub fn script(template: &str, context: &Value) -> String {
    let mut scripts = base::template::environment();
    let added = scripts.add_template("bits.bt", include_str!("bits.bt"));
    let script = added.and_then(|()| scripts.render_str(template, Serde(context)));
    script.expect("it is a template")
}

/// Whether a script can name this path.
pub fn is_plain(path: &Path) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._+-".contains(c);
    path.to_str().is_some_and(|path| path.chars().all(plain))
}

/// The first probe of a script, which prints these maps when it is asked for them.
fn first_probe(number: u64, maps: &[&str]) -> Result<String, String> {
    let function = gnu_get_libc_version as *const () as u64;
    let own = Mappings::of(std::process::id());
    let library = own.at(function);
    let library = library.ok_or("the C library is not known")?;
    if !is_plain(Path::new(&library.path)) {
        return Err(format!(
            "bpftrace reads only paths of letters, digits and /._+-, and the C library is {}",
            library.path
        ));
    }
    let prints: String = maps.iter().map(|map| format!("print({map}); ")).collect();
    let (ready, report) = (READY + number, REPORT + number);
    Ok(format!(
        "uprobe:{}:gnu_get_libc_version /pid == {}/\n{{\n    \
         if (arg0 == {ready}) {{ printf(\"ready\\n\"); }}\n    \
         if (arg0 == {report}) {{ {prints}printf(\"end\\n\"); }}\n}}\n",
        library.path,
        std::process::id(),
    ))
}

/// Calls the function that has the first probe.
fn say(message: u64) {
    type Function = unsafe extern "C" fn() -> *const libc::c_char;
    type WithMessage = unsafe extern "C" fn(u64) -> *const libc::c_char;
    // SAFETY: the function ignores the register in which an argument is passed.
    unsafe {
        let function = std::mem::transmute::<Function, WithMessage>(gnu_get_libc_version);
        std::hint::black_box(function(message));
    }
}

impl Bpftrace {
    /// Starts it, and waits until all probes are attached. Fails with what bpftrace says.
    pub fn start(script: &str, maps: &[&str]) -> Result<Bpftrace, String> {
        static SCRIPTS: AtomicU64 = AtomicU64::new(1);
        let number = SCRIPTS.fetch_add(1, Ordering::Relaxed);
        let program = able()?;
        let script = first_probe(number, maps)? + script;
        let mut command = Command::new(program);
        command
            .args(["-f", "json", "/proc/self/fd/0"])
            .stdin(nameless(&script).map_err(|error| error.to_string())?)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .env("BPFTRACE_MAX_PROBES", "4096")
            .env("BPFTRACE_MAX_BPF_PROGS", "4096");
        // The name changed.
        for name in ["BPFTRACE_MAP_KEYS_MAX", "BPFTRACE_MAX_MAP_KEYS"] {
            command.env(name, (2 * MOST_ROWS).to_string());
        }
        // Ctrl-C is for this process, with which it ends.
        command.process_group(0);
        // SAFETY: prctl(2), getrlimit(2) and setrlimit(2) are async-signal-safe.
        unsafe {
            command.pre_exec(|| {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                // bpftrace has several descriptors for each probe.
                let mut files = std::mem::zeroed::<libc::rlimit>();
                if libc::getrlimit(libc::RLIMIT_NOFILE, &mut files) == 0 {
                    files.rlim_cur = files.rlim_max;
                    libc::setrlimit(libc::RLIMIT_NOFILE, &files);
                }
                Ok(())
            });
        }
        let mut child = command
            .spawn()
            .map_err(|error| format!("bpftrace: {error}"))?;
        let lines = values(&mut child);
        let complaints = complaints(&mut child);
        let started = Bpftrace {
            child: Some(child),
            lines,
            number,
            printed: Ok(Maps::default()),
        };
        started.wait(complaints)?;
        Ok(started)
    }

    /// Waits until all probes are attached.
    fn wait(&self, complaints: JoinHandle<String>) -> Result<(), String> {
        const PAUSE: Duration = Duration::from_millis(20);
        let begun = Instant::now();
        loop {
            say(READY + self.number);
            match self.lines.recv_timeout(PAUSE) {
                Ok(line) if is_said(&line, "ready\n") => return Ok(()),
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let complaints = complaints.join().unwrap_or_default();
                    return Err(format!("bpftrace: {complaints}"));
                }
                Err(_) if signals::came() => return Err("interrupted".to_owned()),
                Err(_) if begun.elapsed() > PATIENCE => {
                    let seconds = PATIENCE.as_secs();
                    return Err(format!(
                        "bpftrace did not attach its probes within {seconds} seconds"
                    ));
                }
                Err(_) => {}
            }
        }
    }

    /// Ends counting, unless it has ended.
    pub fn stop(&mut self) {
        if self.child.is_some() {
            self.printed = self.print();
            self.end();
        }
    }

    /// The maps. Without them, the reason is a trouble.
    pub fn finish(mut self, troubles: &mut Vec<String>) -> Maps {
        self.stop();
        let printed = std::mem::replace(&mut self.printed, Ok(Maps::default()));
        printed.unwrap_or_else(|why| {
            troubles.push(format!("Nothing is counted: {why}."));
            Maps::default()
        })
    }

    /// It takes a while to end, because the kernel removes one probe after the other.
    fn end(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            std::thread::spawn(move || child.wait());
        }
    }

    /// Lets it print the maps.
    fn print(&self) -> Result<Maps, String> {
        const PAUSE: Duration = Duration::from_secs(1);
        let mut maps = Maps::default();
        let begun = Instant::now();
        say(REPORT + self.number);
        loop {
            match self.lines.recv_timeout(PAUSE) {
                Ok(line) if is_said(&line, "end\n") => return Ok(maps),
                Ok(line) => {
                    if let Some(Value::Object(data)) = line.get("data") {
                        maps.0.extend(data.clone());
                    }
                }
                Err(RecvTimeoutError::Timeout) if begun.elapsed() < PRINTED => {}
                Err(_) => return Err("bpftrace ended without its counts".to_owned()),
            }
        }
    }
}

impl Drop for Bpftrace {
    fn drop(&mut self) {
        self.end();
    }
}

/// Whether a line is a text that the script prints.
fn is_said(line: &Value, text: &str) -> bool {
    line["type"] == "printf" && line["data"] == text
}

/// The lines of JSON that it writes.
fn values(child: &mut Child) -> Receiver<Value> {
    let (sender, lines) = channel();
    if let Some(output) = child.stdout.take() {
        std::thread::spawn(move || {
            let lines = BufReader::new(output).split(b'\n');
            for line in lines.map_while(Result::ok) {
                // Names of processes may have any bytes.
                if let Ok(value) = serde_json::from_str(&String::from_utf8_lossy(&line)) {
                    // Nobody may wait for it any more.
                    let _ = sender.send(value);
                }
            }
        });
    }
    lines
}

/// The start of what it complains about, in one line. It also warns about limits that we do not
/// need.
fn complaints(child: &mut Child) -> JoinHandle<String> {
    let errors = child.stderr.take();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(mut errors) = errors {
            let _ = errors.by_ref().take(MOST_ERRORS).read_to_end(&mut text);
            let _ = std::io::copy(&mut errors, &mut std::io::sink());
        }
        let text = String::from_utf8_lossy(&text);
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.contains("RLIMIT_MEMLOCK"));
        terminal::style::clean(lines.take(5).collect::<Vec<_>>().join("; "))
    })
}

/// A file without a name that has this text.
fn nameless(text: &str) -> std::io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

impl Maps {
    fn entries(&self, map: &str) -> impl Iterator<Item = (&String, &Value)> {
        let entries = self.0.get(map).and_then(Value::as_object);
        entries.into_iter().flatten()
    }

    /// The rows of a map of stats(): N numbers, and the sum.
    pub fn sums<const N: usize>(&self, map: &str) -> Vec<([u64; N], Sum)> {
        let row = |(key, value): (&String, &Value)| {
            let sum = Sum {
                calls: value["count"].as_u64()?,
                bytes: number(&value["total"].to_string())?,
            };
            Some((numbers_of(key)?, sum))
        };
        self.entries(map).filter_map(row).collect()
    }

    /// The rows of a map of texts by a number.
    pub fn texts(&self, map: &str) -> impl Iterator<Item = (u64, &str)> {
        let rows = self.entries(map);
        rows.filter_map(|(key, value)| Some((number(key)?, value.as_str()?)))
    }

    /// Whether a map may have lacked room for a row.
    pub fn is_full(&self, map: &str) -> bool {
        self.entries(map).count() >= MOST_ROWS
    }
}

/// The numbers of a key, which commas separate.
fn numbers_of<const N: usize>(key: &str) -> Option<[u64; N]> {
    let numbers: Option<Vec<u64>> = key.split(',').map(number).collect();
    numbers?.try_into().ok()
}

/// bpftrace prints addresses of the kernel as negative numbers.
fn number(text: &str) -> Option<u64> {
    let signed = text.parse::<i64>().map(|number| number as u64);
    signed.or_else(|_| text.parse()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_that_bpftrace_would_misread_are_left_out() {
        assert!(is_plain(Path::new(
            "/usr/lib/x86_64-linux-gnu/libcrypto.so.3"
        )));
        for path in [
            "/a b/libcrypto.so",
            "/a:b/libcrypto.so",
            "/{/libcrypto.so",
            "/ü/libcrypto.so",
        ] {
            assert!(!is_plain(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn rows_of_maps() {
        let data = json!({
            "@calls": {
                "0,7,-1": {"count": 2, "average": 16, "total": 32},
                "1,18446744073709551615,3": {"count": 1, "average": 0, "total": 0},
                "damaged": {"count": 1, "average": 0, "total": 0},
            },
            "@names": {"7": "a,b"},
        });
        let maps = Maps(data.as_object().unwrap().clone());
        let mut rows = maps.sums::<3>("@calls");
        rows.sort_by_key(|(numbers, _)| *numbers);
        let sum = |calls, bytes| Sum { calls, bytes };
        assert_eq!(
            rows,
            [
                ([0, 7, u64::MAX], sum(2, 32)),
                ([1, u64::MAX, 3], sum(1, 0)),
            ]
        );
        assert_eq!(maps.texts("@names").collect::<Vec<_>>(), [(7, "a,b")]);
        assert!(maps.sums::<1>("@missing").is_empty() && !maps.is_full("@calls"));
    }
}
