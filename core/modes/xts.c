/* SPDX-License-Identifier: BSD-2-Clause */
/* XTS-AES, IEEE 1619 section 5 (NIST SP 800-38E). The mode uses a backend's fused operations.
 * Without them it uses ECB, and XORs the tweaks before and after ECB. */
#include "modes/xts.h"

#include "dispatch/tuning.h"
#include "partial_block.h"

/* The longest data unit in bytes: 2^20 blocks (IEEE 1619 section 5.1). */
#define MAX_UNIT 0x1000000u

enum tr_status tr_xts_set_key(struct tr_xts_key *x, const struct tr_backend *backend,
                              const uint8_t *raw, size_t key_len)
{
    if (key_len != 32 && key_len != 64)
        return TR_ERR_KEY_LENGTH;
    size_t half = key_len / 2;
    enum tr_status status = tr_aes_set_key(&x->data, backend, raw, half);
    if (status == TR_OK)
        status = tr_aes_set_encryption_key(&x->tweak, backend, raw + half, half);
    x->equal = (uint8_t)TR_PUBLIC(tr_equal(raw, raw + half, half));
    return status;
}

int tr_xts_keys_equal(const struct tr_xts_key *x)
{
    return x->equal;
}

/* Processes at most TR_CHUNK blocks with ECB, and advances the tweak past them. */
static void xts_chunk(const struct tr_aes_key *key, enum tr_op ecb, uint8_t *out, const uint8_t *in,
                      size_t blocks, uint8_t tweak[16])
{
    uint8_t tweaks[TR_CHUNK * TR_BLOCK];
    size_t len = blocks * TR_BLOCK;
    for (size_t i = 0; i < len; i += TR_BLOCK) {
        __builtin_memcpy(tweaks + i, tweak, TR_BLOCK);
        tr_xor_block(out + i, in + i, tweak);
        tr_xts_double(tweak, tweak);
    }
    tr_bulk(key, ecb, out, out, blocks, NULL);
    for (size_t i = 0; i < len; i += TR_BLOCK)
        tr_xor_block(out + i, out + i, tweaks + i);
    tr_cleanse(tweaks, len);
}

void tr_xts_begin(struct tr_xts_run *run)
{
    if (run->key != NULL)
        tr_bulk(run->key, TR_OP_ECB_ENCRYPT, run->tweak, run->unit, 1, NULL);
    run->key = NULL;
}

TR_INLINE void xts_blocks(const struct tr_aes_key *key, int decrypt, uint8_t *out,
                          const uint8_t *in, size_t blocks, struct tr_xts_run *run)
{
    enum tr_op ecb = decrypt ? TR_OP_ECB_DECRYPT : TR_OP_ECB_ENCRYPT;
    if (blocks == 0)
        return;
    size_t done =
        tr_bulk(key, decrypt ? TR_OP_XTS_DECRYPT : TR_OP_XTS_ENCRYPT, out, in, blocks, run);
    if (done == blocks)
        return;
    tr_xts_begin(run);
    in += done * TR_BLOCK;
    out += done * TR_BLOCK;
    blocks -= done;
    while (blocks != 0) {
        size_t n = blocks < TR_CHUNK ? blocks : TR_CHUNK;
        xts_chunk(key, ecb, out, in, n, run->tweak);
        in += n * TR_BLOCK;
        out += n * TR_BLOCK;
        blocks -= n;
    }
}

void tr_xts_blocks(const struct tr_aes_key *key, int decrypt, uint8_t *out, const uint8_t *in,
                   size_t blocks, struct tr_xts_run *run)
{
    xts_blocks(key, decrypt, out, in, blocks, run);
}

/* Processes one block with this tweak. */
static void xts_one_block(const struct tr_aes_key *key, int decrypt, uint8_t *out,
                          const uint8_t *in, const uint8_t tweak[16])
{
    struct tr_xts_run run;
    run.key = NULL;
    __builtin_memcpy(run.tweak, tweak, TR_BLOCK);
    tr_xts_blocks(key, decrypt, out, in, 1, &run);
    tr_cleanse_inline(run.tweak, sizeof(run.tweak));
}

