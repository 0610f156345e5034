#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Tests when scripts/compile configures a folder again: compile.sh SCRIPTS
#
# Compiles a project of one file, whose unused parameter is a warning.
set -u
scripts=$1
. "$(dirname -- "$0")/tap.sh"
unset CC CFLAGS CPPFLAGS LDFLAGS WERROR
mkdir "$dir/scripts"
cp "$scripts/compile" "$scripts/lib.sh" "$scripts/progress" "$dir/scripts/"
cat >"$dir/meson.build" <<'END'
project('small', 'c', default_options: ['warning_level=2'])
executable('small', 'small.c')
END
cat >"$dir/small.c" <<'END'
#include <stdio.h>
#ifndef WORD
#    define WORD "none"
#endif
int main(int argc, char **argv)
{
    puts(WORD);
    return 0;
}
END

compile() { # VARIABLE=VALUE...
    env "$@" "$dir/scripts/compile" "$dir/build/c" '' >"$dir/out" 2>&1
}
says() { # WORD [VARIABLE=VALUE...]
    word=$1
    shift
    compile "$@" || {
        cat "$dir/out"
        return 1
    }
    [ "$("$dir/build/c/small")" = "$word" ]
}
refused() { # VARIABLE=VALUE...
    ! compile "$@" && grep -q 'unused.*argc' "$dir/out"
}
not_again() {
    compile && ! grep -q configuring "$dir/out"
}
counted() {
    compile CFLAGS=-O1 &&
        grep -qx "compile: warnings of the compiler: 2, in $dir/build/c.log" "$dir/out" &&
        compile CFLAGS=-O1 && ! grep -q 'warnings of' "$dir/out"
}

result 'a warning is no error for a user' says none
result 'the same settings again: Meson does not run' not_again
result 'CFLAGS count in a folder that was configured without' says two 'CFLAGS=-DWORD="\"two\""'
result 'CPPFLAGS count there' says three 'CPPFLAGS=-DWORD="\"three\""'
result 'without them, the folder is as before' says none
result 'WERROR=1 makes a warning an error' refused WERROR=1
result 'WERROR=1 with CFLAGS, too' refused WERROR=1 CFLAGS=-O1
result 'and without WERROR it is none again' says none
result 'warnings are counted, where something was compiled' counted
planned
