#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Tests what packaging/fleet/rollout leaves and says after a failure: rollout.sh FLEET
#
# The packages and the tool are fakes that note in $dir/machine what they did. scripts/check-packages
# has the real ones.
set -u
fleet=$1
. "$(dirname -- "$0")/tap.sh"
machine=$dir/machine bin=$dir/bin
export machine bin
PATH=$bin:$PATH

# fake NAME: a program from standard input.
fake() {
    { echo '#!/bin/sh' && cat; } >"$bin/$1"
    chmod 755 "$bin/$1"
}
# bare: a machine without tenrounds.
bare() {
    rm -rf "$machine" "$bin"
    mkdir "$machine" "$bin"
    fake id <<'END'
cat "$machine/user" 2>/dev/null || echo 0
END
    fake dpkg-query <<'END'
for name; do :; done
[ ! -e "$machine/package-$name" ] || echo 'installed 1'
END
    fake dpkg <<'END'
[ "$1" = --purge ] && [ ! -e "$machine/no-purge" ] || exit 1
shift
for name; do rm "$machine/package-$name"; done
rm "$bin/tenrounds"
END
    fake apt-get <<'END'
touch "$machine/package-tenrounds" "$machine/package-openssl-provider-tenrounds"
cp "$bin/the-tool" "$bin/tenrounds"
END
    fake the-tool <<'END'
case $1 in
enable) touch "$machine/enabled" ;;
disable) [ ! -e "$machine/no-disable" ] && rm "$machine/enabled" ;;
status)
    enabled=0
    [ ! -e "$machine/enabled" ] || enabled=1
    case ${2-} in
    --json) echo "\"outcome\": \"enabled-$enabled\"" ;;
    --prometheus) echo "tenrounds_configuration_enabled{scope=\"system\",path=\"/etc\"} $enabled" ;;
    esac
    ;;
esac
END
}
# ends STATUS LAST ARGUMENT...: rollout ends with this status and this last line.
ends() {
    expected=$1 last=$2
    shift 2
    sh "$fleet/rollout" "$@" >"$dir/out" 2>"$dir/err"
    is=$?
    cat "$dir/err" "$dir/out"
    [ "$is" -eq "$expected" ] && [ "$(tail -n 1 "$dir/out")" = "tenrounds: $last" ]
}
is_there() { [ -e "$machine/enabled" ] && [ -e "$machine/package-tenrounds" ] && [ -e "$bin/tenrounds" ]; }
is_bare() { [ ! -e "$machine/enabled" ] && [ ! -e "$machine/package-tenrounds" ]; }
rolled_out() { bare && ends 0 changed --verify true && is_there; }

again() { rolled_out && ends 0 unchanged && is_there; }
first_fails() { bare && ends 1 'rolled back' --verify false && is_bare; }
second_fails() {
    rolled_out && ends 1 failed --verify false && is_there && grep -q 'enabled before this run, so it stays' "$dir/err"
}
installed_only() { rolled_out && rm "$machine/enabled" && ends 1 'rolled back' --verify false && [ ! -e "$machine/enabled" ]; }
undone() { rolled_out && ends 0 changed --undo && is_bare && ends 0 unchanged --undo; }
no_disable() { bare && touch "$machine/no-disable" && ends 1 failed --verify false && is_there; }
no_purge() { bare && touch "$machine/no-purge" && ends 1 failed --verify false && [ ! -e "$machine/enabled" ]; }
undo_refused() {
    rolled_out && touch "$machine/no-purge" && ends 1 failed --undo && [ -e "$machine/package-tenrounds" ] &&
        rolled_out && touch "$machine/no-disable" && ends 1 failed --undo && is_there
}
not_started() {
    bare && ends 2 failed --wrong && ends 2 failed --verify && ends 2 failed "$dir/none.deb" &&
        echo 1000 >"$machine/user" && ends 1 failed && is_bare
}

result 'rolled out, and nothing changes the second time' again
result 'a failed verification on the first run is rolled back' first_fails
result 'tenrounds that was enabled before stays when a later verification fails' second_fails
result 'packages that were there before stay, and tenrounds is disabled' installed_only
result 'undone' undone
result 'a failure that cannot be undone is none that was rolled back: disable' no_disable
result 'a failure that cannot be undone is none that was rolled back: purge' no_purge
result 'an undo that is refused has failed' undo_refused
result 'the last line is there if nothing was tried' not_started
planned
