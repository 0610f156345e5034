/* SPDX-License-Identifier: BSD-2-Clause */
/* Compiles portable/sliced.h alone (scripts/lint), with its parameters. */
#include <stdint.h>

#define WORD              uint64_t
#define TR_TARGET         /* none */
#define rows_up(x, n, r)  ((void)(r), (x) >> 16 * (n) | (x) << 16 * (4 - (n)))
#define shift_rows(q)     ((void)(q))
#define inv_shift_rows(q) ((void)(q))
#include "portable/sliced.h"
