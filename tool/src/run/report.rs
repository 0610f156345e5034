// SPDX-License-Identifier: BSD-2-Clause
//! What `run --count` says after the command.

use super::reach::{self, Expected};
use crate::counters::Counters;
use crate::{replaced, scan, trust};
use libcrypto::LibCrypto;
use machine::host;
use machine::schema::Document;
use serde::Serialize;
use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;
use terminal::error::Result;
use terminal::output;
use terminal::style::{error_columns, grouped, paint, wrapped, BOLD, GOOD, WARN};
use terminal::table::Table;

/// The time to examine the files of a command after its end.
const LIMIT: Duration = Duration::from_secs(5);

/// The object `run` of the JSON document.
#[derive(Debug, Serialize)]
pub struct Run {
    /// The program without its arguments, which can be secret: others may read the file.
    command: [String; 1],
    /// The generated configuration.
    configuration: String,
    /// The exit status; null if a signal ended the command.
    exit: Option<i32>,
    signal: Option<i32>,
    /// Whether tenrounds executed bulk operations, and not only those of the library itself.
    reached: bool,
    expected: Expected,
    #[serde(flatten)]
    counters: Counters,
    /// Why the program may not be reached.
    #[serde(skip)]
    note: Option<String>,
    /// Files of the command with AES code that tenrounds does not replace. Looked up if the command
    /// was not reached.
    own: Vec<String>,
}

#[derive(Serialize)]
struct Body<'a> {
    run: &'a Run,
}

impl Run {
    pub fn new(
        program: &OsStr,
        configuration: &Path,
        status: ExitStatus,
        counters: Counters,
    ) -> Run {
        Run {
            command: [program.to_string_lossy().into_owned()],
            configuration: configuration.display().to_string(),
            exit: status.code(),
            signal: status.signal(),
            reached: counters.reached(),
            expected: reach::expected(program),
            counters,
            note: None,
            own: Vec::new(),
        }
    }

    /// Adds what else is known of a command that was not reached: a note on its program, and the
    /// files that it loaded.
    pub fn beside(self, note: Option<String>, loaded: &[PathBuf]) -> Run {
        if self.reached {
            return self;
        }
        let own = scan::of_files(loaded, LIMIT).into_iter();
        let own = own.filter(|entry| scan::has_aes(entry) && !scan::is_reached(entry.reach));
        Run {
            note,
            own: own.map(|entry| entry.path).collect(),
            ..self
        }
    }

    /// Writes to a file as JSON, or to standard error ("-") as text or JSON.
    pub fn write(&self, target: &Path, json: bool) -> Result<()> {
        if target != Path::new("-") {
            return replaced::write(target, &self.json());
        }
        output::err(if json { self.json() } else { self.text() });
        Ok(())
    }

    fn json(&self) -> String {
        let libcrypto = LibCrypto::open().ok();
        Document::new(
            "run",
            host::read(libcrypto.as_ref()),
            Vec::new(),
            Body { run: self },
        )
        .to_json()
    }

    fn text(&self) -> String {
        if self.counters.executed.is_empty() {
            let nothing = paint(WARN, "tenrounds executed nothing in this command.");
            let text = format!("{nothing} {}{}", self.why_nothing(), self.own_aes());
            return wrapped("", &text, error_columns());
        }
        let keys: u64 = self.counters.keys.iter().map(|keys| keys.expansions).sum();
        let counts = format!(
            "loaded {}, {} expanded",
            counted(self.counters.loaded.into(), "time"),
            counted(keys, "key")
        );
        let heading = match self.reached {
            true => format!("{BOLD}tenrounds reached this command{BOLD:#}: {counts}"),
            false => {
                let not = paint(
                    WARN,
                    "Whether tenrounds reached this command cannot be told:",
                );
                format!("{not} {counts}. {}{}", self.why_no_bulk(), self.own_aes())
            }
        };
        wrapped("", &heading, error_columns()) + &self.table()
    }

    fn table(&self) -> String {
        let mut table = Table::new(&["Executed by", "host", "operation", ">calls", ">bytes"]);
        for line in &self.counters.executed {
            table.row(vec![
                format!("{GOOD}{}{GOOD:#}", line.backend),
                line.host.to_owned(),
                line.operation.clone(),
                grouped(line.calls),
                grouped(line.bytes),
            ]);
        }
        table.text(error_columns())
    }

    fn why_no_bulk(&self) -> String {
        format!(
            "It executed only short calls, as the random generator makes them, too. {}",
            self.unseen()
        )
    }

    /// What is known of the program and of the AES code of its own.
    fn own_aes(&self) -> String {
        let note = self.note.iter().map(|note| format!(" {note}."));
        let own = match self.own.is_empty() {
            true => String::new(),
            false => format!(
                " The command loaded files with AES code that tenrounds does not replace: {}.",
                self.own.join(", ")
            ),
        };
        note.collect::<String>() + &own
    }

    fn why_nothing(&self) -> String {
        match self.counters.loaded {
            0 => {
                let why = "No process that can be counted loaded the provider or the PKCS#11 module. \
                 The command uses no OpenSSL 3, has one inside that loads no modules, or reads another configuration, as setuid programs do. \
                 Processes that clear their environment (env -i), of another user, or in another user or PID namespace (a container), are not counted.";
                why.to_owned() + &self.hidden()
            }
            _ => format!(
                "tenrounds was loaded, but nothing asked it for AES. {}",
                self.unseen()
            ),
        }
    }

    /// The modes that the program should have used, and what kept it from tenrounds.
    fn unseen(&self) -> String {
        let Expected { modes, excluded_by } = &self.expected;
        let program = &self.command[0];
        let modes = match modes.is_empty() {
            true => String::new(),
            false => format!(
                "Expected of {program}, and not seen: {}. ",
                modes
                    .iter()
                    .map(|mode| format!("AES-{mode}"))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        };
        match excluded_by {
            Some(query) => format!(
                "{modes}{program} has the property query '{query}', which excludes tenrounds."
            ),
            None => {
                format!("{modes}The command used other ciphers, another library context, or none.")
            }
        }
    }

    /// A file that a daemon cannot read once it has changed its user.
    fn hidden(&self) -> String {
        // SAFETY: it has no arguments and cannot fail.
        if unsafe { libc::geteuid() } != 0 {
            return String::new();
        }
        let module = LibCrypto::open()
            .and_then(|libcrypto| libcrypto::module::find(Some(&libcrypto)))
            .ok();
        let needed = [Some(PathBuf::from(&self.configuration)), module];
        let hidden = needed
            .into_iter()
            .flatten()
            .find_map(|file| trust::hidden(Path::new("/"), &file));
        hidden.map_or(String::new(), |why| {
            format!(" A process that changed its user cannot load tenrounds: {why}.")
        })
    }
}

/// "1 key", "2 keys".
fn counted(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(number))
}
