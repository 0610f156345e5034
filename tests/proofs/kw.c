/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Proves key wrap (core/modes/kw.c): no access beyond the buffers, and the documented error for an
 * invalid length. The output is untouched on this error, and zero on a wrong integrity check value.
 * The plaintext of KWP is 0 to 7 bytes shorter than the padded plaintext. The proofs cover wrapping
 * of up to LONGEST bytes, unwrapping of up to LONGEST + 8 bytes, and all invalid lengths. The input
 * lies in another object than the output, or begins up to 8 bytes before or after the output.
 *
 * proof_kwp_unwrap detects this mutation: `~15ull` for `~7ull` in kwp_is_right().
 *
 * CBMC: --no-array-field-sensitivity --unwind 8 --unwindset tr_equal.0:10
 */
#include <string.h>

#define LONGEST 24u
#include "proof.h"

static size_t stub_bulk(const struct tr_aes_key *aes, enum tr_op op, uint8_t *out,
                        const uint8_t *in, size_t blocks, void *state)
{
    assert(op == TR_OP_ECB_ENCRYPT || op == TR_OP_ECB_DECRYPT);
    return stub_plain(aes, out, in, blocks, state);
}

#include "modes/kw.c"

#define LIMIT_LEN 0x80000000u
#define ROOM      (LONGEST + 8u) /* the longest wrapped text */

static struct tr_aes_key key;
static uint8_t in_memory[ROOM], out_memory[ROOM + 16u], memory_before[ROOM + 16u], icv[8];
static uint8_t *in, *out;
static size_t len, out_len;

/* Chooses a length: at most `most`, or any invalid length. The output's length is that of the
 * input, rounded up to a multiple of 8, plus `more`. */
static void begin(size_t shortest, size_t most, size_t unit, int more, size_t too_long)
{
    key.backend = nondet_bool() ? &stub : NULL;
    len = nondet_size();
    ASSUME(len <= most || len % unit != 0 || len >= too_long);
    const bool valid = len <= most && len >= shortest && len % unit == 0;
    out_len = valid ? (len + 7) / 8 * 8 + (size_t)more : 0;
    /* The output and the input begin near the first byte of their object, or end at the last. */
    const size_t out_at = nondet_bool() ? sizeof(out_memory) - out_len : any_up_to(8);
    const size_t in_at = nondet_bool() && valid ? ROOM - len : 0;
    const size_t shift = any_up_to(16), overlapping = out_at + shift - 8;
    out = out_memory + out_at;
    in = in_memory + in_at;
    if (valid && nondet_bool()) {
        ASSUME(out_at + shift >= 8 && overlapping + len <= sizeof(out_memory));
        in = out_memory + overlapping;
    }
    __CPROVER_havoc_object(in_memory);
    __CPROVER_havoc_object(out_memory);
    memcpy(memory_before, out_memory, sizeof(out_memory));
}

static void ends(enum tr_status status, bool valid_len, bool may_be_wrong)
{
    const size_t i = any_up_to(sizeof(out_memory) - 1);
    const uint8_t *p = out_memory + i;
    const bool inside = p >= out && p < out + out_len;
    if (key.backend == NULL)
        assert(status == TR_ERR_STATE);
    else if (!valid_len)
        assert(status == TR_ERR_LENGTH);
    else
        assert(status == TR_OK || (may_be_wrong && status == TR_ERR_TAG));
    assert((inside && (status == TR_OK || status == TR_ERR_TAG)) || *p == memory_before[i]);
    assert(!inside || status != TR_ERR_TAG || *p == 0);
}

void proof_kw_wrap(void)
{
    begin(16, LONGEST, 8, 8, LIMIT_LEN);
    enum tr_status status =
        tr_kw_wrap(&key, nondet_bool(), nondet_bool() ? icv : NULL, out, in, len);
    ends(status, len % 8 == 0 && len >= 16 && len < LIMIT_LEN, false);
}

void proof_kw_unwrap(void)
{
    begin(24, ROOM, 8, -8, (size_t)LIMIT_LEN + 8);
    enum tr_status status =
        tr_kw_unwrap(&key, nondet_bool(), nondet_bool() ? icv : NULL, out, in, len);
    ends(status, len % 8 == 0 && len >= 24 && len < (size_t)LIMIT_LEN + 8, true);
}

void proof_kwp_wrap(void)
{
    begin(1, LONGEST, 1, 8, LIMIT_LEN);
    enum tr_status status =
        tr_kwp_wrap(&key, nondet_bool(), nondet_bool() ? icv : NULL, out, in, len);
    ends(status, len >= 1 && len < LIMIT_LEN, false);
}

void proof_kwp_unwrap(void)
{
    size_t plaintext = nondet_size();
    begin(16, ROOM, 8, -8, (size_t)LIMIT_LEN + 16);
    enum tr_status status =
        tr_kwp_unwrap(&key, nondet_bool(), nondet_bool() ? icv : NULL, out, &plaintext, in, len);
    ends(status, len % 8 == 0 && len >= 16 && len < (size_t)LIMIT_LEN + 16, true);
    if (status == TR_OK)
        assert(plaintext <= out_len && plaintext + 8 > out_len);
    else
        assert(plaintext == 0);
}
