# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=sh disable=SC2034 # the tests that read this file use the variables
# The tests of scripts read this file. It sets $dir, a directory that is removed at the end.
dir=$(mktemp -d) || exit 2
trap 'rm -rf "$dir"' EXIT
count=0
status=0

# result TEXT COMMAND...: one result: whether the command succeeds. Shows its output if it fails.
result() {
    count=$((count + 1))
    text=$1
    shift
    if "$@" >"$dir/shown" 2>&1; then
        echo "ok $count - $text"
    else
        echo "not ok $count - $text"
        sed 's/^/# /' "$dir/shown"
        status=1
    fi
}
# planned: ends a test; has to be its last command.
planned() {
    echo "1..$count"
    [ "$status" -eq 0 ]
}
