#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Tests what scripts/install writes, records and removes: install.sh SCRIPTS
#
# The staged tool is a fake, which writes its arguments to a file and disables nothing; the tests of
# the tool (tool/tests/cli/system.rs) uninstall while tenrounds is enabled.
set -u
scripts=$1
. "$(dirname -- "$0")/tap.sh"
export HOME="$dir/home"
unset SUDO_UID XDG_CONFIG_HOME XDG_STATE_HOME
# Stubs of id and of ldconfig, whose cache is the file of that name. It has no line for a folder if
# there is a file "elsewhere".
mkdir "$dir/stubs"
export PATH="$dir/stubs:$PATH" dir
cat >"$dir/stubs/id" <<'END'
#!/bin/sh
cat "$dir/uid"
END
cat >"$dir/stubs/ldconfig" <<'END'
#!/bin/sh
[ "$*" != -p ] || exec cat "$dir/cache"
ls "$dir"/prefix/lib/*.so.2 2>/dev/null | sed 's|.*/\(.*\)|    \1 (libc6,x86-64) => &|' >"$dir/cache"
[ ! -e "$dir/elsewhere" ] || : >"$dir/cache"
END
chmod 755 "$dir/stubs/id" "$dir/stubs/ldconfig"
manifest=$dir/prefix/share/tenrounds/manifest

# stage VERSION: a staged tree with the layout that make produces.
stage() {
    rm -rf "$dir/dist"
    mkdir -p "$dir/dist/bin" "$dir/dist/lib/ossl-modules" "$dir/dist/share/man/man1"
    printf '#!/bin/sh\n# %s\n%s\n' "$1" "echo \"\$@\" >>$dir/tool" >"$dir/dist/bin/tenrounds"
    chmod 755 "$dir/dist/bin/tenrounds"
    echo "module $1" >"$dir/dist/lib/ossl-modules/tenrounds.so"
    echo library >"$dir/dist/lib/libtenrounds.so.2"
    ln -s libtenrounds.so.2 "$dir/dist/lib/libtenrounds.so"
    echo page >"$dir/dist/share/man/man1/tenrounds-$1.1"
}
# before: a prefix in which files lie already.
before() {
    unset XDG_STATE_HOME
    rm -rf "$dir/prefix" "$dir/tool"
    : >"$dir/cache"
    echo 0 >"$dir/uid"
    mkdir -p "$dir/prefix/lib" "$dir/prefix/share/man/man1" "$dir/home"
    chmod 2775 "$dir/prefix/lib"
    echo other >"$dir/prefix/share/man/man1/other.1"
    tree >"$dir/before"
}
tree() { (cd "$dir/prefix" && find . -printf '%y %m %p %l\n' | LC_ALL=C sort); }
install_it() { sh "$scripts/install" "$dir/dist" "$dir/prefix"; }
uninstall() { sh "$scripts/install" --remove "$dir/dist" "$dir/prefix" >"$dir/out" 2>&1; }
as_before() { tree | diff "$dir/before" -; }
refused() { # WORDS
    ! uninstall || return 1
    cat "$dir/out"
    grep -qF 'nothing was removed' "$dir/out" && grep -qF -- "$1" "$dir/out" && [ -x "$dir/prefix/bin/tenrounds" ]
}

