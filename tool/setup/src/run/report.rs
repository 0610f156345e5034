// SPDX-License-Identifier: BSD-2-Clause
//! What `run --count` says after the command.

use crate::counters::Counters;
use base::replaced;
use machine::document::document;
use serde::Serialize;
use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use terminal::error::Result;
use terminal::output;
use terminal::style::{error_columns, grouped, paint, wrapped, BOLD, GOOD, WARN};
use terminal::table::Table;

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
    #[serde(flatten)]
    counters: Counters,
    /// Why the program may not be reached.
    #[serde(skip)]
    note: Option<String>,
}

impl Run {
    pub fn new(
        program: &OsStr,
        configuration: &Path,
        status: ExitStatus,
        counters: Counters,
        note: Option<String>,
    ) -> Run {
        Run {
            command: [program.to_string_lossy().into_owned()],
            configuration: configuration.display().to_string(),
            exit: status.code(),
            signal: status.signal(),
            reached: counters.reached(),
            counters,
            note,
        }
    }

    /// Writes to the file, or to standard error without one.
    pub fn write(&self, file: Option<&Path>, json: bool) -> Result<()> {
        let text = match json {
            true => document("run", self),
            false => self.text(),
        };
        let Some(file) = file else {
            output::err(text);
            return Ok(());
        };
        replaced::write(file, &anstream::adapter::strip_str(&text).to_string())
    }

    fn text(&self) -> String {
        let Counters {
            loaded,
            executed,
            keys,
            ..
        } = &self.counters;
        let keys: u64 = keys.iter().map(|keys| keys.expansions).sum();
        let loaded = counted(u64::from(*loaded), "time");
        let counts = format!("loaded {loaded}, {} expanded", counted(keys, "key"));
        let heading = match (executed.is_empty(), self.reached) {
            (true, _) => {
                let nothing = paint(WARN, "tenrounds executed nothing in this command.");
                format!("{nothing} {}{}", self.why_nothing(), self.own_aes())
            }
            (false, true) => format!("{BOLD}tenrounds reached this command{BOLD:#}: {counts}"),
            (false, false) => {
                let not = "Whether tenrounds reached this command cannot be told:";
                let why = "It executed only short calls, as the random generator makes them, too.";
                format!(
                    "{} {counts}. {why} {UNSEEN}{}",
                    paint(WARN, not),
                    self.own_aes()
                )
            }
        };
        let heading = wrapped("", &heading, error_columns());
        match executed.is_empty() {
            true => heading,
            false => heading + &self.table(),
        }
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

    /// What is known of the program, and how to see its AES code.
    fn own_aes(&self) -> String {
        let note = self
            .note
            .as_ref()
            .map_or(String::new(), |note| format!(" {note}."));
        note + " `tenrounds trace -- COMMAND` shows the AES code that it runs."
    }

    fn why_nothing(&self) -> String {
        if self.counters.loaded > 0 {
            return format!("tenrounds was loaded, but nothing asked it for AES. {UNSEEN}");
        }
        "No process that can be counted loaded the provider or the PKCS#11 module. \
                   The command uses no OpenSSL 3, has one inside that loads no modules, or reads another configuration, as setuid programs do. \
                   Processes that clear their environment (env -i), of another user, or in another user or PID namespace (a container), are not counted.".to_owned()
    }
}

const UNSEEN: &str = "The command used other ciphers, another library context, or none.";

/// "1 key", "2 keys".
fn counted(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(number))
}
