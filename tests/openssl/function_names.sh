#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# function_names.sh OBJECT-FOLDER...: checks the functions' names in the object files of a module,
# because profilers and debuggers show these names. Each name must have the prefix of a library, or
# the mode or the topic of its file. No two files may have functions of the same name.
set -eu
echo 1..3

# functions OBJECT: its functions, without the parts into which the compiler splits them, and without
# those that it adds to each object (__x86.get_pc_thunk.bx on 32-bit x86).
functions() { nm "$1" | sed -n '/ __x86\./d; s/^[0-9a-f]* [tT] \([A-Za-z0-9_]*\).*/\1/p' | sort -u; }

# words FILE: what the names of the functions in this file may contain, a regular expression.
words() {
    case $1 in
    cipher* | plain) echo 'ecb|cbc|cfb|ofb|ctr|block|stream|cipher|plain' ;;
    engine) echo 'engine|v_check' ;;
    gcm_siv) echo gcm_siv ;;
    pipeline) echo pipe ;;
    skeymgmt) echo skey ;;
    *) echo "${1%%_*}" ;;
    esac
}

# names FOLDER...: the names of all functions, a line for each object file that has one.
names() {
    find "$@" -name '*.o' | while read -r object; do functions "$object"; done
}

# unclear FOLDER...: the names that say neither library nor mode nor topic, with their files.
unclear() {
    find "$@" -name '*.o' | while read -r object; do
        file=${object##*/}
        file=${file%.c.o}
        file=${file#common_}
        functions "$object" | grep -vE "^(tr|trp|tre|trossl)_|$(words "$file")" |
            sed "s|\$| of $file.c|" || :
    done
}

# result STATUS NAME EVIDENCE
result() {
    if [ "$1" -eq 0 ]; then
        echo "ok $2"
    else
        echo "not ok $2"
        printf '%s\n' "$3" | sed 's/^/# /'
    fi
}

all=$(names "$@")
result "$(($(echo "$all" | wc -l) < 50))" '1 - the object files have functions' "$all"

unclear=$(unclear "$@")
[ -z "$unclear" ] && clear=0 || clear=1
result "$clear" '2 - each function names its mode or topic' "$unclear"

twice=$(echo "$all" | sort | uniq -d)
[ -z "$twice" ] && unique=0 || unique=1
result "$unique" '3 - no name is there twice' "$twice"
