#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs the lines that README.md prints, with an installed tree: recipe.sh BUILD. LD_LIBRARY_PATH
# stands for the dynamic linker's cache, which 'make install' updates.
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
echo 1..1

mkdir "$work/tree" "$work/tree/examples" "$work/tree/docs"
cp "$here"/*.c "$work/tree/examples/" && cp -r "$here/../docs/man" "$work/tree/docs/man" || exit 2
DESTDIR=$work/installed meson install -C "$1" --no-rebuild --quiet || exit 2
pc=$(dirname "$(find "$work/installed" -name tenrounds.pc)")
export PKG_CONFIG_PATH="$pc" LD_LIBRARY_PATH="${pc%/*}"
# shellcheck disable=SC2016 # backquotes
sed -n '/^```$/,/^```$/{/^```$/!p}' "$here/README.md" >"$work/lines"
if [ -s "$work/lines" ] && (cd "$work/tree/examples" && sh -eu "$work/lines") >"$work/log" 2>&1; then
    echo 'ok 1 - the lines of README.md encrypt a folder, and open it again'
else
    echo 'not ok 1 - the lines of README.md encrypt a folder, and open it again'
    sed 's/^/# /' "$work/lines" "$work/log"
    exit 1
fi
