/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiles portable/loops.h alone (scripts/lint), with its parameters. */
#define NAME(name) name
#define BLOCKS     4
#define OWN_SERIAL 0
struct schedule {
    unsigned round, used;
};
#define prepare(sk, key, inverse, blocks)                                                          \
    ((sk)->used = (key)->rounds != 0, (void)(inverse), (void)(blocks))
#define part(blocks)      (blocks)
#define encrypt(sk, b, n) ((void)(sk), (void)(b), (void)(n))
#define decrypt(sk, b, n) encrypt(sk, b, n)
#include "portable/loops.h"
