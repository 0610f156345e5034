// SPDX-License-Identifier: BSD-2-Clause
//! What `--help` and the manual page of each command have besides its options: examples and exit
//! status. pages.json has the texts.

use anstyle::Style;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

type Lines = Vec<(String, String)>;

/// The sections of one command.
#[derive(Deserialize)]
pub struct Page {
    /// Command lines, and what they do.
    pub examples: Lines,
    pub exit: Lines,
    /// Manual pages besides tenrounds(1) and tenrounds(5).
    pub see_also: Vec<String>,
}

/// By command; the page of "tenrounds" is that of the whole.
static PAGES: LazyLock<BTreeMap<String, Page>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("pages.json")).expect("a page for each command")
});

/// The page of a command that is shown, or of "tenrounds" itself.
pub fn of(command: &str) -> &'static Page {
    &PAGES[command]
}

/// The sections of a command's page: their titles and lines.
pub fn sections(command: &str) -> [(&'static str, &'static Lines); 2] {
    let page = of(command);
    [("Examples", &page.examples), ("Exit status", &page.exit)]
}

/// The end of a command's long help, in the style of clap's own sections. clap wraps it to the
/// terminal.
pub fn help(command: &str) -> String {
    let (heading, bold) = (Style::new().bold().underline(), Style::new().bold());
    let section = |(title, lines): (&str, &Lines)| {
        let lines = lines.iter();
        let lines = lines.map(|(name, text)| format!("  {bold}{name}{bold:#}\n          {text}\n"));
        format!(
            "{heading}{title}:{heading:#}\n{}",
            lines.collect::<String>()
        )
    };
    sections(command)
        .map(section)
        .join("\n")
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_examples() {
        let command = crate::cli::command();
        let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
        let mut names: Vec<&str> = shown
            .map(|sub| sub.get_name())
            .chain(["tenrounds"])
            .collect();
        names.sort_unstable();
        assert!(PAGES.keys().eq(names), "{:?}", PAGES.keys());
        assert!(PAGES.values().all(|page| !page.examples.is_empty()));
    }

    /// Each example is a command line that the tool accepts.
    #[test]
    fn the_examples_are_accepted() {
        let examples = PAGES.values().flat_map(|page| &page.examples);
        for (line, _) in examples {
            let at = line.find("tenrounds ").unwrap();
            let line = line[at..].split(['|', '>']).next().unwrap();
            let words = line.trim_end_matches([')', '"']).split_whitespace();
            let words = words.map(|word| word.trim_matches('\''));
            if let Err(error) = crate::cli::command().try_get_matches_from(words) {
                panic!("{line}: {error}");
            }
        }
    }
}
