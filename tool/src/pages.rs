// SPDX-License-Identifier: BSD-2-Clause
//! What `--help` and the manual page of each command have besides its options: examples and exit
//! status.

use anstyle::Style;

type Lines = &'static [(&'static str, &'static str)];

/// The sections of one command.
pub struct Page {
    /// Command lines, and what they do.
    pub examples: Lines,
    pub exit: Lines,
    /// Manual pages besides tenrounds(1) and tenrounds(5).
    pub see_also: &'static [&'static str],
}

/// What most commands have.
const USUAL: Page = Page {
    examples: &[],
    exit: &[
        ("0", "Success."),
        ("1", "Failure, also if the output cannot be written."),
        ("2", "The command line or a mask is wrong."),
    ],
    see_also: &[],
};

#[rustfmt::skip]
const PAGES: &[(&str, Page)] = &[
    ("tenrounds", Page {
        examples: &[
            ("tenrounds status", "Which AES code does this machine use, and is tenrounds in force?"),
            ("tenrounds bench gcm", "How fast is AES-GCM in OpenSSL and in tenrounds, and what is the limit?"),
            ("tenrounds run --count -- openssl enc -aes-256-ctr -pbkdf2 -pass file:KEY -in FILE -out FILE.enc",
             "Let one command use tenrounds, and show which code executed."),
            ("sudo tenrounds enable --system", "Let all programs use tenrounds."),
            ("tenrounds doctor", "Is anything broken, slow or in the way?"),
        ],
        exit: &[
            ("0", "Success."),
            ("1", "Failure, also if the output cannot be written."),
            ("2", "The command line or a mask is wrong."),
            ("other", "See the pages of doctor, run and bench."),
        ],
        see_also: &["openssl(1)", "OSSL_PROVIDER-tenrounds(7)"],
    }),
    ("run", Page {
        examples: &[
            ("tenrounds run -- curl -sO https://example.org/FILE", "Run one command with tenrounds."),
            ("tenrounds run --count -- openssl speed -evp aes-256-gcm", "Show afterwards which code executed."),
            ("tenrounds run --mask noavx512 --count=counts.json -- COMMAND", "Mask 512-bit registers, and write the counts to a file."),
            ("tenrounds run --java --count -- java -jar PROGRAM.jar", "Let a Java program use the PKCS#11 module, and show which code executed."),
            ("eval \"$(tenrounds run --print-env)\"", "Prefer tenrounds in all commands of this shell."),
        ],
        exit: &[
            ("the command's", "If the command was started."),
            ("1", "The configuration could not be written or does not work; the command was not started."),
            ("2", "The command line or a mask is wrong."),
            ("126", "The command exists, but cannot be executed."),
            ("127", "There is no such command."),
        ],
        see_also: &["OSSL_PROVIDER-tenrounds(7)"],
    }),
    ("enable", Page {
        examples: &[
            ("tenrounds enable --dry-run", "What would be written?"),
            ("sudo tenrounds enable --system", "Enable it for every program that reads the system's openssl.cnf."),
            ("sudo tenrounds enable --java-home /usr/lib/jvm/java-17-openjdk-amd64", "Make the PKCS#11 module the first provider of a JDK."),
            ("tenrounds enable --p11-kit", "Let every program of yours that uses p11-kit load the PKCS#11 module."),
        ],
        exit: &[
            ("0", "Every configuration is enabled, or would be."),
            ("1", "At least one was refused and stays as it was."),
            ("2", "The command line is wrong."),
        ],
        see_also: &["tenrounds-disable(1)", "tenrounds-status(1)", "config(5)"],
    }),
    ("disable", Page {
        examples: &[
            ("tenrounds disable", "Disable it for your account."),
            ("sudo tenrounds disable --system", "Disable it for the system."),
        ],
        see_also: &["tenrounds-enable(1)"],
        ..USUAL
    }),
    ("status", Page {
        examples: &[
            ("tenrounds status", "Is tenrounds in force, and which code runs each mode?"),
            ("tenrounds status --verbose", "Everything, such as the kernel's drivers and the settings of a virtual machine."),
            ("TENROUNDS_MASK=noavx512 tenrounds status", "The same, with 512-bit registers masked."),
            ("tenrounds status --check >/dev/null || sudo tenrounds enable --system", "Enable it unless it is in force."),
        ],
        exit: &[
            ("0", "With --check, tenrounds is in force. Otherwise, no enabled configuration is broken."),
            ("1", "Tenrounds is enabled somewhere and does not work, or no libcrypto can be loaded. With --check, also if it is not in force."),
            ("2", "The command line is wrong."),
        ],
        see_also: &["tenrounds-enable(1)", "tenrounds-doctor(1)"],
    }),
    ("doctor", Page {
        examples: &[
            ("tenrounds doctor", "The verdict, and what to do first."),
            ("sudo tenrounds doctor --verbose", "All evidence, and the processes of all users."),
            ("tenrounds doctor --json | jq -r '.doctor.findings[].id'", "The findings, for a script."),
        ],
        exit: &[
            ("0", "OK. There may be notes."),
            ("1", "WARNING: AES works, but probably not as intended."),
            ("2", "CRITICAL: something is broken, or will break programs."),
            ("3", "The doctor could not report, or the command line is wrong."),
        ],
        see_also: &["tenrounds-kernel(7)"],
    }),
    ("scan", Page {
        examples: &[
            ("tenrounds scan", "Which installed programs and libraries hold AES code?"),
            ("tenrounds scan --verbose /usr/lib/x86_64-linux-gnu/libcrypto.so.3", "Which functions of a library hold it?"),
            ("tenrounds scan 1234", "Which AES code has a process mapped?"),
            ("tenrounds scan --json /opt | jq -r '.scan.files[] | select(.holds == \"tables\") | .path'", "The files whose AES uses tables, for a script."),
        ],
        exit: &[
            ("0", "Success, also if no file holds AES code."),
            ("1", "A file, directory, process or package that was named could not be scanned, or the output cannot be written."),
            ("2", "The command line is wrong."),
        ],
        see_also: &["tenrounds-doctor(1)", "tenrounds-run(1)"],
    }),
    ("trace", Page {
        examples: &[
            ("tenrounds trace -- openssl speed -evp aes-128-gcm", "Which AES code does a command run?"),
            ("sudo tenrounds trace nginx", "Which one does a server run, in all its processes?"),
            ("sudo tenrounds trace -p 1234 --evidence", "Which one does process 1234 run, and by what evidence?"),
            ("sudo tenrounds trace --all --seconds 10", "Which processes run AES code at all?"),
            ("sudo tenrounds trace --count -- nginx -g 'daemon off;'", "How many calls does a server make, of which algorithms and sizes?"),
            ("sudo tenrounds trace --kernel --all", "Which drivers of the kernel do disks, tunnels and programs use, and how much?"),
            ("sudo tenrounds trace --kernel --svg flow.svg -- ./program", "How does the data of a program flow through the kernel's ciphers, as a picture?"),
            ("sudo tenrounds trace --live", "Which processes run AES code now?"),
            ("sudo tenrounds trace --live -n 10 --interval 5 >aes.txt", "Write ten tables to a file, one every 5 seconds."),
            ("sudo tenrounds trace --live --json | jq -r '.live.machine_share'", "The share of the machine in AES code, every 2 seconds."),
            ("tenrounds trace --json --output t.json -- ./program; jq -r '.trace.verdict[]' t.json", "The verdict, for a script."),
        ],
        exit: &[
            ("0", "Success, also if no AES code was seen."),
            ("1", "The kernel refuses to sample or to count, the processes cannot be traced, or the output cannot be written."),
            ("2", "The command line is wrong."),
            ("other", "With a command that ended by itself, its exit status; 126 and 127 as of tenrounds-run(1)."),
        ],
        see_also: &["tenrounds-scan(1)", "tenrounds-run(1)", "top(1)"],
    }),
    ("report", Page {
        examples: &[
            ("sudo tenrounds report --html aes.html", "Write a page on this machine, with the processes of all users."),
            ("tenrounds report --html aes.html --json aes.json", "Keep the same facts for later."),
            ("tenrounds report --json | jq -r '.report.verdict[]'", "The verdict, for a script."),
        ],
        exit: &[
            ("0", "Success, also if a part is missing: the report says which, and why."),
            ("1", "A file cannot be read or written, or OLD.json is no report."),
            ("2", "The command line is wrong."),
        ],
        see_also: &["tenrounds-status(1)", "tenrounds-bench(1)", "tenrounds-trace(1)", "tenrounds-scan(1)", "tenrounds-doctor(1)"],
    }),
    ("bench", Page {
        examples: &[
            ("tenrounds bench", "Measure the most used modes."),
            ("tenrounds bench aes-128-ctr aes-192-ctr aes-256-ctr --svg keys.svg", "Draw stock OpenSSL and tenrounds over the sizes, for each key size."),
            ("tenrounds bench aes-128-ctr rc4 chacha20-poly1305 --bytes 16K --svg ciphers.svg", "Compare AES with other ciphers at one size."),
            ("tenrounds bench ctr gcm --openssl --threads all", "Does it scale with threads, in the columns of openssl speed?"),
            ("tenrounds bench --paths --threads 1,2,4", "From which size on is the kernel's AES faster?"),
            ("tenrounds bench all --json >old.json", "Keep all results."),
            ("tenrounds bench all --baseline old.json --fail-slower", "Compare with them later, in a script: exit status 3 if a row is slower."),
        ],
        exit: &[
            ("0", "Success."),
            ("1", "Failure, also if the earlier run cannot be read, or has no row in common."),
            ("2", "The command line or a mask is wrong."),
            ("3", "With --fail-slower: a row is slower."),
        ],
        see_also: &["openssl-speed(1)", "tenrounds-kernel(7)"],
    }),
    ("selftest", Page {
        examples: &[
            ("tenrounds selftest", "Check all backends."),
            ("tenrounds selftest --backend vaes256 --seed 7", "Repeat the messages of an earlier run for one backend."),
        ],
        exit: &[
            ("0", "All checks passed."),
            ("1", "A check failed, or the backend cannot run here."),
            ("2", "The command line or a mask is wrong."),
        ],
        ..USUAL
    }),
    ("completions", Page {
        examples: &[
            ("tenrounds completions bash >~/.local/share/bash-completion/completions/tenrounds", "Install the completions of bash for your account."),
        ],
        ..USUAL
    }),
];

