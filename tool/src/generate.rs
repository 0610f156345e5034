// SPDX-License-Identifier: BSD-2-Clause
//! Man pages and completions, from the definitions of the command line.

use crate::cli::Cli;
use crate::error::{Error, Result};
use crate::output;
use clap::CommandFactory;
use clap_complete::Shell;
use std::fs;
use std::path::Path;

/// Writes a shell's completions to standard output.
pub fn completions(shell: Shell) -> Result<()> {
    output::plain(&completions_of(shell))
}

fn completions_of(shell: Shell) -> Vec<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "tenrounds", &mut text);
    text
}

/// Writes everything into a tree laid out as installed.
pub fn tree(root: &Path) -> Result<()> {
    let share = root.join("share");
    man_pages(&share.join("man/man1"))?;
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

/// tenrounds.1 and tenrounds-COMMAND.1 for each command that is not hidden.
fn man_pages(dir: &Path) -> Result<()> {
    fs::create_dir_all(dir)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), dir))
        .map_err(|error| Error::failure(format!("{}: {error}", dir.display())))
}

fn write(path: &Path, text: &[u8]) -> Result<()> {
    let dir = path.parent().expect("every file has a directory");
    fs::create_dir_all(dir)
        .and_then(|()| fs::write(path, text))
        .map_err(|error| Error::failure(format!("{}: {error}", path.display())))
}
