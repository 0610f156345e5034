// SPDX-License-Identifier: BSD-2-Clause
//! The files that a run is written to.

use crate::published::{Cpu, Run};
use crate::reasons::Families;
use crate::report;
use std::path::{Path, PathBuf};
use terminal::error::{Error, Result};

/// The options that name files.
#[derive(clap::Args)]
pub struct FileArgs {
    /// Write JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write JSON and a page, named after processor and date
    #[arg(long, value_name = "DIR")]
    pub publish: Option<PathBuf>,
}

impl FileArgs {
    /// Fails, before anything is measured, if one of the files cannot be written.
    pub fn check(&self, cpu: &Cpu, date: &str) -> Result<()> {
        if let Some(dir) = &self.publish {
            std::fs::create_dir_all(dir).map_err(|e| cannot_write(dir, &e))?;
            terminal::writable(&file(dir, cpu, date, "json"))?;
        }
        self.json
            .iter()
            .try_for_each(|path| terminal::writable(path))
    }

    /// Everything is made from the JSON's text, so that a published run gives the same files again.
    pub fn write(&self, run: &Run) -> Result<()> {
        let text = run.json();
        if let Some(path) = &self.json {
            write(path, &text)?;
        }
        let Some(dir) = &self.publish else {
            return Ok(());
        };
        let json = file(dir, &run.host.cpu, &run.date, "json");
        write(&json, &text)?;
        let page = report::page(&Run::read(&json)?, &Families::known());
        write(&json.with_extension("md"), &page)
    }
}

pub fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|e| cannot_write(path, &e))
}

fn cannot_write(path: &Path, why: &dyn std::fmt::Display) -> Error {
    Error::failure(format!("cannot write {}: {why}", path.display()))
}

/// "amd-epyc-family-25-model-17-2026-11-21.json" in a directory.
fn file(dir: &Path, cpu: &Cpu, date: &str, end: &str) -> PathBuf {
    let brand = cpu.brand.to_ascii_lowercase();
    let words = brand.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let (brand, family, model) = (words.join("-"), cpu.family, cpu.model);
    dir.join(format!(
        "{brand}-family-{family}-model-{model}-{date}.{end}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_after_processor_and_date() {
        let cpu = Cpu {
            vendor: "GenuineIntel".into(),
            brand: "Intel(R) Xeon(R) Processor".into(),
            family: 6,
            model: 207,
            stepping: 2,
            threads: 2,
        };
        let name = "dir/intel-r-xeon-r-processor-family-6-model-207-2026-11-22.json";
        assert_eq!(
            file(Path::new("dir"), &cpu, "2026-11-22", "json"),
            Path::new(name)
        );
    }
}
