/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The backend interface: tables of bulk operations, and the functions that call them. Only the core
 * and its in-tree hosts include this header.
 *
 * A backend is a constant table of bulk operations. It sets the operations that it does better than
 * the next weaker backend, and leaves the others NULL. The weakest backend, bitslice, sets every
 * operation that a mode cannot compose from others. All backends share one format of key schedule
 * (struct tr_aes_key), so a weaker backend can use a key that a stronger one expanded.
 */
#ifndef TR_BACKEND_H
#define TR_BACKEND_H

#include "dispatch/env.h"
#include "dispatch/jobs.h"
#include "dispatch/many.h"
#include "dispatch/probe.h"
#include "tenrounds.h"

#if defined(__x86_64__) || defined(__i386__)
#    define TR_X86 1
#else
#    define TR_X86 0
#endif
/* The Arm backends enable extensions by the target attributes of functions. Clang before 17 rejects
 * the instructions of such an extension. */
#if defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ &&                           \
    (!defined(__clang__) || __clang_major__ >= 17)
#    define TR_ARM64 1
#else
#    define TR_ARM64 0
#endif

/* The bulk operations: X(suffix of the constant, function name). */
#define TR_BULK_OPS(X)                                                                             \
    X(ECB_ENCRYPT, ecb_encrypt)                                                                    \
    X(ECB_DECRYPT, ecb_decrypt)                                                                    \
    X(CBC_ENCRYPT, cbc_encrypt)                                                                    \
    X(CBC_DECRYPT, cbc_decrypt)                                                                    \
    X(CFB_ENCRYPT, cfb_encrypt)                                                                    \
    X(CFB_DECRYPT, cfb_decrypt)                                                                    \
    X(OFB, ofb)                                                                                    \
    X(CTR, ctr)                                                                                    \
    X(GHASH, ghash)                                                                                \
    X(GCM_ENCRYPT, gcm_encrypt)                                                                    \
    X(GCM_DECRYPT, gcm_decrypt)                                                                    \
    X(XTS_ENCRYPT, xts_encrypt)                                                                    \
    X(XTS_DECRYPT, xts_decrypt)                                                                    \
    X(XTS_ENCRYPT_CTS, xts_encrypt_cts)                                                            \
    X(XTS_DECRYPT_CTS, xts_decrypt_cts)                                                            \
    X(XTS_ENC_UNITS, xts_enc_units)                                                                \
    X(XTS_DEC_UNITS, xts_dec_units)                                                                \
    X(OCB_ENCRYPT, ocb_encrypt)                                                                    \
    X(OCB_DECRYPT, ocb_decrypt)                                                                    \
    X(CCM_ENCRYPT, ccm_encrypt)                                                                    \
    X(CCM_DECRYPT, ccm_decrypt)                                                                    \
    X(POLYVAL, polyval)                                                                            \
    X(CTR_LE, ctr_le)                                                                              \
    X(GCM_SEAL, gcm_seal)                                                                          \
    X(GCM_OPEN, gcm_open)                                                                          \
    X(GCM_TAG, gcm_tag)

enum tr_op {
#define TR_OP_CONSTANT(constant, name) TR_OP_##constant,
    TR_BULK_OPS(TR_OP_CONSTANT)
#undef TR_OP_CONSTANT
        TR_OPS
};

/*
 * A bulk operation: processes `blocks` whole blocks, at least one (but see GCM_SEAL). `out` may
 * begin before `in`, so it loads each position before it stores to it, and stores in ascending
 * order. To limit its time, tr_bulk() may split it. `state` points to the mode's data, which the
 * operation updates:
 *
 *   ECB                  not used
 *   CBC, CFB, OFB, CTR   16 bytes: the IV, the shift register or the counter
 *   GHASH, POLYVAL       struct tr_ghash. The parameters `key` and `out` are not used.
 *   CTR_LE               16 bytes: GCM-SIV's counter block (RFC 8452 section 4)
 *   GCM                  struct tr_gcm. Also computes the tag's mask if mask_due is set, and the
 *                        tail's keystream if keystream_due is set. If `used` is not 0, also hashes
 *                        the pending last block of AAD.
 *   GCM_SEAL, GCM_OPEN   struct tr_gcm_message. The call is never split, and `blocks` may be 0.
 *   GCM_TAG              struct tr_gcm. The length block is at `in`; the tag goes to `out`.
 *   CCM                  struct tr_ccm_run
 *   OCB                  struct tr_ocb_run
 *   XTS                  struct tr_xts_run
 *   XTS_*_CTS            struct tr_xts_run. Ciphertext stealing, for the last full block and the
 *                        `rest` bytes after it; `blocks` is 1.
 *   XTS_*_UNITS          struct tr_xts_units. Whole data units. The call is never split.
 */
