# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=sh disable=SC2016,SC2034 # expanded later; used by scripts that read this file
# Functions and variables that several scripts share, in POSIX sh. A script reads this file with
#   . "$(dirname -- "$0")/lib.sh"

# The tree, and the folder for what later runs use again: other OpenSSLs, kernels, base systems.
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/tenrounds
# Messages begin with this name. A script that users call through make sets it to tenrounds.
self=${0##*/}

say() { echo "$self: $*" >&2; }
fail() {
    say "$*"
    exit 1
}
usage() { # ARGUMENTS: what may follow the script's name
    echo "usage: scripts/${0##*/} $*" >&2
    exit 2
}

# at_exit COMMAND: runs a shell command when the script ends, also by a signal.
at_exit() {
    # shellcheck disable=SC2064 # the caller decides what is expanded when
    trap "$1" EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

# work_in FOLDER: creates a folder, which at_exit removes, and sets $work to it.
work_in() {
    work=$1
    at_exit 'rm -rf "$work"'
    mkdir -p "$work" || exit 1
}
# temporary: the same with a new folder in TMPDIR.
temporary() { work_in "$(mktemp -d "${TMPDIR:-/tmp}/tenrounds-${0##*/}.XXXXXX")"; }

# quietly LOG COMMAND...: runs a program, shows that it is alive, and prints its output if it fails.
quietly() {
    "$root/scripts/progress" "$@" || {
        quiet_log=$1
        shift
        fail "'$*' failed; its output is also in $quiet_log"
    }
}

# sources FOLDER LIST: prints the C files of a list in the folder's meson.build.
sources() {
    sed -n "/^$2 = files(/,\$p" "$root/$1/meson.build" | sed '/)/q' | grep -oE "'[^']+'" | tr -d "'" | sed "s|^|$1/|"
}

# retried COMMAND...: runs a command that downloads, and repeats it if it fails, because a network or
# a server may fail for a moment.
retried() {
    for retried_pause in 5 15 30; do
        "$@" && return
        say "'$1' failed; once more in $retried_pause seconds"
        sleep "$retried_pause"
    done
    "$@"
}
# How often apt repeats a download, with growing pauses.
apt_retries=Acquire::Retries=8

# step NAME COMMAND...: runs a test, and prints the result, and the time if it took long. Counts
# failures in $failed. $work/log has the output.
failed=0
step() {
    step_name=$1 step_begin=$(date +%s) step_time=''
    shift
    if "$@" >"$work/log" 2>&1; then
        step_seconds=$(($(date +%s) - step_begin))
        [ $step_seconds -lt 10 ] || step_time=", $step_seconds s"
        echo "ok: $step_name$step_time"
    else
        echo "FAILED: $step_name"
        sed 's/^/    /' "$work/log"
        failed=$((failed + 1))
    fi
}

# skipped WHY: reports what cannot run here. Returns 1 if it has to, as in CI.
skipped() {
    echo "SKIPPED: $1"
    [ -z "${TENROUNDS_MUST_RUN-}" ] || {
        echo 'but it has to run here'
        return 1
    }
}

# rust_version FOLDER: the minimum version of Rust of the workspace (.) or of bench.
rust_version() { sed -n 's/^rust-version *= *"\([0-9.]*\)".*/\1/p' "$root/$1/Cargo.toml"; }

# Our crates, one on each line.
members() {
    "$root/scripts/cargo" metadata --manifest-path "$root/Cargo.toml" --quiet --no-deps --offline --format-version 1 |
        python3 -c 'import json, sys; [print(package["name"]) for package in json.load(sys.stdin)["packages"]]'
}
# take_crates FROM TO: copies a target folder of cargo, without our own crates, and without the tests
# and other programs in deps. Waits for a cargo that writes to it.
take_crates() {
    for lock in "$1"/release/.cargo-lock "$1"/*/release/.cargo-lock; do
        [ -e "$lock" ] || continue
        profile=${lock%/.cargo-lock}
        mkdir -p "$2${profile#"$1"}"
        (cd "$profile" && flock .cargo-lock find .fingerprint build deps -type f \
            \( -path 'deps/*.*' -o ! -path 'deps/*' \) -exec cp --archive --parents --target-directory="$2${profile#"$1"}" {} +)
    done
    # From 1.97 on, cargo cleans no folder without this file.
    echo 'Signature: 8a477f597d28d172789f06886806bc55' >"$2/CACHEDIR.TAG"
    # shellcheck disable=SC2046 # a word each
    "$root/scripts/cargo" clean --manifest-path "$root/Cargo.toml" --quiet --release --offline --target-dir "$2" \
        $(members | sed 's/^/--package /')
}

# kept FOLDER COMMAND...: fills a folder of the cache, once. The command runs in a shell of its own,
# with an empty folder $work, and leaves the contents in $work/kept. The caller runs with set -e, and
# does not test the status, which would switch that off.
kept() {
    [ ! -e "$1" ] || return 0
    say "fetching or building ${1##*/}, once"
    mkdir -p "$cache"
    (
        kept_in=$1
        work_in "$kept_in.$$"
        shift
        "$@"
        # Another process may have been faster.
        mv -T "$work/kept" "$kept_in" 2>/dev/null || [ -e "$kept_in" ]
    )
}

# newest_kept PATTERN: prints the newest folder of the cache with such a name, for use where apt
# cannot be asked for a newer one.
newest_kept() {
    kept_before=$(find "$cache" -maxdepth 1 -type d -name "$1" -printf '%T@ %p\n' | sort -n | sed -n '$s/^[^ ]* //p')
    [ -n "$kept_before" ] || fail "apt offers nothing for $1; is there a network?"
    say "apt cannot be asked, so $kept_before is used again"
    echo "$kept_before"
}

# crate_folders MANIFEST NAME: fetches what a lock file pins, and prints where cargo has unpacked the
# crates of this name.
crate_folders() {
    "$root/scripts/cargo" fetch --quiet --locked --manifest-path "$1" ||
        fail "cannot fetch the crates that ${1%.toml}.lock names; is there a network?"
    "$root/scripts/cargo" metadata --offline --locked --format-version 1 --manifest-path "$1" |
        python3 -c 'import json, os, sys
for package in json.load(sys.stdin)["packages"]:
    if package["name"] == sys.argv[1]:
        print(os.path.dirname(package["manifest_path"]))' "$2"
}

# own_apt ARCHITECTURE TOOL ARGUMENT...: runs a tool of apt with the package lists of own_lists, because
# the user may not be allowed to update the system's. It sees no package as installed.
lists_in=''
own_apt() {
    apt_arch=$1 apt_tool=$2 apt_in=${lists_in:-$work}
    shift 2
    [ ! -e "$apt_in/sources.list" ] || set -- -o Dir::Etc::sourcelist="$apt_in/sources.list" -o Dir::Etc::sourceparts=- "$@"
    "$apt_tool" -qq -o APT::Architecture="$apt_arch" -o APT::Architectures="$apt_arch" \
        -o APT::Sandbox::User="$(id -un)" -o "$apt_retries" -o Dir::State::lists="$apt_in/lists" \
        -o Dir::State::status=/dev/null -o Dir::Cache="$apt_in" "$@"
}
# apt_logged ARCHITECTURE ARGUMENT...: runs apt-get, and prints its output if it fails.
apt_logged() {
    logged_arch=$1
    shift
    own_apt "$logged_arch" apt-get "$@" >>"$work/apt.log" 2>&1 || {
        cat "$work/apt.log" >&2
        fail "for $logged_arch, apt-get cannot $*"
    }
}
# own_sources SUITE...: makes own_apt use only these suites of Debian, from the mirror of the Debian
# here.
own_type=deb # or deb-src
own_sources() {
    rm -f "$work/sources.list" # reads the system's configuration
    # shellcheck disable=SC2016 # expanded by apt-get
    apt-get indextargets --format '$(ORIGIN) $(CODENAME) $(REPO_URI)' | sed -n 's/^Debian //p' | sort -u >"$work/mirrors"
    for own_suite; do
        case $own_suite in
        *-security) mirror=$(sed -n 's/^[a-z]*-security //p' "$work/mirrors" | head -n 1) ;;
        *) mirror=$(sed -n 's/^[a-z]* //p' "$work/mirrors" | head -n 1) ;;
        esac
        [ -n "$mirror" ] || fail "apt has no source of Debian whose mirror could have $own_suite"
        echo "$own_type [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $own_suite main"
    done >"$work/sources"
    mv "$work/sources" "$work/sources.list"
}
# own_lists ARCHITECTURE [SUITE...]: fetches the lists of the system's package sources, or of these
# suites of Debian, into $work. Functions that `kept` runs later use them, too.
own_lists() {
    lists_in=$work lists_arch=$1
    shift
    command -v apt-get >/dev/null 2>&1 || fail "there is no apt here to download packages of Debian or Ubuntu"
    [ $# -eq 0 ] || own_sources "$@"
    mkdir -p "$work/lists/partial" "$work/archives/partial"
    # A source may fail to answer or lack this architecture, if another one has the packages. apt
    # does not repeat the search for an address.
    for lists_pause in 5 15 30 0; do
        own_apt "$lists_arch" apt-get update >"$work/apt.log" 2>&1 || :
        grep -q 'Temporary failure resolving' "$work/apt.log" || break
        sleep "$lists_pause"
    done
}
# own_packages ARCHITECTURE NAME...: downloads packages and unpacks them into $work/kept.
own_packages() {
    packages_arch=$1
    shift
    mkdir -p "$work/debs" "$work/kept"
    (cd "$work/debs" && apt_logged "$packages_arch" download "$@") || exit 1
    for package in "$work"/debs/*.deb; do
        dpkg-deb -x "$package" "$work/kept" || exit 1
    done
}
# starter FILE LOADER LIBRARIES [PROGRAM]: makes a script that starts a program, or that of its
# arguments, with libraries other than the system's, by their dynamic linker.
starter() {
    printf '#!/bin/sh\nexec "%s" --library-path "%s" %s"$@"\n' "$2" "$3" "${4:+\"$4\" }" >"$1"
    chmod 755 "$1"
}

# chrooted ROOT COMMAND...: runs a command in a tree, as root, in namespaces of its own and without a
# network. It sees the folders $visible of this machine, too.
visible=''
chrooted() {
    chroot_tree=$1
    shift
    # shellcheck disable=SC2016 # for the shell inside
    unshare --mount --net --pid --fork --mount-proc="$chroot_tree/proc" sh -ec '
        root=$1 folders=$2
        shift 2
        for folder in $folders; do
            mount --bind "$folder" "$root$folder"
        done
        exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
            DEBIAN_FRONTEND=noninteractive "$@"' sh "$chroot_tree" "$visible" "$@"
}

bootstrap() { # SUITE NAME,NAME...
    rm -rf "$work/base"
    # A debootstrap that is older than the suite builds it as it builds unstable.
    script=$1
    [ -e "/usr/share/debootstrap/scripts/$1" ] || script=sid
    "$root/scripts/progress" "$work/debootstrap.log" debootstrap --variant=minbase --include="$2" "$1" "$work/base" '' "$script"
}
# bare_debian TAR SUITE NAME,NAME...: makes a minimal Debian with these packages, if there is none yet.
bare_debian() {
    [ ! -e "$1" ] || return 0
    mkdir -p "$cache"
    say "downloading a minimal Debian ($2)"
    retried bootstrap "$2" "$3" || exit 1
    # Debian's installer writes three package sources, debootstrap one.
    sed -i "s|^deb \\([^ ]*\\) $2 main\$|&\ndeb \\1 $2-updates main\ndeb \\1-security $2-security main|" \
        "$work/base/etc/apt/sources.list"
    rm -rf "$work"/base/var/cache/apt/archives/*.deb "$work"/base/var/lib/apt/lists/*
    tar -C "$work/base" --numeric-owner -cf "$1.$$" . && mv "$1.$$" "$1" && rm -rf "$work/base"
}
