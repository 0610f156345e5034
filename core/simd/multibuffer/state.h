/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of multi-buffer code. The terms job, lane, step, batch and segment are defined in
 * multibuffer/multibuffer.h.
 *
 * The layout avoids 4K aliasing: Zen 4 delays a load whose address equals an earlier store's
 * address modulo 4096. A step stores its output only after its rounds. During these rounds, the
 * processor already executes later loads. A load that aliases the step's output would wait for the
 * store. The comments on the two layouts, below and in multibuffer/rows.h, name the exceptions.
 */
#ifndef TR_SIMD_MULTIBUFFER_STATE_H
#define TR_SIMD_MULTIBUFFER_STATE_H

#include "dispatch/backend.h"
#include "simd/cleanse.h"
#include "simd/table.h"
#include "util.h"

#if MULTIBUFFER
/*
 * The shapes of a step, chosen by measurements on Zen 4. MB_WIDTHS for vectors of 1 or 2 blocks was
 * chosen on Zen 3.
 *
 *   MB_WIDTHS           X(vectors, index, other arguments) for each possible number of vectors in a
 *                       step, the largest first
 *   MB_OWN_WIDTHS       as MB_WIDTHS, if jobs' keys differ (multibuffer/lines.h)
 *   MB_VECTORS          the most vectors in a step
 *   MB_VECTORS_NARROW   the most vectors in a step if jobs' keys differ
 *   MB_VECTOR_CYCLES    if VBLOCKS < 4: cycles for each vector of a throughput-bound step; the
 *                       argument says whether jobs' keys differ
 */
#    if VBLOCKS == 4
#        define MB_VECTORS_NARROW     4
#        define MB_VECTORS            6
#        define MB_WIDTHS(X, ...)     X(6, 0, __VA_ARGS__) X(4, 1, __VA_ARGS__)
#        define MB_OWN_WIDTHS(X, ...) X(4, 1, __VA_ARGS__)
#    else
#        define MB_VECTORS_NARROW IN_FLIGHT
#        define MB_VECTORS        IN_FLIGHT
#        if VBLOCKS == 2 && IN_FLIGHT == 8
#            define MB_WIDTHS(X, ...) X(8, 0, __VA_ARGS__) X(6, 1, __VA_ARGS__) X(4, 2, __VA_ARGS__)
#        elif IN_FLIGHT == 8
#            define MB_WIDTHS(X, ...) X(8, 0, __VA_ARGS__) X(4, 1, __VA_ARGS__)
#        else
#            define MB_WIDTHS(X, ...) X(IN_FLIGHT, 0, __VA_ARGS__)
#        endif
#        define MB_VECTOR_CYCLES(own) ((VBLOCKS == 2 ? 10u : 7u) + 2u * (own))
#    endif

/* The number of vectors of each width, the widest first. */
#    define MB_COUNT(vectors, width, unused) vectors,
static const uint8_t mb_widths[] = {MB_WIDTHS(MB_COUNT, )};
#    define MB_WIDTH_COUNT (sizeof(mb_widths) / sizeof(mb_widths[0]))

#    define MB_LANES        (MB_VECTORS * VBLOCKS)
#    define MB_LANES_NARROW (MB_VECTORS_NARROW * VBLOCKS)

#    define MB_STEPS       4u /* tr_jobs_add() assumes this number, too */
#    define MB_BATCH_BYTES (MB_STEPS * TR_BLOCK)

/* Rows of multibuffer/rows.h: input of two batches, output of two batches, and the round keys. */
#    define MB_ROWS (2 * MB_STEPS + 2 * MB_STEPS + 15u)

/*
 * The base of a lane. All lanes use the same offset, which counts the bytes of one lane from the
 * start of the call. The first byte of a job that starts at offset s is at base + s. So the base is
 * the address of the job's buffer minus s. A base may lie before the buffer, so mb_base_of()
 * computes the base as an integer. The function mb_at() adds an offset before any access. The type
 * is still a pointer, because an integer type would cost an instruction for each access (gcc 12).
 */