recorded() {
    stage 1 && before && install_it && cat "$manifest" &&
        grep -qx "file $(sha256sum <"$dir/dist/bin/tenrounds" | cut -d ' ' -f 1) bin/tenrounds" "$manifest" &&
        grep -qx 'link libtenrounds.so.2 lib/libtenrounds.so' "$manifest" &&
        grep -qx 'dir - share/tenrounds' "$manifest" && ! grep -x 'dir - share' "$manifest" &&
        [ "$(grep -c '^file\|^link' "$manifest")" -eq "$(find "$dir/dist" ! -type d | wc -l)" ]
}
modes_kept() { [ "$(stat -c %a "$dir/prefix/lib")" = 2775 ]; }
modes_set() {
    stage 1 && before && chmod 700 "$dir/dist/bin" && chmod 600 "$dir/dist/lib/libtenrounds.so.2" &&
        (umask 077 && install_it) && tree && [ "$(stat -c %a "$dir/prefix/bin")" = 755 ] &&
        [ "$(stat -c %a "$dir/prefix/lib/libtenrounds.so.2")" = 644 ] && [ "$(stat -c %a "$manifest")" = 644 ]
}
removed() { stage 1 && before && install_it && uninstall && as_before; }
enabled_by() { # PREFIX: as 'tenrounds enable' of that prefix leaves a home
    mkdir -p "$HOME/.config/tenrounds"
    echo "module = $1/lib/ossl-modules/tenrounds.so" >"$HOME/.config/tenrounds/openssl.cnf"
}
disabled_first() {
    stage 1 && before && install_it && enabled_by "$dir/prefix" && uninstall && as_before && grep -qx disable "$dir/tool"
}
disabled_by_state() {
    stage 1 && before && install_it && rm -rf "$HOME/.config" && mkdir -p "$HOME/.local/state/tenrounds" &&
        echo '"scope": "user",' >"$HOME/.local/state/tenrounds/enabled.json" && uninstall &&
        rm -r "$HOME/.local" && grep -qx disable "$dir/tool"
}
# A staged jar, and a tool that writes which state it was given.
# shellcheck disable=SC2016 # for the tool's shell
stage_jar() {
    stage 1 && mkdir "$dir/dist/share/java" && touch "$dir/dist/share/java/tenrounds.jar" &&
        printf 'echo "$* ${XDG_STATE_HOME-by default}" >>%s\n' "$dir/states" >>"$dir/dist/bin/tenrounds" && before &&
        rm -f "$dir/states" && install_it
}
jdks_are() { # STATE...: those whose JDKs were disabled, in this order
    for state; do echo "disable --jar $dir/prefix/share/java/tenrounds.jar $state"; done >"$dir/wanted"
    grep -e --jar "$dir/states" | diff - "$dir/wanted"
}
jdks_disabled() { stage_jar && uninstall && as_before && jdks_are 'by default'; }
jdks_of_both_states() {
    stage_jar && mkdir -p "$dir/state/tenrounds" && touch "$dir/state/tenrounds/enabled.json" &&
        export XDG_STATE_HOME="$dir/state" && uninstall && jdks_are "$dir/state" 'by default'
}
jdks_of_a_user() {
    stage_jar && echo 1000 >"$dir/uid" && export XDG_STATE_HOME="$dir/state" && uninstall && jdks_are "$dir/state"
}
no_jdks_of_a_user() {
    stage_jar && echo 1000 >"$dir/uid" && (unset HOME && uninstall) && as_before && jdks_are
}
jdks_keep_the_jar() {
    stage_jar &&
        printf 'case $* in *--jar*) echo refused && exit 1 ;; esac\n' >>"$dir/dist/bin/tenrounds" && refused refused
}
another_stays() {
    stage 1 && before && install_it && enabled_by /opt/other && uninstall && ! grep disable "$dir/tool"
}
new_prefix() {
    stage 1 && before && rm -r "$dir/prefix" && install_it && uninstall && cat "$dir/out" && [ ! -e "$dir/prefix" ]
}
without_tree() {
    stage 1 && before && install_it && enabled_by "$dir/prefix" && rm -rf "$dir/dist" && uninstall && as_before &&
        grep -qx disable "$dir/tool"
}
upgraded() {
    stage 1 && before && install_it && stage 2 && install_it && tree &&
        [ ! -e "$dir/prefix/share/man/man1/tenrounds-1.1" ] && [ -e "$dir/prefix/share/man/man1/tenrounds-2.1" ] &&
        ! grep tenrounds-1.1 "$manifest" && uninstall && as_before
}
changed_stays() {
    stage 1 && before && install_it && echo changed >"$dir/prefix/lib/libtenrounds.so.2" && uninstall &&
        cat "$dir/out" && grep -qF "$dir/prefix/lib/libtenrounds.so.2" "$dir/out" &&
        [ "$(cat "$dir/prefix/lib/libtenrounds.so.2")" = changed ] && rm "$dir/prefix/lib/libtenrounds.so.2" && as_before
}
unknown_stays() {
    stage 1 && before && install_it && echo own >"$dir/prefix/lib/ossl-modules/own.so" && uninstall && tree &&
        [ -e "$dir/prefix/lib/ossl-modules/own.so" ] && [ ! -e "$dir/prefix/lib/ossl-modules/tenrounds.so" ]
}
interrupted() {
    stage 1 && before && install_it && rm "$dir/prefix/bin/tenrounds" "$dir/prefix/lib/libtenrounds.so" &&
        uninstall && as_before
}
no_manifest() { stage 1 && before && install_it && rm "$manifest" && refused "there is no $manifest"; }
damaged() { # LINE
    stage 1 && before && install_it && echo "$1" >>"$manifest" && refused "$1" && [ -e "$dir/home" ]
}
image() {
    stage 1 && before && rm -rf "$dir/image" && sh "$scripts/install" "$dir/dist" /usr/local "$dir/image" &&
        [ -x "$dir/image/usr/local/bin/tenrounds" ] && ! grep "$dir" "$dir/image/usr/local/share/tenrounds/manifest" &&
        sh "$scripts/install" --remove "$dir/dist" /usr/local "$dir/image" && [ ! -e "$dir/image/usr/local" ]
}
library_found() {
    stage 1 && before && install_it >"$dir/out" 2>&1 && grep -F "=> $dir/prefix/lib/libtenrounds.so.2" "$dir/cache" &&
        ! grep LD_LIBRARY_PATH "$dir/out" && uninstall && ! grep . "$dir/cache"
}
library_not_found() { # UID
    stage 1 && before && echo "$1" >"$dir/uid" && install_it >"$dir/out" 2>&1 && cat "$dir/out" &&
        grep -qxF "  export LD_LIBRARY_PATH=$dir/prefix/lib" "$dir/out" && ! grep . "$dir/cache"
}
library_elsewhere() {
    touch "$dir/elsewhere" && library_not_found 0 && rm "$dir/elsewhere"
}
image_has_own_cache() { image >"$dir/out" 2>&1 && ! grep . "$dir/cache" && ! grep LD_LIBRARY_PATH "$dir/out"; }
not_built() {
    before && rm -rf "$dir/dist" && ! install_it 2>"$dir/out" && grep -q 'run make first' "$dir/out" && as_before
}

