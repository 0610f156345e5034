/* SPDX-License-Identifier: BSD-2-Clause */
/* The parameters of portable/loops.h. */
#define BLOCKS     4
#define OWN_SERIAL 0
struct schedule {
    unsigned rounds;
};
#define prepare(sk, key, inverse) ((sk)->rounds = (key)->rounds, (void)(inverse))
#define encrypt(sk, b, n)         ((void)(sk), (void)(b), (void)(n))
#define decrypt(sk, b, n)         encrypt(sk, b, n)
#include "portable/loops.h"