typedef uint8_t *mb_base;

struct multibuffer {
#    if VBLOCKS == 4
    /* The layout of multibuffer/lines.h: the input of a batch aliases only the output of the
     * previous batch, which is already stored. The rounds' other loads do not alias out_batch
     * either (have other addresses modulo 4096). The exceptions are round keys 11 to 14
     * of own_keys, and `tail`; at the largest width also cut_in, cut_out and the pointers after
     * them. Round keys 1 to 4 of own_keys would be exceptions, but stay in registers. */
    union {
        struct {
            uint8_t out_batch[2][MB_LANES * MB_BATCH_BYTES]; /* even batches, odd batches */
            /* For each lane, the bases of its input and output, and the base of `nowhere`. */
            mb_base in[MB_LANES], out[MB_LANES], none[MB_LANES];
            const uint8_t *from[MB_LANES]; /* chaining values */
            /* A lane's line of out_batch[0]; adding MB_PAGE gives its line of in_batch[0]. */
            mb_base lines[MB_LANES];
        };
        uint8_t page[4096];
    };
    union {
        struct {
            uint8_t in_batch[2][MB_LANES * MB_BATCH_BYTES]; /* odd batches, even batches */
            uint8_t chain[MB_VECTORS][VBYTES];
        };
        uint8_t page_too[4096 + 1280];
    };
    uint8_t own_keys[15][MB_LANES_NARROW * TR_BLOCK];
#    else
    uint8_t chain[MB_VECTORS][VBYTES];
    uint8_t rows[MB_ROWS * MB_LANES_NARROW * TR_BLOCK]; /* see multibuffer/rows.h */
    mb_base in[MB_LANES], out[MB_LANES]; /* the bases of each lane's input and output */
    const uint8_t *from[MB_LANES];       /* chaining values */
#    endif
    uint8_t tail[MB_LANES][MB_BATCH_BYTES]; /* copies of partial last batches: see mb_cut() */
    uint8_t nowhere[MB_BATCH_BYTES];        /* takes output that no job receives */
    /* The bases for the last batch of a segment, if it is partial for some job: see mb_cut(). */
    mb_base cut_in[MB_LANES], cut_out[MB_LANES];
    /* The bases to use for the last batch: cut_in and cut_out, or `in` and `out`. */
    const mb_base *last_in, *last_out;
    /* For each lane, the first batch after its job, or SIZE_MAX if the lane is idle. */
    size_t end[MB_LANES];
    const struct tr_job *job[MB_LANES];
    const struct tr_aes_key *key;
    /* The first of the jobs that have not begun, and the end of the list of jobs. */
    const struct tr_job *next, *behind;
    size_t now;       /* batches since the start of the call */
    size_t first_end; /* the smallest of end[] */
    /* The lane whose job ends first, and the number of lanes with a job. */
    unsigned first, busy;
    unsigned half;          /* the half of the output buffers that has the last batch, 0 or 1 */
    unsigned lanes, widest; /* lanes in use now, and at the start of the call */
    unsigned width;         /* the index in MB_WIDTHS for these lanes */
    /* Whether the jobs' keys differ, and whether some jobs end with a partial batch. */
    int own, tails;
    int deep; /* whether any segment had more than one batch */
} TR_ALIGNED(64);

#    define MB_PAGE 4096u /* bytes from out_batch to in_batch */

/* mb_base_of() returns the base of a buffer whose job starts at `batch`. mb_at() returns the
 * address at an offset from a base. */
TR_INLINE mb_base mb_base_of(const uint8_t *p, size_t batch)
{
    return (mb_base)((uintptr_t)p - batch * MB_BATCH_BYTES);
}
TR_INLINE uint8_t *mb_at(mb_base base, size_t offset)
{
    return base + offset;
}

/* Keeps x in a register. The compiler does not reorder the uses of this macro. */
#    define MB_IN_ORDER(x) __asm__ volatile("" : "+" V_REGISTER(x)::"memory")
#endif

#endif
