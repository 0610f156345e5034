/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of bulk operations, and how one is called. For the core and its in-tree hosts.
 *
 * A backend is a constant table. It sets the operations that it does better than the next weaker
 * backend and leaves the others NULL; bitslice, the weakest, sets all. Key schedules have one
 * format for all backends (struct tr_aes_key), so an operation of a weaker backend works on a key
 * that a stronger one expanded.
 */
#ifndef TR_BACKEND_H
#define TR_BACKEND_H

#include "env.h"
#include "ghash.h"
#include "lanes.h"
#include "probe.h"
#include "tenrounds.h"

#if defined(__x86_64__) || defined(__i386__)
#    define TR_X86 1
#else
#    define TR_X86 0
#endif
/* Wide bitsliced AES wants sixteen registers, and some KiB of stack for its round keys. */
#if defined(__x86_64__) && TR_ENV_LARGE_STACK
#    define TR_WIDE_BITSLICE 1
#else
#    define TR_WIDE_BITSLICE 0
#endif
/* clang knows the instructions of an extension in a function that names it since version 17 only. */
#if defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ &&                           \
    (!defined(__clang__) || __clang_major__ >= 17)
#    define TR_ARM64 1
#else
#    define TR_ARM64 0
#endif

/* The bulk operations: X(constant's ending, name). */
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
 * blocks whole blocks, at least one (see GCM_SEAL); in and out are identical or disjoint (the modes have checked).
 * state is what the mode carries on, updated as tenrounds.h says:
 *
 *   CBC, CFB, OFB, CTR   the 16 bytes of the IV, shift register or counter; ECB: not used
 *   GHASH, POLYVAL       struct tr_ghash; key and out are not used
 *   CTR_LE               the 16 bytes of GCM-SIV's counter block (RFC 8452 section 4)
 *   GCM                  struct tr_gcm_run: the mask is made if it is due, and if a block is begun, it is hashed first
 *   GCM_SEAL, GCM_OPEN   struct tr_gcm_message, never in parts; blocks may be 0
 *   GCM_TAG              struct tr_gcm_run; in is the block of lengths, out the tag
 *   CCM, OCB             struct tr_ccm_run, struct tr_ocb_run
 *   XTS                  struct tr_xts_run
 */
/* Either the tweak of the next block, or, where key is not NULL, what is still to be encrypted with it to become that;
 * then key is set to NULL. */
struct tr_xts_run {
    uint8_t tweak[TR_BLOCK];
    const struct tr_aes_key *key;
    const uint8_t *unit;
};

typedef void tr_bulk_fn(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                        size_t blocks, void *state);

/* At most TR_FEW blocks of the operations up to CTR. Returns TR_OK, so that a mode's function can end by jumping there: a
 * call and its return take four cycles (Zen 4), where one block takes eleven. */
#define TR_FEW 4u
typedef enum tr_status tr_few_fn(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                 size_t blocks, void *state);

struct tr_backend {
    const char *name;
    tr_features features;            /* all of these must be usable */
    const struct tr_backend *weaker; /* where NULL operations come from */
    /* Sets enc, and dec if this backend or a weaker one decrypts with it, from a raw key; rounds is
     * set already. */
    void (*expand_key)(struct tr_aes_key *key, const uint8_t *raw);
    /* Sets power from h, as far as every message needs it; the operations compute more when they need them. */
    void (*ghash_key)(struct tr_ghash *ghash);
    /* Of both what GCM needs, from a raw key, without dec: encrypts the block of zeros for h while the key is being
     * expanded. NULL where nothing is gained by it, which is not taken from a weaker backend. */
    void (*gcm_key)(struct tr_aes_key *key, struct tr_ghash *ghash, const uint8_t *raw);
    tr_bulk_fn *bulk[TR_OPS];
    /* The same of few blocks, never in parts; NULL where there is nothing of the kind, or the table counts. */
    tr_few_fn *few[TR_OP_CTR + 1];
    /* Encryption of many streams; NULL in every table where there is none. */
    tr_lanes_fn *lanes;
    /* Hears of blocks that a host did in code of its own; NULL unless the table counts. */
    void (*done_by_host)(const struct tr_backend *table, enum tr_op op, size_t blocks);
};

/* The backends of the build, each in its file; the list is in backends.c. */
#define TR_MAX_BACKENDS 16
extern const struct tr_backend tr_vaes512, tr_vaes256, tr_aesni, tr_vperm, tr_bitslice;
/* The same without carry-less multiplication, for a processor or a mask that lacks it. */
extern const struct tr_backend tr_vaes512_noclmul, tr_vaes256_noclmul, tr_aesni_noclmul;
/* Not in a kernel. */
extern const struct tr_backend tr_vperm512, tr_bitslice512, tr_bitslice256, tr_vperm256,
    tr_bitslice128;
extern const struct tr_backend tr_armce_eor3, tr_armce, tr_armce_noclmul;

/* For the tables of others. vperm sets all of a key; vperm256's GHASH goes with vperm's ghash_key. */
void tr_vperm_expand_key(struct tr_aes_key *key, const uint8_t *raw);
#if TR_WIDE_BITSLICE
tr_bulk_fn tr_vperm256_ghash;
#    define TR_WIDE_GHASH_OPS [TR_OP_GHASH] = tr_vperm256_ghash
#else
#    define TR_WIDE_GHASH_OPS [TR_OP_GHASH] = NULL
#endif

/* The features whose registers an operating system saves that has set XCR0 so. */
tr_features tr_features_saved(uint64_t xcr0);

/* tr_mask_parse(), and in *wanted what the mask asks for although selection would do without. bad is not NULL. */
enum tr_status tr_mask_read(const char *text, tr_features *masked, tr_features *wanted,
                            const char **bad);

/* Whether 512-bit registers are not worth having on this processor (x86/clock.h). */
int tr_clock_drops(void);

/* The index of a backend in the list of tr_backend_at(), for counters and reports. */
unsigned tr_backend_index(const struct tr_backend *backend);

/* The table that really does an operation for b; NULL only for the operations that a
 * mode can also put together from others: the fused ones of GCM, XTS, OCB and CCM, and GCM-SIV's. */
static inline const struct tr_backend *tr_backend_doing(const struct tr_backend *b, enum tr_op op)
{
    while (b != NULL && __builtin_expect(b->bulk[op] == NULL, 0))
        b = b->weaker;
    return b;
}

/* The table that runs chains side by side for b; NULL if none does. */
static inline const struct tr_backend *tr_backend_with_lanes(const struct tr_backend *b)
{
    while (b != NULL && b->lanes == NULL)
        b = b->weaker;
    return b;
}

/*
 * Every bulk call of the core goes through here, but those of few blocks that a mode's call ends with (modes/modes.h): the environment may refuse the vector registers,
 * in which case bitslice does it on the same key, and it limits how long they are held, so a call may
 * become several, with the state carried on; the probe names the table whose code runs. Returns how many
 * blocks were done: all, unless no table does the operation, which is decided anew for each part. What is
 * left then goes on from the state in another way.
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

/* For a host that does an operation itself, together with work that is no AES, where the table that would
 * do it has the features that its code needs: the probe and the counters hear of it as of that table's. */
static inline void tr_bulk_by_host(const struct tr_aes_key *key, enum tr_op op, size_t blocks)
{
    const struct tr_backend *b = tr_backend_doing(key->backend, op);
    TR_PROBE_BULK(op, b->name, blocks * TR_BLOCK);
    if (b->done_by_host != NULL)
        b->done_by_host(b, op, blocks);
}

const char *tr_op_name(enum tr_op op);

#endif
