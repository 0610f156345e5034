// SPDX-License-Identifier: BSD-2-Clause
//! The files that a run is written to.

use crate::published::{Cpu, Run};
use crate::reasons::Families;
use crate::{chart, json, markdown, overview, replace};
use std::path::{Path, PathBuf};
use terminal::error::{Error, Result};

/// The options that name files.
#[derive(clap::Args)]
pub struct FileArgs {
    /// Write JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a table as Markdown
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Write charts
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// Write all three, named after processor and date, and compare DIR's runs in DIR/README.md
    #[arg(long, value_name = "DIR")]
    pub publish: Option<PathBuf>,
}

pub struct Files {
    json: Option<PathBuf>,
    markdown: Option<PathBuf>,
    /// Directories.
    svg: Vec<PathBuf>,
    /// Directory and name.
    publish: Option<(PathBuf, String)>,
}

impl Files {
    /// Fails, before anything is measured, if one of them cannot be written.
    pub fn of(args: &FileArgs, cpu: &Cpu, date: &str) -> Result<Files> {
        let publish = args
            .publish
            .as_ref()
            .map(|dir| (dir.clone(), name(&cpu.brand, cpu.family, cpu.model, date)));
        let named = |end: &str| {
            publish
                .as_ref()
                .map(|(dir, name)| dir.join(format!("{name}.{end}")))
        };
        let files = Files {
            json: args.json.clone().or(named("json")),
            markdown: args.markdown.clone().or(named("md")),
            svg: args.svg.iter().chain(&args.publish).cloned().collect(),
            publish,
        };
        for dir in &files.svg {
            std::fs::create_dir_all(dir).map_err(|e| cannot_write(dir, &e))?;
        }
        for file in files.json.iter().chain(&files.markdown) {
            terminal::writable(file)?;
        }
        if let Some(dir) = &args.publish {
            overview::published(dir)?;
        }
        Ok(files)
    }

    /// Everything is made from the JSON's text, so that a published run gives the same files again.
    pub fn write(&self, run: &Run) -> Result<()> {
        let text = json::write(run);
        let run = json::read(&text).expect("it was just written");
        let families = Families::known();
        let replaces = replace::is(&run);
        let charts = match (self.svg.is_empty() || replaces, &self.publish) {
            (true, _) => Vec::new(),
            (false, name) => chart::all(&run, name.as_ref().map_or("", |(_, n)| n))?,
        };
        for dir in &self.svg {
            for (file, picture) in &charts {
                write(&dir.join(file), picture)?;
            }
        }
        if let Some(path) = &self.json {
            write(path, &text)?;
        }
        if let Some(path) = &self.markdown {
            let pictures: Vec<&str> = charts.iter().map(|(file, _)| &**file).collect();
            let page = match replaces {
                true => replace::page(&run, &families),
                false => markdown::text(&run, &families, &pictures),
            };
            write(path, &page)?;
        }
        if let Some((dir, _)) = &self.publish {
            let readme = dir.join("README.md");
            if let Ok(text) = std::fs::read_to_string(&readme) {
                let runs = overview::published(dir)?;
                write(&readme, &overview::readme(&text, &runs, &families)?)?;
            }
        }
        Ok(())
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|e| cannot_write(path, &e))
}

fn cannot_write(path: &Path, why: &dyn std::fmt::Display) -> Error {
    Error::failure(format!("cannot write {}: {why}", path.display()))
}

/// "amd-epyc-family-25-model-17-2026-11-21".
pub fn name(brand: &str, family: u16, model: u16, date: &str) -> String {
    let brand = brand.to_ascii_lowercase();
    let words = brand.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    format!(
        "{}-family-{}-model-{}-{date}",
        words.join("-"),
        family,
        model
    )
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
        let name = name(&cpu.brand, cpu.family, cpu.model, "2026-11-22");
        assert_eq!(
            name,
            "intel-r-xeon-r-processor-family-6-model-207-2026-11-22"
        );
    }
}
