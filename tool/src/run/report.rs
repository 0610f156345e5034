// SPDX-License-Identifier: BSD-2-Clause
//! What `run --count` says after the command.

use crate::counters::Counters;
use crate::error::{Error, Result};
use crate::libcrypto::LibCrypto;
use crate::schema::Document;
use crate::style::{error_columns, grouped, paint, wrapped, BOLD, GOOD, WARN};
use crate::{host, output, table::Table};
use serde::Serialize;
use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

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
    #[serde(flatten)]
    counters: Counters,
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
            counters,
        }
    }

    /// Writes to a file as JSON, or to standard error ("-") as text or JSON.
    pub fn write(&self, target: &Path, json: bool) -> Result<()> {
        if target != Path::new("-") {
            return std::fs::write(target, self.json())
                .map_err(|error| Error::failure(format!("--count={}: {error}", target.display())));
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
            let text = format!("{nothing} {}", self.why_nothing());
            return wrapped("", &text, error_columns());
        }
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
        let keys: u64 = self.counters.keys.iter().map(|keys| keys.expansions).sum();
        let loads = u64::from(self.counters.loaded);
        let heading = format!(
            "{BOLD}tenrounds in this command{BOLD:#}: loaded {}, {} expanded",
            counted(loads, "time"),
            counted(keys, "key")
        );
        wrapped("", &heading, error_columns()) + &table.text(error_columns())
    }

    fn why_nothing(&self) -> &'static str {
        match self.counters.loaded {
            0 => {
                "No process that can be counted loaded the provider or the PKCS#11 module. \
                 The command uses no OpenSSL 3, has its own inside (static or bundled), or reads another configuration (Node.js, setuid programs). \
                 Processes of another user, or in another user or PID namespace (a container), are not counted."
            }
            _ => {
                "tenrounds was loaded, but nothing asked it for AES: the command used other ciphers, \
                 another library context, or none."
            }
        }
    }
}

/// "1 key", "2 keys".
fn counted(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(number))
}
