// SPDX-License-Identifier: BSD-2-Clause
//! Man pages and completions, from the definitions of the command line.

use crate::cli;
use crate::pages;
use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use roff::{bold, roman, Inline, Roff};
use std::fs;
use std::io::Write;
use std::path::Path;
use terminal::error::{Error, Result};
use terminal::output;

/// When the texts of the manual pages last changed.
const DATE: &str = "2026-11-29";

/// Writes a shell's completions to standard output.
pub fn completions(shell: Shell) -> Result<()> {
    output::plain(&completions_of(shell))
}

fn completions_of(shell: Shell) -> Vec<u8> {
    let mut text = Vec::new();
    // The generator for bash would offer the placeholders of arguments of any word.
    let mut command = cli::visible(
        &cli::command(),
        match shell {
            Shell::Bash => {
                |arg| !arg.is_positional() || arg.get_value_parser().possible_values().is_some()
            }
            _ => |_| true,
        },
    );
    clap_complete::generate(shell, &mut command, "tenrounds", &mut text);
    if shell == Shell::Fish {
        text.extend(fish_words(&command).into_bytes());
    }
    text
}

/// The words of positional arguments, which the generator for fish leaves out.
fn fish_words(command: &Command) -> String {
    let mut lines = String::new();
    for sub in command.get_subcommands() {
        let values = sub.get_positionals();
        let values = values.filter_map(|arg| arg.get_value_parser().possible_values());
        let words: Vec<String> = values.flatten().map(|v| v.get_name().to_owned()).collect();
        if !words.is_empty() {
            let (name, words) = (sub.get_name(), words.join(" "));
            lines += &format!(
                "complete -c tenrounds -n \"__fish_tenrounds_using_subcommand {name}\" -f -a \"{words}\"\n"
            );
        }
    }
    lines
}

/// Writes everything into a tree laid out as installed.
pub fn tree(root: &Path) -> Result<()> {
    let share = root.join("share");
    let mut command = cli::command().disable_help_subcommand(true);
    command.build();
    let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    for command in shown.chain([&command]) {
        let name = command.get_display_name().unwrap_or(command.get_name());
        let page = page(name, command).expect("memory can be written");
        write(&share.join(format!("man/man1/{name}.1")), &page)?;
    }
    let shells = [
        (Shell::Bash, "bash-completion/completions/tenrounds"),
        (Shell::Zsh, "zsh/site-functions/_tenrounds"),
        (Shell::Fish, "fish/vendor_completions.d/tenrounds.fish"),
    ];
    for (shell, file) in shells {
        write(&share.join(file), &completions_of(shell))?;
    }
    Ok(())
}

/// The manual page of a command. clap_mangen knows its options, pages.rs the rest.
fn page(name: &str, command: &Command) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::new();
    let man = Man::new(command.clone().subcommand_help_heading("COMMANDS"))
        .title(name.to_uppercase())
        .date(DATE)
        .source(concat!("tenrounds ", env!("CARGO_PKG_VERSION")))
        .manual("tenrounds");
    man.render_title(&mut out)?;
    man.render_name_section(&mut out)?;
    synopsis(command).to_writer(&mut out)?;
    man.render_description_section(&mut out)?;
    man.render_options_section(&mut out)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut out)?;
    }
    sections(name).to_writer(&mut out)?;
    Ok(tidied(&out))
}

/// clap_mangen repeats this at each section, and puts an empty line between two line breaks, which
/// mandoc(1) warns about.
fn tidied(page: &[u8]) -> Vec<u8> {
    const QUOTES: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";
    let page = String::from_utf8_lossy(page).replace(QUOTES, "");
    let page = page.replace(".br\n\n.br\n", ".sp\n");
    format!(".\\\" SPDX-License-Identifier: BSD-2-Clause\n{QUOTES}{page}").into_bytes()
}

/// The usage, as `--help` has it.
fn synopsis(command: &Command) -> Roff {
    let usage = command.clone().render_usage().to_string();
    let mut roff = Roff::new();
    roff.control("SH", ["SYNOPSIS"]);
    for (index, line) in usage.trim_start_matches("Usage:").lines().enumerate() {
        if index > 0 {
            roff.control("br", []);
        }
        roff.text([bold(line.trim())]);
    }
    roff
}

/// The sections of the page with this name.
fn sections(name: &str) -> Roff {
    let command = name.trim_start_matches("tenrounds-");
    let mut roff = Roff::new();
    for (title, lines) in pages::sections(command) {
        roff.control("SH", [title.to_uppercase().as_str()]);
        for (name, text) in lines {
            roff.control("TP", []);
            roff.text([bold(name.as_str())]);
            roff.text([roman(text.as_str())]);
        }
    }
    roff.control("SH", ["SEE ALSO"]);
    roff.text(see_also(name, &pages::of(command).see_also));
    roff
}

fn see_also(command: &str, more: &[String]) -> Vec<Inline> {
    let usual = ["tenrounds(1)", "tenrounds(5)"];
    let itself = format!("{command}(1)");
    let more = more.iter().map(String::as_str);
    let mut pages: Vec<&str> = usual.into_iter().chain(more).collect();
    pages.retain(|page| *page != itself);
    vec![roman(pages.join(", "))]
}

fn write(path: &Path, text: &[u8]) -> Result<()> {
    let dir = path.parent().expect("every file has a directory");
    fs::create_dir_all(dir)
        .and_then(|()| fs::File::create(path)?.write_all(text))
        .map_err(|error| Error::failure(format!("{}: {error}", path.display())))
}