/* Ciphertext stealing, after the last full block has been encrypted or decrypted. The result of the
 * full block is in `full`, which may be `out`. The first `rest` bytes of `full` become the end of
 * the output, and the other bytes fill up the partial block. Processes the filled block with
 * `tweak`, and stores the result at `out`, in place of the full block. */
static void xts_fill_up(const struct tr_aes_key *key, int decrypt, uint8_t *out, const uint8_t *in,
                        const uint8_t full[16], size_t rest, const uint8_t tweak[16])
{
    uint8_t filled[TR_BLOCK];
    struct partial_block end = partial_load(in + TR_BLOCK, rest), stolen = partial_load_block(full);
    struct partial_block kept = partial_xor(stolen, partial_first(stolen, rest));
    partial_store_block(filled, partial_xor(end, kept));
    partial_store(out + TR_BLOCK, partial_first(stolen, rest), rest);
    xts_one_block(key, decrypt, out, filled, tweak);
    tr_cleanse_inline(filled, sizeof(filled));
}

void tr_xts_steal(const struct tr_aes_key *key, int decrypt, uint8_t *out, const uint8_t *in,
                  size_t rest, struct tr_xts_run *run)
{
    run->rest = rest;
    run->full_done = 0;
    enum tr_op op = decrypt ? TR_OP_XTS_DECRYPT_CTS : TR_OP_XTS_ENCRYPT_CTS;
    if (tr_bulk(key, op, out, in, 1, run) != 0)
        return;
    tr_xts_begin(run);
    /* Decryption uses the two tweaks in reverse order. */
    uint8_t tweaks[2][TR_BLOCK], full[TR_BLOCK];
    __builtin_memcpy(tweaks[0], run->tweak, TR_BLOCK);
    tr_xts_double(tweaks[1], run->tweak);
    const unsigned first = decrypt != 0;
    xts_one_block(key, decrypt, full, in, tweaks[first]);
    xts_fill_up(key, decrypt, out, in, full, rest, tweaks[1 - first]);
    tr_cleanse_inline(tweaks, sizeof(tweaks));
    tr_cleanse_inline(full, sizeof(full));
}

/* Ciphertext stealing in encryption, if the ciphertext of the full block is already at `out`. The
 * caller encrypts the full block together with the blocks before it, so that only the filled block
 * goes through the rounds alone. If `in` equals `out`, this method is slower: the load of the
 * partial block spans bytes that were just stored, which causes a store-forwarding stall. */
static void xts_steal_after(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                            size_t rest, struct tr_xts_run *run)
{
    run->rest = rest;
    run->full_done = 1;
    if (tr_bulk(key, TR_OP_XTS_ENCRYPT_CTS, out, in, 1, run) != 0)
        return;
    xts_fill_up(key, 0, out, in, out, rest, run->tweak);
}

/* Processes one data unit of a valid length. The number of the data unit, or its first tweak, is in
 * `run`. */
TR_INLINE void data_unit(const struct tr_aes_key *key, int decrypt, uint8_t *out, const uint8_t *in,
                         size_t len, struct tr_xts_run *run)
{
    size_t rest = len % TR_BLOCK, whole = len / TR_BLOCK - (rest != 0);
    if (rest != 0 && !decrypt && whole != 0 && out != in) {
        xts_blocks(key, 0, out, in, whole + 1, run);
        xts_steal_after(key, out + whole * TR_BLOCK, in + whole * TR_BLOCK, rest, run);
        return;
    }
    xts_blocks(key, decrypt, out, in, whole, run);
    if (rest != 0)
        tr_xts_steal(key, decrypt, out + whole * TR_BLOCK, in + whole * TR_BLOCK, rest, run);
}