typedef void tr_bulk_fn(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                        size_t blocks, void *state);

/* The state of an XTS data unit: `tweak` is the tweak of the next block. If `key` is not NULL, the
 * operation first computes `tweak`: it encrypts the data-unit number `unit` with `key`. */
struct tr_xts_run {
    uint8_t tweak[TR_BLOCK];
    const struct tr_aes_key *key;
    const uint8_t *unit;
    /* For XTS_*_CTS: the bytes of the partial block, 1 to 15. */
    size_t rest;
    /* For XTS_ENCRYPT_CTS: 1 if the ciphertext of the full block is already in `out`. The field
     * `tweak` is then the tweak of the partial block. */
    unsigned full_done;
};

/* Consecutive data units of XTS, all of the same length. The array `tweak` has the first tweak of
 * each. A data unit has `blocks` blocks, a multiple of TR_XTS_UNIT_STEP. */
#define TR_XTS_UNIT_STEP 32u
struct tr_xts_units {
    const uint8_t (*tweak)[TR_BLOCK];
    size_t blocks;
};

/* One of the operations ECB_ENCRYPT to CTR. Such a function returns TR_OK, so that a mode's
 * function can end with a jump to it. A call and a return would add 4 cycles (Zen 4). */
typedef enum tr_status tr_blocks_fn(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                    size_t blocks, void *state);
/* The longest call with functions of its own, in blocks. */
#define TR_FEW 4u

/* Processes a data unit of XTS of at least 16 bytes. The caller has checked the arguments. They are
 * the arguments of tr_xts_encrypt(), so that tr_xts_encrypt() can end with a jump to this function.
 * Returns TR_OK. From TR_XTS_UNIT_END bytes on, bulk operations are faster, unless carry-less
 * multiplication has a port of its own. */
#define TR_XTS_UNIT_END 2048u
typedef enum tr_status tr_xts_unit_fn(const struct tr_xts_key *x, const uint8_t unit[TR_BLOCK],
                                      uint8_t *out, const uint8_t *in, size_t len);

/* Decrypts the last 16 + `last` bytes of a CBC message with ciphertext stealing, where `last` is 1
 * to 16. These bytes are a full ciphertext block and the first `last` bytes of another, the cut
 * block. If `cut_first` is set, the cut block comes first (CS1), else the full block (CS2, CS3).
 * Updates `iv`. */
typedef void tr_cts_fn(const struct tr_aes_key *key, uint8_t iv[TR_BLOCK], uint8_t *out,
                       const uint8_t *in, size_t last, int cut_first);

/* CFB decryption of any length, from any position in a block. The caller has checked the arguments,
 * which are those of tr_cfb128_decrypt(). Returns TR_OK. */
typedef enum tr_status tr_cfb_fn(const struct tr_aes_key *key, uint8_t iv[TR_BLOCK], unsigned *used,
                                 uint8_t *out, const uint8_t *in, size_t len);

/*
 * Seals or opens a message of GCM, with the arguments of tr_gcm_seal() and tr_gcm_open(). Opening
 * does not write the tag.
 *
 * Function i of a table takes data of 16 i + 1 to 16 i + 16 bytes. The key has enough powers of H
 * for them (short_len of struct tr_ghash_key). tr_gcm_seal() and tr_gcm_open() check only this, and
 * jump to the function. With another check, gcc 12 loads and stores all arguments on the stack, 18
 * of 60 instructions. The function checks the arguments, and leaves a message that it cannot
 * process to tr_gcm_seal_any() or tr_gcm_open_any() (modes/gcm_message.c). Among them are those
 * whose masked accesses would reach another page: if that is not mapped, they take 100 ns and more.
 *
 * Function TR_GCM_ANY takes all messages with an IV of 96 bits and a tag of 128 whose arguments are
 * checked.
 */
