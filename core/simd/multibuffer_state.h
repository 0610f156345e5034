/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of multi-buffer code: see multibuffer.h for the terms (job, lane, step, batch, segment).
 *
 * Where things lie. Zen 4 takes a load for a match of an earlier store if their addresses are equal
 * modulo 4096 (4K aliasing), and lets it wait. The output of a step is stored only when its rounds
 * end, so nothing that is loaded beside the rounds may alias it. Each layout below says how it sees
 * to that.
 */
#ifndef TR_SIMD_MULTIBUFFER_STATE_H
#define TR_SIMD_MULTIBUFFER_STATE_H

#include "dispatch/backend.h"
#include "simd/cleanse.h"
#include "simd/vector.h"
#include "util.h"

/* Whether there is multi-buffer code: its state takes up to 17 KiB of stack. */
#if V_MULTIBUFFER && TR_ENV_LARGE_STACK
#    define MULTIBUFFER 1
#else
#    define MULTIBUFFER 0
#endif

#if MULTIBUFFER
/*
 * Vectors that go through the rounds together, usually and at most, and round keys that stay in
 * registers: those that all lanes share, and those of each vector where lanes have keys of their
 * own. Measured on Zen 4.
 */
#    if VBLOCKS == 4 && V_REGISTERS == 32
#        define MB_VECTORS_NARROW 4
#        define MB_VECTORS        6
#        define MB_KEYS_HELD      15
#        define MB_OWN_KEYS_HELD  5
#    elif VBLOCKS == 4
#        define MB_VECTORS_NARROW 4
#        define MB_VECTORS        4
#        define MB_KEYS_HELD      0
#        define MB_OWN_KEYS_HELD  0
#    else
#        define MB_VECTORS_NARROW IN_FLIGHT
#        define MB_VECTORS        IN_FLIGHT
#        define MB_KEYS_HELD      (IN_FLIGHT == 8 ? 5 : 0)
#        define MB_OWN_KEYS_HELD  0
#    endif
#    define MB_HELD 24u /* at least MB_KEYS_HELD, and MB_OWN_KEYS_HELD for each vector */

#    define MB_LANES        (MB_VECTORS * VBLOCKS)
#    define MB_LANES_NARROW (MB_VECTORS_NARROW * VBLOCKS)

#    define MB_STEPS       4u
#    define MB_BATCH_BYTES (MB_STEPS * TR_BLOCK)

/* Batches for which idle lanes go on at a time: they write to mb.nowhere. */
#    define MB_IDLE_BATCHES 16u

/*
 * Rows of multibuffer_rows.h: input of two batches, output of two batches, and a row for each round
 * key.
 */
#    define MB_ROWS (2 * MB_STEPS + 2 * MB_STEPS + 15u)

/*
 * A buffer's address less the bytes from the start of the call to its job's start. It is computed
 * from integers, because it may lie before the buffer, and used only with an offset. As an integer
 * type it costs an instruction an access (gcc 12).
 */
typedef uint8_t *mb_base;

struct multibuffer {
#    if VBLOCKS == 4
    /*
     * multibuffer_lines.h: the input of a batch aliases the output of the batch before, which is
     * stored already. All else that is loaded lies in the rest of the page.
     */
    union {
        struct {
            uint8_t out_batch[2][MB_LANES * MB_BATCH_BYTES]; /* of even batches, of odd ones */
            mb_base in[MB_LANES], out[MB_LANES], none[MB_LANES];
            const uint8_t *from[MB_LANES]; /* chaining values */
            mb_base lines[MB_LANES]; /* of out_batch[0]; those of in_batch are MB_PAGE behind */
        };
        uint8_t page[4096];
    };
    union {
        struct {
            uint8_t in_batch[2][MB_LANES * MB_BATCH_BYTES]; /* of odd batches, of even ones */
            uint8_t shared[15][VBYTES];                     /* round keys of all lanes */
            uint8_t chain[MB_VECTORS][VBYTES];
        };
        uint8_t page_too[4096 + 1280];
    };
    uint8_t own_keys[15][MB_LANES_NARROW * TR_BLOCK];
#    else
    uint8_t shared[15][VBYTES]; /* round keys of all lanes */
    uint8_t chain[MB_VECTORS][VBYTES];
    uint8_t rows[MB_ROWS * MB_LANES_NARROW * TR_BLOCK]; /* see multibuffer_rows.h */
    mb_base in[MB_LANES], out[MB_LANES], none[MB_LANES];
    const uint8_t *from[MB_LANES]; /* chaining values */
#    endif
    uint8_t tail[MB_LANES][MB_BATCH_BYTES]; /* padded input of a lane's last batch */
    uint8_t nowhere[MB_IDLE_BATCHES * MB_BATCH_BYTES];
    mb_base cut_in[MB_LANES], cut_out[MB_LANES]; /* in and out for the last batch of a segment */
    const mb_base *last_in, *last_out;           /* these, or in and out */
    size_t end[MB_LANES]; /* the batch at which the lane's job ends; SIZE_MAX: idle */
    const struct tr_job *job[MB_LANES];
    const struct tr_aes_key *key;
    const struct tr_job *next, *behind; /* jobs that have not begun */
    size_t now;                         /* batches from the start of the call */
    size_t first_end;                   /* where the first job ends, */
    unsigned first, busy;               /* in which lane, and the number of lanes with a job */
    unsigned half;          /* the half of the output buffers that holds the last batch */
    unsigned lanes, widest; /* in use, and at most in this call: MB_LANES or MB_LANES_NARROW */
    int own, tails;         /* jobs' keys differ; some jobs' lengths are no whole batches */
} TR_ALIGNED(64);

#    define MB_PAGE 4096u /* from out_batch to in_batch */

TR_INLINE TR_TARGET void mb_broadcast_keys(struct multibuffer *m, const struct tr_aes_key *key)
{
    for (unsigned r = 0; !m->own && r <= key->rounds; r++)
        v_store(m->shared[r], v_load_all(key->enc[r]));
}

/*
 * The base of a buffer whose first byte is at this batch, and the address at an offset from a base.
 */
TR_INLINE mb_base mb_base_of(const uint8_t *p, size_t batch)
{
    return (mb_base)((uintptr_t)p - batch * MB_BATCH_BYTES);
}
TR_INLINE uint8_t *mb_at(mb_base base, size_t offset)
{
    return base + offset;
}

/* Keeps x in a register, and this statement in its place among others like it. */
#    define MB_IN_ORDER(x) __asm__ volatile("" : "+" V_REGISTER(x)::"memory")
#endif

#endif