/* Calls the backend's function for whole data units. */
TR_INLINE enum tr_status call_whole(tr_xts_unit_fn *whole, const struct tr_xts_key *x,
                                    const uint8_t unit[16], uint8_t *out, const uint8_t *in,
                                    size_t len, int decrypt)
{
    TR_PROBE_BULK(decrypt ? TR_OP_XTS_DECRYPT : TR_OP_XTS_ENCRYPT, x->data.backend->name, len);
    return whole(x, unit, out, in, len);
}

/* Processes one data unit, whose arguments have been checked, by bulk operations. On Intel, the
 * backend's function for whole data units is faster for all lengths. The call of tr_tuning() is
 * here because in crypt() it would make 16 bytes take 1.06 times as long on YMM and XMM. */
TR_INLINE enum tr_status any_unit(const struct tr_xts_key *x, const uint8_t unit[16], uint8_t *out,
                                  const uint8_t *in, size_t len, int decrypt)
{
    tr_xts_unit_fn *whole = tr_whole_calls(&x->data)->xts_unit[decrypt];
    if (whole != NULL && tr_tuning()->separate_clmul)
        return call_whole(whole, x, unit, out, in, len, decrypt);
    struct tr_xts_run run;
    run.key = &x->tweak;
    run.unit = unit;
    data_unit(&x->data, decrypt, out, in, len, &run);
    tr_cleanse_inline(run.tweak, sizeof(run.tweak));
    return TR_OK;
}

static __attribute__((__noinline__)) enum tr_status
xts_encrypt_any_unit(const struct tr_xts_key *x, const uint8_t unit[16], uint8_t *out,
                     const uint8_t *in, size_t len)
{
    return any_unit(x, unit, out, in, len, 0);
}

static __attribute__((__noinline__)) enum tr_status
xts_decrypt_any_unit(const struct tr_xts_key *x, const uint8_t unit[16], uint8_t *out,
                     const uint8_t *in, size_t len)
{
    return any_unit(x, unit, out, in, len, 1);
}

/* Encrypts or decrypts one data unit. A short data unit goes straight to the backend's function for
 * whole data units, without tr_bulk(). Calls of few blocks avoid tr_bulk(), too (modes.h). */
TR_INLINE enum tr_status crypt(const struct tr_xts_key *x, const uint8_t unit[16], uint8_t *out,
                               const uint8_t *in, size_t len, int decrypt)
{
    if (!tr_is_set(&x->data))
        return TR_ERR_STATE;
    if (len - TR_BLOCK > MAX_UNIT - TR_BLOCK)
        return TR_ERR_LENGTH;
    if (tr_bad_overlap(out, in, len))
        return TR_ERR_OVERLAP;
    tr_xts_unit_fn *whole = tr_whole_calls(&x->data)->xts_unit[decrypt];
    if (whole != NULL && len < TR_XTS_UNIT_END)
        return call_whole(whole, x, unit, out, in, len, decrypt);
    return (decrypt ? xts_decrypt_any_unit : xts_encrypt_any_unit)(x, unit, out, in, len);
}

enum tr_status tr_xts_encrypt(const struct tr_xts_key *x, const uint8_t tweak[16], uint8_t *out,
                              const uint8_t *in, size_t len)
{
    if (x->equal)
        return TR_ERR_EQUAL_KEYS;
    return crypt(x, tweak, out, in, len, 0);
}

enum tr_status tr_xts_decrypt(const struct tr_xts_key *x, const uint8_t tweak[16], uint8_t *out,
                              const uint8_t *in, size_t len)
{
    return crypt(x, tweak, out, in, len, 1);
}

/* ---- Consecutive data units ---- */

#if TR_ENV_ALL_MODES
/* One ECB call computes the first tweaks of this many data units. Computing one tweak alone takes
 * the latency of all rounds: 40 cycles for AES-128 on Zen 4. For comparison, all rounds of a
 * 512-byte sector take 80 cycles on ZMM. */
