// SPDX-License-Identifier: BSD-2-Clause
//! Man pages and completions.

use crate::support::{contains, skip, Finish, Place};

/// A command and those below it, without hidden ones.
fn shown(command: &clap::Command) -> usize {
    let below = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    1 + below.map(shown).sum::<usize>()
}

#[test]
fn the_staged_tree_has_pages_for_all_and_completions_for_three_shells() {
    let place = Place::new();
    let root = place.path("dist");
    place
        .tool(["generate".as_ref(), root.as_os_str()])
        .done()
        .ok();
    let read = |file: &str| std::fs::read_to_string(root.join("share").join(file)).expect(file);
    let pages = std::fs::read_dir(root.join("share/man/man1")).unwrap();
    let names: Vec<String> = pages
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names.len(), shown(&tenrounds::commands()), "{names:?}");
    for name in names {
        let page = read(&format!("man/man1/{name}"));
        for section in [
            "NAME",
            "SYNOPSIS",
            "DESCRIPTION",
            "OPTIONS",
            "\"EXIT STATUS\"",
            "EXAMPLES",
            "\"SEE ALSO\"",
        ] {
            contains(&page, &[&format!("\n.SH {section}\n")]);
        }
        contains(&page, &[".TH TENROUNDS", "SPDX-License-Identifier"]);
        for hidden in ["die\\-at", "panic\\-at", "\\-\\-root", "worker"] {
            assert!(!page.contains(hidden), "{hidden} in {name}");
        }
    }
    contains(&read("man/man1/tenrounds.1"), &["status", "tenrounds(5)"]);
    for completions in [
        "bash-completion/completions/tenrounds",
        "zsh/site-functions/_tenrounds",
        "fish/vendor_completions.d/tenrounds.fish",
    ] {
        for hidden in ["worker", "probe", "generate"] {
            assert!(
                !read(completions).contains(hidden),
                "{hidden} in {completions}"
            );
        }
    }
    contains(
        &read("bash-completion/completions/tenrounds"),
        &["status", "--print-env"],
    );
    contains(
        &read("zsh/site-functions/_tenrounds"),
        &["#compdef tenrounds", "--print-env"],
    );
    contains(
        &read("fish/vendor_completions.d/tenrounds.fish"),
        &["selftest", "print-env"],
    );
}

#[test]
fn completions_for_one_shell_go_to_standard_output() {
    let place = Place::new();
    contains(
        &place.tool(["completions", "bash"]).done().ok().out,
        &["_tenrounds()"],
    );
}

/// What bash offers for the last word of a command line.
fn offered(place: &Place, line: &str) -> Vec<String> {
    const ASK: &str = r#"
        eval "$("$0" completions bash)"
        words=("$@") last=$(($# - 1))
        COMP_WORDS=("$@") COMP_CWORD=$last
        _tenrounds tenrounds "${words[last]}" "${words[last - 1]}"
        printf '%s\n' "${COMPREPLY[@]}""#;
    let mut bash = place.program("bash");
    bash.args(["-c", ASK, crate::support::TOOL]);
    let done = bash.args(line.split(' ')).done().ok();
    done.out.lines().map(str::to_owned).collect()
}

#[test]
fn completions_know_modes() {
    let place = Place::new();
    let offered = |line: &str| offered(&place, line);
    assert_eq!(
        offered("tenrounds bench aes-256-gcm"),
        ["aes-256-gcm", "aes-256-gcm-siv"]
    );
    let words = offered("tenrounds bench ");
    for mode in catalogue::Mode::aes().filter(|mode| mode.row().measured) {
        assert!(words.contains(&mode.name().to_owned()), "{words:?}");
    }
    assert!(words.contains(&"chacha20-poly1305".to_owned()), "{words:?}");
    let fish = place.tool(["completions", "fish"]).done().ok().out;
    let of_bench =
        "\ncomplete -c tenrounds -n \"__fish_tenrounds_using_subcommand bench\" -f -a \"all ";
    contains(&fish, &[of_bench, " aes-256-gcm-siv "]);
    let zsh = place.tool(["completions", "zsh"]).done().ok().out;
    contains(&zsh, &[":(all aead ", " aes-256-gcm-siv "]);
    for number in ["bench --seconds", "bench --bytes", "selftest --seed"] {
        assert_eq!(offered(&format!("tenrounds {number} ")), [""], "{number}");
    }
    for command in ["bench", "run"] {
        let words = offered(&format!("tenrounds {command} "));
        let placeholder = |word: &&String| word.contains(['[', '<']);
        assert_eq!(words.iter().find(placeholder), None, "{command}");
    }
}

#[test]
fn the_pages_pass_mandoc() {
    let place = Place::new();
    let root = place.path("dist");
    place
        .tool(["generate".as_ref(), root.as_os_str()])
        .done()
        .ok();
    let mut mandoc = place.program("sh");
    mandoc.args(["-c", "mandoc -T lint -W warning dist/share/man/man1/*.1"]);
    match mandoc.done() {
        done if done.status == Some(127) => skip("there is no mandoc"),
        done => assert_eq!(
            (done.status, done.out.as_str()),
            (Some(0), ""),
            "{}",
            done.err
        ),
    }
}

#[test]
fn an_unwritable_tree_is_named() {
    let place = Place::new();
    let said = place.tool(["generate", "/proc/dist"]).done().failed(1);
    contains(&said, &["/proc/dist"]);
}