result 'installing records every file, link and new directory' recorded
result 'directories that were there keep their modes' modes_kept
result "the builder's umask does not reach what is installed" modes_set
result 'uninstalling leaves the prefix as it was before' removed
result 'it disables tenrounds first' disabled_first
result 'so it does if only the state tells that it is enabled' disabled_by_state
result 'what another prefix enabled stays' another_stays
result 'the JDKs that use its jar are disabled first' jdks_disabled
result "root's own state and the system's are undone" jdks_of_both_states
result "a user's state is undone" jdks_of_a_user
result 'a user without a state needs no HOME' no_jdks_of_a_user
result 'if one of them cannot be, nothing is removed' jdks_keep_the_jar
result 'a prefix that did not exist is removed' new_prefix
result 'uninstalling needs no build tree' without_tree
result 'an upgrade removes the files that only the old version had' upgraded
result 'a file that has changed since stays, and is named' changed_stays
result 'a file that was not installed stays' unknown_stays
result 'a half removed installation can be removed' interrupted
result 'without a manifest nothing is removed' no_manifest
result 'with a path that leaves the prefix nothing is removed' damaged "dir - ../home"
result 'with an absolute path nothing is removed' damaged "file 00 $dir/home"
result 'with an unknown line nothing is removed' damaged 'nonsense'
result 'an image at DESTDIR is independent of its place' image
result 'root updates the cache of the dynamic linker, after removing, too' library_found
result 'a user is told that programs do not find the library' library_not_found 1000
result 'so is root, if the dynamic linker does not look there' library_elsewhere
result 'an image at DESTDIR has its own cache' image_has_own_cache
result 'without a build nothing is installed' not_built
planned