#    define UNITS           16u
/* The longest data unit, in bytes, that is faster in TR_OP_XTS_ENC_UNITS or TR_OP_XTS_DEC_UNITS. */
#    define WHOLE_UNITS_MAX 2048u

/* Stores n consecutive data-unit numbers, of which `unit` is the first, and advances `unit` past
 * them. The numbers are little-endian and wrap modulo 2^128. */
TR_INLINE void number(uint8_t numbers[UNITS][TR_BLOCK], size_t n, uint8_t unit[TR_BLOCK])
{
    uint8_t next[TR_BLOCK]; /* big-endian */
    tr_reverse_block(next, unit);
    for (size_t i = 0; i < n; i++) {
        tr_reverse_block(numbers[i], next);
        tr_counter_add(next, 1);
    }
    tr_reverse_block(unit, next);
}

/* Processes n data units in one bulk operation, if the backend has it, and if length and
 * environment allow it. Returns the number of data units processed, n or 0. */
TR_INLINE size_t whole_units(const struct tr_xts_key *x, int decrypt, uint8_t *out,
                             const uint8_t *in, size_t len, const uint8_t tweaks[][TR_BLOCK],
                             size_t n)
{
    if (len % (TR_XTS_UNIT_STEP * TR_BLOCK) != 0 || len > WHOLE_UNITS_MAX)
        return 0;
    struct tr_xts_units units = {tweaks, len / TR_BLOCK};
    const enum tr_op op = decrypt ? TR_OP_XTS_DEC_UNITS : TR_OP_XTS_ENC_UNITS;
    const struct tr_backend *b = tr_backend_doing(x->data.backend, op);
    if (b == NULL || n * units.blocks > tr_env_most_blocks(b->features))
        return 0;
    return tr_bulk(&x->data, op, out, in, n * units.blocks, &units) / units.blocks;
}

TR_INLINE enum tr_status crypt_units(const struct tr_xts_key *x, const uint8_t first[16],
                                     uint8_t *out, const uint8_t *in, size_t len, size_t units,
                                     int decrypt)
{
    if (!tr_is_set(&x->data))
        return TR_ERR_STATE;
    if (len < TR_BLOCK || len > MAX_UNIT || units > SIZE_MAX / len)
        return TR_ERR_LENGTH;
    if (tr_bad_overlap(out, in, len * units))
        return TR_ERR_OVERLAP;
    struct tr_xts_run run;
    uint8_t tweaks[UNITS][TR_BLOCK], unit[TR_BLOCK];
    __builtin_memcpy(unit, first, TR_BLOCK);
    while (units != 0) {
        const size_t n = units < UNITS ? units : UNITS;
        number(tweaks, n, unit);
        tr_bulk(&x->tweak, TR_OP_ECB_ENCRYPT, tweaks[0], tweaks[0], n, NULL);
        size_t i = whole_units(x, decrypt, out, in, len, tweaks, n);
        out += i * len;
        in += i * len;
        for (; i < n; i++) {
            run.key = NULL;
            __builtin_memcpy(run.tweak, tweaks[i], TR_BLOCK);
            data_unit(&x->data, decrypt, out, in, len, &run);
            in += len;
            out += len;
        }
        units -= n;
    }
    tr_cleanse_inline(tweaks, sizeof(tweaks));
    tr_cleanse_inline(run.tweak, sizeof(run.tweak));
    return TR_OK;
}

enum tr_status tr_xts_encrypt_units(const struct tr_xts_key *x, const uint8_t tweak[16],
                                    uint8_t *out, const uint8_t *in, size_t unit_len, size_t units)
{
    if (x->equal)
        return TR_ERR_EQUAL_KEYS;
    return crypt_units(x, tweak, out, in, unit_len, units, 0);
}

enum tr_status tr_xts_decrypt_units(const struct tr_xts_key *x, const uint8_t tweak[16],
                                    uint8_t *out, const uint8_t *in, size_t unit_len, size_t units)
{
    return crypt_units(x, tweak, out, in, unit_len, units, 1);
}
#endif