enum { TR_GCM_ANY = 19, TR_GCM_CALLS };
/* The longest messages with functions of their own, in bytes. */
#define TR_GCM_SHORT_MAX 256u
typedef enum tr_status tr_gcm_fn(const struct tr_gcm_key *key, const uint8_t *iv, size_t iv_len,
                                 const uint8_t *aad, size_t aad_len, uint8_t *out,
                                 const uint8_t *in, size_t len, uint8_t *tag, size_t tag_len);
tr_gcm_fn tr_gcm_seal_any, tr_gcm_open_any;

struct tr_backend {
    const char *name;
    tr_features features;            /* all of these must be usable */
    const struct tr_backend *weaker; /* runs the operations that are NULL here */
    /* Sets `enc` from a raw key. Also sets `dec` if this backend or a weaker one uses it. The
     * caller has already set `rounds`. */
    void (*expand_key)(struct tr_aes_key *key, const uint8_t *raw);
    /* Sets only `enc`, for modes that only encrypt. NULL if that is not faster. */
    void (*expand_encryption_key)(struct tr_aes_key *key, const uint8_t *raw);
    /* Computes, from the hash subkey `h`, the first powers of H, or vperm's multiplication tables.
     * GHASH operations compute more powers on demand (dispatch/ghash.h). If NULL, the function of a
     * weaker backend runs. */
    void (*ghash_key)(struct tr_ghash_key *key);
    /* As ghash_key, but without vector registers: for use when the environment refuses the
     * registers. */
    void (*ghash_key_refused)(struct tr_ghash_key *key);
    /* Sets `enc`, the hash subkey and its first powers. Key expansion overlaps the encryption of
     * the block of zeros. NULL if the backend has no such function; a weaker backend's function is
     * never used instead. */
    void (*gcm_key)(struct tr_aes_key *key, struct tr_ghash_key *hash, const uint8_t *raw);
    /* The table of blocks: what tr_bulk() calls. GCM_SEAL, GCM_OPEN and XTS_*_UNITS are whole calls,
     * and stand here because they must work where the other table is empty or not asked: in a
     * counting table, in a weaker backend, and where the environment may refuse the registers. */
    tr_bulk_fn *bulk[TR_OPS];
    /* The table of whole calls: what a mode tries first, by tr_whole_calls() (modes/modes.h). Each
     * does everything that a call asks for, and is never split. Any may be NULL. In counting tables
     * (counting.h), all are. */
    struct tr_whole_calls {
        /* Calls of at most TR_FEW blocks, and longer ones: the same operations as in `bulk`. */
        tr_blocks_fn *few[TR_OP_CTR + 1], *more[TR_OP_CTR + 1];
        tr_xts_unit_fn *xts_unit[2]; /* a data unit of XTS: encryption, decryption */
        tr_cts_fn *cts_decrypt;
        tr_cfb_fn *cfb_decrypt;
        tr_gcm_many_fn *gcm_many;   /* many messages of one length (dispatch/many.h) */
        tr_gcm_alike_fn *gcm_alike; /* whether many messages are alike; with gcm_many */
        tr_masks_fn *masks;         /* a block of ECB for each of many samples; with gcm_many */
        tr_gcm_fn *gcm[2][TR_GCM_CALLS]; /* messages of GCM: sealing, opening */
    } whole;
    /* Cleanses a multiple of 64 bytes with the backend's widest stores. If NULL, callers use
     * tr_cleanse_inline(). */
    void (*cleanse)(uint8_t *memory, size_t len);
    /* Multi-buffer encryption, or NULL. */
    tr_multibuffer_fn *multibuffer;
    /* Counts blocks that were processed outside bulk[]: by a host's code or by multi-buffer code.
     * NULL except in counting tables. */
    void (*count_blocks)(const struct tr_backend *table, enum tr_op op, size_t blocks);
};

/* The backends of the build, each in a folder or file of its own; backends.c has the list. */
#define TR_MAX_BACKENDS 16
extern const struct tr_backend tr_vaes512, tr_vaes256, tr_aesni, tr_vperm, tr_bitslice;
/* Backends without carry-less multiplication, for processors that lack it and for the mask
 * "noclmul". */
extern const struct tr_backend tr_vaes512_noclmul, tr_vaes256_noclmul, tr_aesni_noclmul;
extern const struct tr_backend tr_armce, tr_armce_noclmul;

