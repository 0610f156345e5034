/* SPDX-License-Identifier: BSD-2-Clause */
/* Marks secrets for two checkers. Under valgrind, secrets are undefined memory, and memcheck
 * reports each branch and each address that depends on a secret (A. Langley's ctgrind). The
 * tracker, crates/taint, answers the same client requests as valgrind. It also follows the
 * instructions that valgrind does not know. */
#ifndef TR_TESTS_SECRETS_H
#define TR_TESTS_SECRETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <valgrind/memcheck.h>

static inline void secret(void *p, size_t len)
{
    VALGRIND_MAKE_MEM_UNDEFINED(p, len);
}

static inline void published(void *p, size_t len)
{
    VALGRIND_MAKE_MEM_DEFINED(p, len);
}

/* Returns the number of checker reports so far. Each report is a branch or an address that depends
 * on a secret. */
static inline unsigned uses_of_secrets(void)
{
    return VALGRIND_COUNT_ERRORS;
}

/* Requests that only the tracker answers (crates/taint/src/request.rs). */
#define TAINT_PRESENT 0x54410000
#define TAINT_TRACE   0x54410001

/* Whether the tracker runs this program. */
static inline bool by_tracker(void)
{
    return VALGRIND_DO_CLIENT_REQUEST_EXPR(0, TAINT_PRESENT, 0, 0, 0, 0, 0) != 0;
}

/* Returns a hash of the addresses of all executed instructions and accessed data since the last
 * call. Returns 0 under valgrind. */
static inline uint64_t path_so_far(void)
{
    return VALGRIND_DO_CLIENT_REQUEST_EXPR(0, TAINT_TRACE, 0, 0, 0, 0, 0);
}

/* Between aside_begin() and aside_end(), the program must not use secrets. To save time, the
 * tracker does not follow this part. Memory that was secret before therefore stays secret, even if
 * this part overwrites it. Do not inline a function that calls aside_begin(): the inlined part
 * could spill the caller's pointers to memory that still counts as secret. */
static inline void aside_begin(void)
{
    VALGRIND_DISABLE_ERROR_REPORTING;
}

static inline void aside_end(void)
{
    VALGRIND_ENABLE_ERROR_REPORTING;
}

#endif
