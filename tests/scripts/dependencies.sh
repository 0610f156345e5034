#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Tests when scripts/dependencies installs, asks, or only prints: dependencies.sh SCRIPTS
#
# PATH has only basic programs here, so that ccache, the one dependency of the job "ci", is missing.
# The programs apt-get, id and sudo are fakes. The fake apt-get writes its arguments to a file, and
# "installs" ccache.
set -u
scripts=$1
. "$(dirname -- "$0")/tap.sh"

# machine USER [PROGRAM...]: a PATH on which the user has this number, with these fakes.
machine() {
    rm -rf "${dir:?}/bin" "$dir/called" "$dir/out"
    mkdir "$dir/bin"
    for program in sh bash env sed grep sort cut head tail tr cat rm mktemp mkdir dirname uname date \
        sleep script stty true touch chmod; do
        path=$(PATH=/usr/bin:/bin command -v "$program")
        [ -x "$path" ] || path=/bin/$program # a command of this shell
        ln -s "$path" "$dir/bin/$program"
    done
    fake id "echo $1"
    shift
    for program; do
        case $program in
        apt-get) fake apt-get "echo apt-get \"\$@\" >>$dir/called
case \$* in *' install ccache') printf '#!/bin/sh\n' >$dir/bin/ccache; chmod 755 $dir/bin/ccache ;; esac" ;;
        sudo) fake sudo "echo sudo \"\$1\" >>$dir/called; exec \"\$@\"" ;;
        esac
    done
}
fake() { # NAME TEXT
    printf '#!/bin/sh\n%s\n' "$2" >"$dir/bin/$1"
    chmod 755 "$dir/bin/$1"
}

# dependencies STATUS [NAME=VALUE]: runs it without a terminal, and wants this exit status.
dependencies() {
    wanted=$1
    shift
    env -i PATH="$dir/bin" TMPDIR="$dir" "$@" "$scripts/dependencies" ci >"$dir/out" 2>&1 </dev/null
    got=$?
    cat "$dir/out"
    [ "$got" -eq "$wanted" ]
}
# on_terminal STATUS ANSWER [NAME=VALUE]: the same on a terminal, where somebody types the answer.
on_terminal() {
    wanted=$1 answer=$2
    shift 2
    printf '%s\n' "$answer" | env -i PATH="$dir/bin" TMPDIR="$dir" SHELL=/bin/sh "$@" \
        script -qec "'$scripts/dependencies' ci" /dev/null >"$dir/out" 2>&1
    got=$?
    cat "$dir/out"
    [ "$got" -eq "$wanted" ]
}
says() { grep -qF -- "$1" "$dir/out"; }
calls_nothing() { [ ! -e "$dir/called" ]; }
installs() { grep -q 'apt-get .*install ccache$' "$dir/called" && [ -x "$dir/bin/ccache" ]; }
with_sudo() { grep -qx 'sudo apt-get' "$dir/called"; }

nothing_installed() {
    machine 0 apt-get && dependencies 1 INSTALL_DEPS=no && calls_nothing &&
        says '  ccache' && says '  apt-get update && apt-get install ccache'
}
as_root() { machine 0 apt-get && dependencies 0 && installs && ! with_sudo; }
complete() { dependencies 0 && [ ! -s "$dir/out" ]; }
says_sudo() {
    machine 1000 apt-get sudo && dependencies 0 && installs && with_sudo &&
        says '  sudo apt-get update && sudo apt-get install ccache' && ! says '[Y/n]'
}
asks() { machine 1000 apt-get sudo && on_terminal 0 y && says '[Y/n]' && installs && with_sudo; }
asks_enter() { machine 1000 apt-get sudo && on_terminal 0 '' && says '[Y/n]' && installs; }
refused() { machine 1000 apt-get sudo && on_terminal 1 n && calls_nothing && says 'nothing was installed'; }
never_asks() {
    machine 1000 apt-get sudo && on_terminal 0 n INSTALL_DEPS=yes && ! says '[Y/n]' && installs
}
no_sudo() {
    machine 1000 apt-get && dependencies 1 && calls_nothing && says 'ask an administrator' &&
        says '  apt-get update && apt-get install ccache'
}
no_apt() { machine 0 && dependencies 1 && says 'There is no apt here' && says '  ccache'; }
failing() {
    machine 0 apt-get && fake apt-get 'echo "no network"; exit 100' && dependencies 1 && says 'no network'
}
bad_value() { machine 0 apt-get && dependencies 2 INSTALL_DEPS=maybe && calls_nothing && says "'maybe'"; }
bad_job() {
    machine 0 apt-get
    env PATH="$dir/bin" "$scripts/dependencies" nothing 2>"$dir/out"
    [ $? -eq 2 ] && calls_nothing && says 'bench|build|check|check-arm'
}

result 'INSTALL_DEPS=no installs nothing and prints the line' nothing_installed
result 'root installs without sudo' as_root
result 'with everything there it says nothing' complete
result 'without a terminal it prints the sudo line, then installs' says_sudo
result 'on a terminal it asks before it uses sudo' asks
result 'Enter means yes' asks_enter
result 'after "n" it installs nothing' refused
result 'INSTALL_DEPS=yes does not ask' never_asks
result 'without sudo it prints the line for an administrator' no_sudo
result 'without apt it names what is missing' no_apt
result 'if apt fails, so does it, with the output of apt' failing
result 'another value of INSTALL_DEPS is refused' bad_value
result 'an unknown job is refused' bad_job
planned