/* As tr_aes_set_key(), for modes that only encrypt: may leave `dec` unchanged. */
enum tr_status tr_aes_set_encryption_key(struct tr_aes_key *key, const struct tr_backend *backend,
                                         const uint8_t *raw, size_t key_len) TR_MUST_CHECK;

/* Sets `enc` and `dec`, for backends without an instruction for key expansion. */
void tr_vperm_expand_key(struct tr_aes_key *key, const uint8_t *raw);

/* The features whose registers the operating system saves if XCR0 has this value. */
tr_features tr_features_saved(uint64_t xcr0);

/* As tr_mask_parse(). Also sets *wanted to TR_FEATURE_AVX512 if the text has the word "avx512",
 * else to 0. Where 512-bit registers lower the clock, selection uses TR_FEATURE_AVX512 only if it
 * is in *wanted. The pointer `bad` must not be NULL. */
enum tr_status tr_mask_read(const char *text, tr_features *masked, tr_features *wanted,
                            const char **bad);

/* The index of a backend for tr_backend_at(), used in counters and reports. */
unsigned tr_backend_index(const struct tr_backend *backend);

/* The backend whose code runs an operation for the backend b. NULL only if a mode can compose the
 * operation from others: the fused operations of GCM, XTS, OCB and CCM, and the operations of
 * GCM-SIV. */
static inline const struct tr_backend *tr_backend_doing(const struct tr_backend *b, enum tr_op op)
{
    while (b != NULL && __builtin_expect(b->bulk[op] == NULL, 0))
        b = b->weaker;
    return b;
}

/* The backend whose multi-buffer code runs jobs for the backend b. NULL if no backend from b down
 * has such code. */
static inline const struct tr_backend *tr_backend_with_multibuffer(const struct tr_backend *b)
{
    while (b != NULL && b->multibuffer == NULL)
        b = b->weaker;
    return b;
}

/*
 * Runs a bulk operation. The modes call bulk operations through tr_bulk() only, except GCM_SEAL and
 * GCM_OPEN: a message must not be split, so tr_gcm_whole() calls them (modes/gcm.h). Before a mode
 * calls tr_bulk(), it tries the whole calls of struct tr_backend.
 *
 * What tr_bulk() does:
 * - If the environment refuses the vector registers, bitslice runs on the same key.
 * - If the environment limits how long the registers may be held, tr_bulk() calls the operation
 *   several times with one `state`.
 * - The tracing probe (dispatch/probe.h) names the backend whose code runs.
 *
 * Returns the number of blocks processed. This is less than `blocks` only if no usable backend has
 * the operation. The mode then processes the other blocks with other operations.
 */
static inline size_t tr_bulk(const struct tr_aes_key *key, enum tr_op op, uint8_t *out,
                             const uint8_t *in, size_t blocks, void *state)
{
    for (size_t done = 0;;) {
        const struct tr_backend *b = tr_backend_doing(key->backend, op);
        if (b == NULL)
            return done;
        size_t most = tr_env_most_blocks(b->features);
        size_t n = blocks - done < most ? blocks - done : most;
        int vector = tr_env_vector_begin(b->features);
        if (!vector)
            b = tr_backend_doing(&tr_bitslice, op);
        if (b != NULL) {
            TR_PROBE_BULK(op, b->name, n * TR_BLOCK);
            b->bulk[op](key, out, in, n, state);
            done += n;
        }
        if (vector)
            tr_env_vector_end();
        if (b == NULL || done == blocks)
            return done;
        in += n * TR_BLOCK;
        if (out != NULL)
            out += n * TR_BLOCK;
    }
}

/* Reports blocks that a host's code processed, interleaved with work other than AES. The tracing
 * probe and the counters show the backend that tr_bulk() would have used. The AES part of the
 * host's code may use only features that this backend requires. */
static inline void tr_bulk_by_host(const struct tr_aes_key *key, enum tr_op op, size_t blocks)
{
    const struct tr_backend *b = tr_backend_doing(key->backend, op);
    TR_PROBE_BULK(op, b->name, blocks * TR_BLOCK);
    if (b->count_blocks != NULL)
        b->count_blocks(b, op, blocks);
}

const char *tr_op_name(enum tr_op op);

#endif