/// The page of a command, or of "tenrounds" itself.
pub fn of(command: &str) -> &'static Page {
    let mut pages = PAGES.iter();
    pages
        .find(|(name, _)| *name == command)
        .map_or(&USUAL, |(_, page)| page)
}

/// The sections of a command's page: their titles and lines.
pub fn sections(command: &str) -> [(&'static str, Lines); 2] {
    let page = of(command);
    [("Examples", page.examples), ("Exit status", page.exit)]
}

/// The end of a command's long help, in the style of clap's own sections. clap wraps it to the
/// terminal.
pub fn help(command: &str) -> String {
    let (heading, bold) = (Style::new().bold().underline(), Style::new().bold());
    let section = |(title, lines): (&str, Lines)| {
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
        for name in shown.map(|sub| sub.get_name()).chain(["tenrounds"]) {
            let page = of(name);
            assert!(
                !page.examples.is_empty(),
                "no example for '{name}' in PAGES"
            );
        }
        for (name, page) in PAGES {
            let known = command.find_subcommand(name).is_some();
            assert!(
                *name == "tenrounds" || known,
                "there is no command '{name}'"
            );
            assert!(!page.examples.is_empty(), "no example for '{name}'");
        }
    }

    /// Each example is a command line that the tool accepts.
    #[test]
    fn the_examples_are_accepted() {
        let examples = PAGES.iter().flat_map(|(_, page)| page.examples);
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
