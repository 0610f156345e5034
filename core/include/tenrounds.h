/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tenrounds.h - AES at the speed the processor can reach.
 *
 * In five lines:
 *
 *     struct tr_aes_key key;
 *     uint8_t counter[16] = {...}, keystream[16];
 *     unsigned used = 0;
 *     tr_aes_set_key(&key, NULL, raw_key, 16);               // NULL: the selected backend
 *     tr_ctr(&key, counter, keystream, &used, out, in, len); // any length, any number of calls
 *
 * Three layers, each usable alone:
 *
 *   - features, masks and backends: what the processor offers and which code is selected;
 *   - the modes as plain functions over a key: tr_ecb_*, tr_cbc_*, tr_cbc_cts_*, tr_cfb128_*, tr_cfb8_*,
 *     tr_cfb1_*, tr_ofb, tr_ctr, tr_kw_*, tr_kwp_*; or over an object of their own that is keyed once:
 *     tr_gcm_*, tr_ccm_*, tr_ocb_*, tr_siv_*, tr_gcm_siv_*, tr_xts_*, tr_cmac_*;
 *   - struct tr_cipher: one streaming object over ECB, CBC, CFB, OFB and CTR, with PKCS#7 padding for ECB
 *     and CBC.
 *
 * Rules that hold everywhere
 *
 *   Units      Lengths are in bytes. A block is TR_BLOCK = 16 bytes. A key is 16, 24 or 32 bytes.
 *   Overlap    Input and output are the same pointer or do not overlap at all; a partial overlap is
 *              TR_ERR_OVERLAP and nothing is written (key wrap takes any overlap). No alignment is
 *              required of data.
 *   Errors     Every function that can fail returns enum tr_status. After an error nothing was
 *              written to the output, and the state is as it was before the call.
 *   Memory     Nothing is allocated. Every object is a plain struct that the caller owns, may copy
 *              by assignment, and clears with tr_cleanse() when done: it holds the key.
 *   Threads    Functions share nothing that is written, except that the first selection of a
 *              backend stores one word, atomically. Any number of threads may use one tr_aes_key;
 *              objects that carry a position (IV, counter, tr_cipher) belong to one thread at a
 *              time.
 *   Time       No branch, memory index or instruction timing depends on key or data. Lengths, modes
 *              and offsets are public.
 *
 * Sources: FIPS-197 (AES), NIST SP 800-38A (ECB, CBC, CFB, OFB, CTR) and its addendum (ciphertext
 * stealing), SP 800-38B (CMAC), 38C (CCM), 38D (GCM), 38E with IEEE 1619 (XTS), 38F with RFC 3394 and
 * 5649 (key wrap), RFC 7253 (OCB), 5297 (SIV), 8452 (GCM-SIV), 5652 section 6.3 (padding).
 */
#ifndef TENROUNDS_H
#define TENROUNDS_H

#include <stddef.h>
#include <stdint.h>

#define TR_VERSION_STRING "0.1.0"
#define TR_BLOCK          16u

#if defined(__GNUC__)
#    define TR_API        __attribute__((visibility("default")))
#    define TR_ALIGNED(n) __attribute__((aligned(n)))
#    define TR_MUST_CHECK __attribute__((warn_unused_result))
#else
#    error "tenrounds needs gcc or clang"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors ------------------------------------------------------------------------------- */

enum tr_status {
    TR_OK = 0,
    TR_ERR_KEY_LENGTH, /* a key of a length that the mode does not take: 16, 24 or 32 bytes for most */
    TR_ERR_LENGTH,     /* data of a length that the mode does not take, or an offset above 15 */
    TR_ERR_OVERLAP,    /* input and output overlap but are not the same */
    TR_ERR_PADDING,    /* the last block does not end in PKCS#7 padding */
    TR_ERR_MODE,       /* no such mode, or an object that was not initialised */
    TR_ERR_SELF_TEST,  /* a known answer came out wrong */
    TR_ERR_IV_LENGTH,  /* an IV of a length that the mode does not take */
    TR_ERR_TAG_LENGTH, /* a tag of a length that the mode does not take */
    TR_ERR_TAG,        /* the tag does not belong to the message: nothing of it may be used */
    TR_ERR_STATE,      /* calls in an order that the mode does not have */
    TR_ERR_EQUAL_KEYS  /* the two halves of an XTS key are the same: encryption would not be safe */
};

/* One English sentence without a full stop; never NULL, also for values outside the enum. */
TR_API const char *tr_strerror(enum tr_status status);

/* The version of the library that is running, "major.minor.patch"; compare with
 * TR_VERSION_STRING, the version this header came with. */
TR_API const char *tr_version(void);

/* Overwrites len bytes with zeros in a way the compiler may not remove. */
TR_API void tr_cleanse(void *memory, size_t len);

/* ---- Features of the processor ------------------------------------------------------------ */

/* A set of features. Each includes what the operating system must do for it: avx2 is set only if
 * XGETBV says that YMM registers are saved, avx512 only if ZMM and mask registers are, too. */
typedef uint32_t tr_features;

#define TR_FEATURE_AES        (1u << 0) /* AES-NI: AESENC, AESDEC and kin, 128 bits; Arm: AESE and kin */
#define TR_FEATURE_CLMUL      (1u << 1) /* PCLMULQDQ; Arm: PMULL of 64 bits */
#define TR_FEATURE_SSSE3      (1u << 2) /* PSHUFB */
#define TR_FEATURE_AVX        (1u << 3)
#define TR_FEATURE_AVX2       (1u << 4)
#define TR_FEATURE_AVX512     (1u << 5)  /* AVX-512 F, BW and VL together */
#define TR_FEATURE_VAES       (1u << 6)  /* the same on 256 bits, with avx512 on 512 */
#define TR_FEATURE_VCLMUL     (1u << 7)  /* VPCLMULQDQ */
#define TR_FEATURE_SHA        (1u << 8)  /* SHA-NI, for hosts that hash beside AES */
#define TR_FEATURE_NEON       (1u << 9)  /* Arm: Advanced SIMD */
#define TR_FEATURE_SHA3       (1u << 10) /* Arm: EOR3 and the others of the SHA-3 extension */
#define TR_FEATURE_AVX512VBMI (1u << 11) /* VPERMB and kin: bytes across a register */
#define TR_FEATURE_COUNT      12u

struct tr_cpu {
    tr_features present; /* CPUID reports it; on Arm the kernel, by getauxval(3) */
    tr_features usable;  /* and the operating system saves the registers it needs */
    uint64_t xcr0;       /* what XGETBV(0) returned; 0 where there is no XSAVE */
};

TR_API void tr_cpu_detect(struct tr_cpu *cpu);

/* "aes", "clmul", ... for index 0 to TR_FEATURE_COUNT - 1; NULL beyond. */
TR_API const char *tr_feature_name(unsigned index);

/*
 * Reads a mask: feature names, each preceded by "no", separated by commas or blanks, for example
 * "noavx512,novaes". Stores the features to be masked in *masked. At the first word that is not
 * one, stores the words before it, points *bad (if not NULL) at it and returns TR_ERR_MODE. NULL
 * and "" mask nothing.
 *
 * One word takes nothing away: "avx512" has selection use 512-bit registers also on processors where it
 * would do without (struct tr_selection, avoided). "noavx512" is stronger.
 */
TR_API enum tr_status tr_mask_parse(const char *text, tr_features *masked, const char **bad);

/* ---- Backends ------------------------------------------------------------------------------ */

/* One implementation of AES, for one kind of processor: a constant table of bulk operations. */
struct tr_backend;

/* The backends of this build, strongest first; NULL past the last. The last one, "bitslice", runs
 * everywhere. */
TR_API const struct tr_backend *tr_backend_at(unsigned index);
TR_API const struct tr_backend *tr_backend_by_name(const char *name);
TR_API const char *tr_backend_name(const struct tr_backend *backend);
/* The features that must be usable for the backend to run. */
TR_API tr_features tr_backend_features(const struct tr_backend *backend);

/*
 * The known answers: all modes, all key sizes, lengths that reach every loop and tail of the
 * backend, on the calling thread (about a tenth of a millisecond with AES instructions). The caller
 * makes sure that the processor has the backend's features.
 */
TR_API enum tr_status tr_backend_self_test(const struct tr_backend *backend);

struct tr_selection {
    const struct tr_backend *backend; /* the choice; NULL if even the weakest failed */
    struct tr_cpu cpu;
    tr_features masked; /* what the request took away */
    tr_features
        avoided;     /* avx512: it lowers the clock of this processor, and AES in it is no faster */
    uint32_t failed; /* bit i: tr_backend_at(i) failed its known answers, was passed over */
    const char *bad_mask; /* in the mask's text, the word that is no feature; or NULL */
};

/*
 * Chooses the strongest backend whose features are usable and not masked and which passes its known
 * answers. On processors whose clock drops with 512-bit registers (Intel's Ice Lake and Tiger Lake) that
 * is one of 256 bits, unless the mask has the word "avx512". Stores how it came about in *selection. Depends on
 * nothing but its arguments and the processor; stores nothing elsewhere. sabotage is for tests: a
 * comma-separated list of backend names whose known answers are to be falsified, and "clock" for a processor
 * whose clock is to be taken for one that drops; or NULL.
 */
TR_API enum tr_status tr_select(const char *mask, tr_features also_masked, const char *sabotage,
                                struct tr_selection *selection);

/*
 * The backend for this process: tr_select() with the environment's TENROUNDS_MASK, done on the
 * first call and remembered. Never NULL: where not even the software passes its known answers, the
 * process is aborted, because nothing could be computed that is right.
 */
TR_API const struct tr_backend *tr_backend_selected(void);

/* ---- Keys ---------------------------------------------------------------------------------- */

/* An expanded key (FIPS-197 section 5.2): treat as opaque. 496 bytes, 16-byte aligned. */
struct tr_aes_key {
    uint8_t enc[15][TR_BLOCK]; /* round keys 0 .. rounds, in order of use */
    uint8_t dec[15][TR_BLOCK]; /* of the equivalent inverse cipher (5.3.5), in order of use */
    const struct tr_backend *backend;
    uint32_t rounds; /* 10, 12 or 14 */
} TR_ALIGNED(16);

/*
 * Expands a key of key_len = 16, 24 or 32 bytes for the given backend, or for tr_backend_selected()
 * if that is NULL. Any other length: TR_ERR_KEY_LENGTH, and *key is not touched.
 */
TR_API enum tr_status tr_aes_set_key(struct tr_aes_key *key, const struct tr_backend *backend,
                                     const uint8_t *raw, size_t key_len) TR_MUST_CHECK;

/* ---- Modes (NIST SP 800-38A) ---------------------------------------------------------------- */

/*
 * ECB (6.1) and CBC (6.2): len is a multiple of 16 (else TR_ERR_LENGTH); 0 is allowed. iv is the
 * chaining value, 16 bytes, updated, so that calls can follow each other; it may not overlap the
 * data.
 */
TR_API enum tr_status tr_ecb_encrypt(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                     size_t len);
TR_API enum tr_status tr_ecb_decrypt(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                     size_t len);
TR_API enum tr_status tr_cbc_encrypt(const struct tr_aes_key *key, uint8_t iv[16], uint8_t *out,
                                     const uint8_t *in, size_t len);
TR_API enum tr_status tr_cbc_decrypt(const struct tr_aes_key *key, uint8_t iv[16], uint8_t *out,
                                     const uint8_t *in, size_t len);

/*
 * CFB128 (6.3) and OFB (6.4): any length. *used, 0 to 15, is how many bytes of the current block
 * have been used: 0 before the first call, updated by each (above 15: TR_ERR_LENGTH). iv is the
 * shift register, updated: between blocks (*used == 0) it is the last ciphertext block (CFB) or the
 * last output block (OFB); in mid-block it holds the block in use, its first *used bytes for CFB
 * replaced by ciphertext, exactly as in libcrypto's CRYPTO_cfb128_encrypt and
 * CRYPTO_ofb128_encrypt.
 */
TR_API enum tr_status tr_cfb128_encrypt(const struct tr_aes_key *key, uint8_t iv[16],
                                        unsigned *used, uint8_t *out, const uint8_t *in,
                                        size_t len);
TR_API enum tr_status tr_cfb128_decrypt(const struct tr_aes_key *key, uint8_t iv[16],
                                        unsigned *used, uint8_t *out, const uint8_t *in,
                                        size_t len);
TR_API enum tr_status tr_ofb(const struct tr_aes_key *key, uint8_t iv[16], unsigned *used,
                             uint8_t *out, const uint8_t *in, size_t len);

/*
 * CTR (6.5, B.1 with m = 128): any length; encryption and decryption are the same. counter is the
 * next counter block, a 128-bit big-endian number that wraps; keystream holds the block in use, of
 * which *used bytes, 0 to 15, are spent (0: none is in use). Before the first call *used is 0 and
 * keystream may hold anything.
 */
TR_API enum tr_status tr_ctr(const struct tr_aes_key *key, uint8_t counter[16],
                             uint8_t keystream[16], unsigned *used, uint8_t *out, const uint8_t *in,
                             size_t len);

/*
 * CFB with segments of 8 bits and of 1 bit (6.3): any number of them; iv is the shift register, updated.
 * CFB1 takes a length in bits, the highest bit of a byte first; bits of the last byte of out that are
 * not reached keep their value. Encryption costs a block a segment, one after the other: 16 or 128 times
 * as much as CFB128. Decryption is parallel.
 */
TR_API enum tr_status tr_cfb8_encrypt(const struct tr_aes_key *key, uint8_t iv[16], uint8_t *out,
                                      const uint8_t *in, size_t len);
TR_API enum tr_status tr_cfb8_decrypt(const struct tr_aes_key *key, uint8_t iv[16], uint8_t *out,
                                      const uint8_t *in, size_t len);
TR_API enum tr_status tr_cfb1_encrypt(const struct tr_aes_key *key, uint8_t iv[16], uint8_t *out,
                                      const uint8_t *in, size_t bits);
TR_API enum tr_status tr_cfb1_decrypt(const struct tr_aes_key *key, uint8_t iv[16], uint8_t *out,
                                      const uint8_t *in, size_t bits);

/*
 * CBC with ciphertext stealing (SP 800-38A addendum): a whole message, at least 16 bytes (else
 * TR_ERR_LENGTH), as long as its plaintext. The last two blocks of ciphertext are, in CS1, cut and full;
 * in CS2 swapped, full and cut, if the last one is not full; in CS3 always swapped if there are two (as
 * in RFC 3962). iv is updated to the last output of the cipher: the full one of the two.
 */
enum tr_cts { TR_CS1 = 1, TR_CS2, TR_CS3 };
TR_API enum tr_status tr_cbc_cts_encrypt(const struct tr_aes_key *key, enum tr_cts form,
                                         uint8_t iv[16], uint8_t *out, const uint8_t *in,
                                         size_t len);
TR_API enum tr_status tr_cbc_cts_decrypt(const struct tr_aes_key *key, enum tr_cts form,
                                         uint8_t iv[16], uint8_t *out, const uint8_t *in,
                                         size_t len);

/* ---- Key wrap (NIST SP 800-38F, RFC 3394 and 5649) ------------------------------------------- */

/*
 * KW (6.2) wraps len = 16, 24, .. bytes, below 2^31, into len + 8; unwrapping takes len = 24, 32, ..
 * and writes len - 8. KWP (6.3) wraps any 1 to 2^31 - 1 bytes into len rounded up to a multiple of 8,
 * and 8 more; unwrapping takes len = 16, 24, .., needs len - 8 bytes of room, and stores in *out_len how
 * many of them are the plaintext. Other lengths: TR_ERR_LENGTH.
 *
 * iv is the 8 bytes of the integrity check value (KW), icv its first 4 (KWP), or NULL for the standard's.
 * Where it is not found again, TR_ERR_TAG, and zeros are in out. A non-zero inverse wraps with AES's
 * inverse cipher and unwraps with the forward one (5.1). in and out may overlap in any way, other than elsewhere:
 * a key is often unwrapped within one buffer, and all of it is moved first.
 */
TR_API enum tr_status tr_kw_wrap(const struct tr_aes_key *key, int inverse, const uint8_t *iv,
                                 uint8_t *out, const uint8_t *in, size_t len);
TR_API enum tr_status tr_kw_unwrap(const struct tr_aes_key *key, int inverse, const uint8_t *iv,
                                   uint8_t *out, const uint8_t *in, size_t len) TR_MUST_CHECK;
TR_API enum tr_status tr_kwp_wrap(const struct tr_aes_key *key, int inverse, const uint8_t *icv,
                                  uint8_t *out, const uint8_t *in, size_t len);
TR_API enum tr_status tr_kwp_unwrap(const struct tr_aes_key *key, int inverse, const uint8_t *icv,
                                    uint8_t *out, size_t *out_len, const uint8_t *in,
                                    size_t len) TR_MUST_CHECK;

/* ---- XTS (NIST SP 800-38E, IEEE 1619) ---------------------------------------------------------- */

struct tr_xts {
    struct tr_aes_key data, tweak;
    uint8_t equal; /* the two keys are the same; may be read */
} TR_ALIGNED(16);

/*
 * raw is both keys, that for data first: key_len is 32 or 64 (else TR_ERR_KEY_LENGTH; there is no
 * XTS-AES-192). Equal keys are accepted here, because old data may have to be decrypted; encryption with
 * them is TR_ERR_EQUAL_KEYS.
 */
TR_API enum tr_status tr_xts_set_key(struct tr_xts *xts, const struct tr_backend *backend,
                                     const uint8_t *raw, size_t key_len) TR_MUST_CHECK;

/* One data unit of 16 to 2^24 bytes (IEEE 1619 5.1; else TR_ERR_LENGTH), with ciphertext stealing where
 * it is not whole blocks. tweak is the number of the unit, little-endian. */
TR_API enum tr_status tr_xts_encrypt(const struct tr_xts *xts, const uint8_t tweak[16],
                                     uint8_t *out, const uint8_t *in, size_t len);
TR_API enum tr_status tr_xts_decrypt(const struct tr_xts *xts, const uint8_t tweak[16],
                                     uint8_t *out, const uint8_t *in, size_t len);

/* ---- Many messages at once ------------------------------------------------------------------------ */

/*
 * Encryption in CBC and CFB, CMAC and CCM's tag are chains: one message waits for the latency of every round and
 * leaves most of the processor idle. These calls take any number of messages and keep as many chains going
 * side by side as it takes. The jobs may differ in key, key size, backend and length, in any order; where a
 * message ends, the next one begins. The results are those of one call for each job.
 *
 * No job's output (out, iv, tag) may overlap what another job reads or writes; inputs may be shared, and so
 * may keys. An error is that of the first job that has one, and then nothing was written for any of them.
 * count may be 0.
 */

/* One message in CBC or CFB, from the start of a block on. */
struct tr_stream {
    const struct tr_aes_key *key;
    uint8_t *iv;  /* 16 bytes, updated as by the call for one message */
    uint8_t *out; /* in itself, or disjoint from it */
    const uint8_t *in;
    size_t len; /* in CBC a multiple of 16 */
};
TR_API enum tr_status tr_cbc_encrypt_many(const struct tr_stream *jobs, size_t count);
TR_API enum tr_status tr_cfb128_encrypt_many(const struct tr_stream *jobs, size_t count);

/* ---- CMAC (NIST SP 800-38B, RFC 4493) ----------------------------------------------------------- */

/* Treat as opaque. */
struct tr_cmac {
    struct tr_aes_key key;
    uint8_t subkey[2][TR_BLOCK]; /* K1 for a full last block, K2 for any other */
    uint8_t chain[TR_BLOCK];
    uint8_t buffer[TR_BLOCK]; /* of which used bytes, 0 to 16, wait: the last block is held back */
    unsigned used;
    uint8_t phase;
} TR_ALIGNED(16);

/* A message is: start, data in any pieces, then the tag or the check; any other order is TR_ERR_STATE.
 * The tag is cut to its first tag_len bytes, 1 to 16 (else TR_ERR_TAG_LENGTH). */
TR_API enum tr_status tr_cmac_set_key(struct tr_cmac *cmac, const struct tr_backend *backend,
                                      const uint8_t *raw, size_t key_len) TR_MUST_CHECK;
TR_API enum tr_status tr_cmac_start(struct tr_cmac *cmac);
TR_API enum tr_status tr_cmac_update(struct tr_cmac *cmac, const uint8_t *data, size_t len);
TR_API enum tr_status tr_cmac_tag(struct tr_cmac *cmac, uint8_t *tag, size_t tag_len);
TR_API enum tr_status tr_cmac_check(struct tr_cmac *cmac, const uint8_t *tag, size_t tag_len);

/* A whole message in one call. */
TR_API enum tr_status tr_cmac_sign(struct tr_cmac *cmac, const uint8_t *data, size_t len,
                                   uint8_t *tag, size_t tag_len);
TR_API enum tr_status tr_cmac_verify(struct tr_cmac *cmac, const uint8_t *data, size_t len,
                                     const uint8_t *tag, size_t tag_len) TR_MUST_CHECK;

/* Many messages at once (see above). */
struct tr_cmac_job {
    const struct tr_cmac *cmac; /* keyed; jobs may share it */
    const uint8_t *data;
    size_t len;
    uint8_t tag[TR_BLOCK];     /* the whole tag */
    uint8_t working[TR_BLOCK]; /* of the call's own */
};
TR_API enum tr_status tr_cmac_sign_many(struct tr_cmac_job *jobs, size_t count);

/* ---- GCM (NIST SP 800-38D) ------------------------------------------------------------------- */

/* GHASH (6.4). Treat as opaque. Powers for 32 blocks in one sum with AAD and lengths. */
#define TR_GHASH_POWERS 36u
struct tr_ghash {
#ifdef TR_SHARED_POWERS /* whoever sets the key says where: messages at the same time share them */
    uint8_t (*power)[TR_BLOCK];
#else
    uint8_t power[TR_GHASH_POWERS][TR_BLOCK]; /* of the hash key, in the backend's form */
    uint8_t square[TR_GHASH_POWERS]
                  [TR_BLOCK]; /* without carry-less multiplication, of its square */
#endif
    uint8_t h[TR_BLOCK];    /* the hash key */
    uint8_t hash[TR_BLOCK]; /* the running hash */
    unsigned powers;        /* so many are there; more come when a message first needs them */
} TR_ALIGNED(16);

/* One key, and one message at a time. Treat as opaque. */
struct tr_gcm {
    struct tr_aes_key key;
    struct tr_gcm_run {
        struct tr_ghash ghash;
        uint8_t counter[TR_BLOCK];   /* the next counter block; its last 32 bits count */
        uint8_t mask[TR_BLOCK];      /* the first counter block, encrypted */
        uint8_t keystream[TR_BLOCK]; /* of which used bytes are spent */
        uint8_t mask_due,
            keystream_due; /* these are still to be made, the latter from counter, after the blocks */
        uint8_t phase;     /* enum in gcm.c */
        uint8_t counter_is_secret; /* it was made with the hash key: no branch may ask for it */
        unsigned used;             /* bytes in the block begun, of AAD or of data */
    } run;
    uint64_t aad_len, len; /* bytes so far */
} TR_ALIGNED(16);

/*
 * A message is: start, AAD in any pieces, then data in any pieces, then the tag. The functions return
 * TR_ERR_STATE for any other order; after the tag a new start is needed, with an IV that this key
 * has never seen: reuse gives away the hash key and the xor of plaintexts.
 *
 * iv_len is at least 1, best 12 (5.2.1.1; else TR_ERR_IV_LENGTH). A message has at most 2^36 - 32
 * bytes, AAD at most 2^61 - 1 (else TR_ERR_LENGTH, and nothing of that call was done). AAD may not
 * overlap out.
 */
TR_API enum tr_status tr_gcm_set_key(struct tr_gcm *gcm, const struct tr_backend *backend,
                                     const uint8_t *raw, size_t key_len) TR_MUST_CHECK;
TR_API enum tr_status tr_gcm_start(struct tr_gcm *gcm, const uint8_t *iv, size_t iv_len);
TR_API enum tr_status tr_gcm_aad(struct tr_gcm *gcm, const uint8_t *aad, size_t len);
TR_API enum tr_status tr_gcm_encrypt(struct tr_gcm *gcm, uint8_t *out, const uint8_t *in,
                                     size_t len);
/* The plaintext is not to be used before tr_gcm_check() has said TR_OK. */
TR_API enum tr_status tr_gcm_decrypt(struct tr_gcm *gcm, uint8_t *out, const uint8_t *in,
                                     size_t len);

/* The first tag_len bytes of the tag, 1 to 16 (4, 8, 12 to 16 by 5.2.1.2; else TR_ERR_TAG_LENGTH), or
 * the comparison with them, in constant time: TR_ERR_TAG if they differ. */
TR_API enum tr_status tr_gcm_tag(struct tr_gcm *gcm, uint8_t *tag, size_t tag_len);
TR_API enum tr_status tr_gcm_check(struct tr_gcm *gcm, const uint8_t *tag, size_t tag_len);

/* A whole message in one call. A message whose tag is wrong leaves zeros in out. */
TR_API enum tr_status tr_gcm_seal(struct tr_gcm *gcm, const uint8_t *iv, size_t iv_len,
                                  const uint8_t *aad, size_t aad_len, uint8_t *out,
                                  const uint8_t *in, size_t len, uint8_t *tag, size_t tag_len);
TR_API enum tr_status tr_gcm_open(struct tr_gcm *gcm, const uint8_t *iv, size_t iv_len,
                                  const uint8_t *aad, size_t aad_len, uint8_t *out,
                                  const uint8_t *in, size_t len, const uint8_t *tag,
                                  size_t tag_len) TR_MUST_CHECK;

/* ---- CCM (NIST SP 800-38C) ------------------------------------------------------------------- */

/* Treat as opaque. */
struct tr_ccm {
    struct tr_aes_key key;
    struct tr_ccm_run {
        uint8_t mac[TR_BLOCK]; /* the chaining value of the CBC-MAC */
        uint8_t counter[TR_BLOCK];
    } run;
    uint8_t tag_mask[TR_BLOCK];  /* counter block 0, encrypted */
    uint8_t keystream[TR_BLOCK]; /* of which used bytes are spent */
    uint64_t aad_left, left;     /* bytes to come */
    unsigned used;               /* bytes in the block begun, of AAD or of data */
    uint8_t tag_len, phase;
} TR_ALIGNED(16);

/*
 * CCM knows the lengths beforehand: start announces them, with nonce_len = 7 to 13 (else TR_ERR_IV_LENGTH),
 * tag_len = 4, 6, .. 16 (else TR_ERR_TAG_LENGTH) and len below 2^(8 (15 - nonce_len)) (else TR_ERR_LENGTH).
 * Then AAD and after it data, in any pieces that add up to these; more than announced is TR_ERR_LENGTH,
 * data before the AAD is complete, or a tag before all data is there, TR_ERR_STATE. After the tag a new
 * start is needed, with a nonce that this key has never seen. AAD may not overlap out.
 */
TR_API enum tr_status tr_ccm_set_key(struct tr_ccm *ccm, const struct tr_backend *backend,
                                     const uint8_t *raw, size_t key_len) TR_MUST_CHECK;
TR_API enum tr_status tr_ccm_start(struct tr_ccm *ccm, const uint8_t *nonce, size_t nonce_len,
                                   size_t tag_len, uint64_t aad_len, uint64_t len);
TR_API enum tr_status tr_ccm_aad(struct tr_ccm *ccm, const uint8_t *aad, size_t len);
TR_API enum tr_status tr_ccm_encrypt(struct tr_ccm *ccm, uint8_t *out, const uint8_t *in,
                                     size_t len);
/* The plaintext is not to be used before tr_ccm_check() has said TR_OK. */
TR_API enum tr_status tr_ccm_decrypt(struct tr_ccm *ccm, uint8_t *out, const uint8_t *in,
                                     size_t len);
/* tag is as long as start said. */
TR_API enum tr_status tr_ccm_tag(struct tr_ccm *ccm, uint8_t *tag);
TR_API enum tr_status tr_ccm_check(struct tr_ccm *ccm, const uint8_t *tag);

/* A whole message in one call. A message whose tag is wrong leaves zeros in out. */
TR_API enum tr_status tr_ccm_seal(struct tr_ccm *ccm, const uint8_t *nonce, size_t nonce_len,
                                  const uint8_t *aad, size_t aad_len, uint8_t *out,
                                  const uint8_t *in, size_t len, uint8_t *tag, size_t tag_len);
TR_API enum tr_status tr_ccm_open(struct tr_ccm *ccm, const uint8_t *nonce, size_t nonce_len,
                                  const uint8_t *aad, size_t aad_len, uint8_t *out,
                                  const uint8_t *in, size_t len, const uint8_t *tag,
                                  size_t tag_len) TR_MUST_CHECK;

/* Many messages at once (see above), each with an object of its own. Opening returns TR_ERR_TAG if any of the tags is
 * wrong, and status says which: those messages leave zeros in out, the others are good. */
struct tr_ccm_job {
    struct tr_ccm *ccm; /* keyed */
    const uint8_t *nonce;
    size_t nonce_len;
    const uint8_t *aad;
    size_t aad_len;
    uint8_t *out;
    const uint8_t *in;
    size_t len;
    uint8_t *tag; /* written by seal, read by open */
    size_t tag_len;
    enum tr_status status; /* written */
};
TR_API enum tr_status tr_ccm_seal_many(struct tr_ccm_job *jobs, size_t count);
TR_API enum tr_status tr_ccm_open_many(struct tr_ccm_job *jobs, size_t count) TR_MUST_CHECK;

/* ---- OCB (RFC 7253) ----------------------------------------------------------------------------- */

/* Treat as opaque. */
#define TR_OCB_POWERS 16u
struct tr_ocb {
    struct tr_aes_key key;
    struct tr_ocb_run {
        uint8_t l[TR_OCB_POWERS][TR_BLOCK]; /* L_0, L_1, .. (4.1) */
        uint8_t offset[TR_BLOCK];           /* of the block before */
        uint8_t checksum[TR_BLOCK];
        uint64_t index; /* whole blocks so far */
    } run, aad;         /* aad: its checksum is the sum of HASH (4.1); it has no l of its own */
    uint8_t l_star[TR_BLOCK], l_dollar[TR_BLOCK];
    uint8_t buffer[TR_BLOCK]; /* of AAD, of which used bytes wait */
    unsigned used;
    uint8_t tag_len, phase;
} TR_ALIGNED(16);

/*
 * A message is: start, with nonce_len = 1 to 15 (else TR_ERR_IV_LENGTH) and tag_len = 1 to 16 (else
 * TR_ERR_TAG_LENGTH); then AAD and data, in any order and pieces, of which those of data but for the last
 * are whole blocks (data after one that is not: TR_ERR_STATE); then the tag. After it a new start is
 * needed, with a nonce that this key has never seen. AAD may not overlap out.
 */
TR_API enum tr_status tr_ocb_set_key(struct tr_ocb *ocb, const struct tr_backend *backend,
                                     const uint8_t *raw, size_t key_len) TR_MUST_CHECK;
TR_API enum tr_status tr_ocb_start(struct tr_ocb *ocb, const uint8_t *nonce, size_t nonce_len,
                                   size_t tag_len);
TR_API enum tr_status tr_ocb_aad(struct tr_ocb *ocb, const uint8_t *aad, size_t len);
TR_API enum tr_status tr_ocb_encrypt(struct tr_ocb *ocb, uint8_t *out, const uint8_t *in,
                                     size_t len);
/* The plaintext is not to be used before tr_ocb_check() has said TR_OK. */
TR_API enum tr_status tr_ocb_decrypt(struct tr_ocb *ocb, uint8_t *out, const uint8_t *in,
                                     size_t len);
/* tag is as long as start said. */
TR_API enum tr_status tr_ocb_tag(struct tr_ocb *ocb, uint8_t *tag);
TR_API enum tr_status tr_ocb_check(struct tr_ocb *ocb, const uint8_t *tag);

/* A whole message in one call. A message whose tag is wrong leaves zeros in out. */
TR_API enum tr_status tr_ocb_seal(struct tr_ocb *ocb, const uint8_t *nonce, size_t nonce_len,
                                  const uint8_t *aad, size_t aad_len, uint8_t *out,
                                  const uint8_t *in, size_t len, uint8_t *tag, size_t tag_len);
TR_API enum tr_status tr_ocb_open(struct tr_ocb *ocb, const uint8_t *nonce, size_t nonce_len,
                                  const uint8_t *aad, size_t aad_len, uint8_t *out,
                                  const uint8_t *in, size_t len, const uint8_t *tag,
                                  size_t tag_len) TR_MUST_CHECK;

/* ---- SIV (RFC 5297) ----------------------------------------------------------------------------- */

/* Treat as opaque. */
struct tr_siv {
    struct tr_cmac mac; /* with K1 */
    struct tr_aes_key ctr;
    uint8_t zero[TR_BLOCK]; /* CMAC of a block of zeros, where S2V begins */
    /* May be read and, between calls, written by a host that has to (libcrypto's contexts, which a
     * message does not end): */
    uint8_t sum[TR_BLOCK]; /* D of S2V (2.4) so far, without the data */
    uint8_t components;    /* of AAD */
    uint8_t phase;
} TR_ALIGNED(16);

/*
 * raw is two keys, K1 first: key_len is 32, 48 or 64 (else TR_ERR_KEY_LENGTH). A message is: start; for
 * each component of the AAD one call, a nonce being the last one, at most 126 (else TR_ERR_LENGTH); then
 * all of the data in one call. The tag, 16 bytes, is what the RFC calls V and puts before the ciphertext.
 * Decryption with a wrong tag is TR_ERR_TAG and leaves zeros in out. After either a new start is needed, or
 * again: it begins a message with the AAD that the last one had, to which more components can be added.
 */
TR_API enum tr_status tr_siv_set_key(struct tr_siv *siv, const struct tr_backend *backend,
                                     const uint8_t *raw, size_t key_len) TR_MUST_CHECK;
TR_API enum tr_status tr_siv_start(struct tr_siv *siv);
TR_API enum tr_status tr_siv_again(struct tr_siv *siv);
TR_API enum tr_status tr_siv_aad(struct tr_siv *siv, const uint8_t *aad, size_t len);
TR_API enum tr_status tr_siv_encrypt(struct tr_siv *siv, uint8_t *out, const uint8_t *in,
                                     size_t len, uint8_t tag[16]);
TR_API enum tr_status tr_siv_decrypt(struct tr_siv *siv, uint8_t *out, const uint8_t *in,
                                     size_t len, const uint8_t tag[16]) TR_MUST_CHECK;

/* A whole message in one call, with one component of AAD, or none if aad is NULL. */
TR_API enum tr_status tr_siv_seal(struct tr_siv *siv, const uint8_t *aad, size_t aad_len,
                                  uint8_t *out, const uint8_t *in, size_t len, uint8_t tag[16]);
TR_API enum tr_status tr_siv_open(struct tr_siv *siv, const uint8_t *aad, size_t aad_len,
                                  uint8_t *out, const uint8_t *in, size_t len,
                                  const uint8_t tag[16]) TR_MUST_CHECK;

/* ---- GCM-SIV (RFC 8452) ------------------------------------------------------------------------- */

/* Treat as opaque. */
struct tr_gcm_siv {
    struct tr_aes_key generator; /* the key-generating key (4) */
    struct tr_aes_key key;       /* the message-encryption key of this nonce */
    struct tr_ghash ghash;       /* POLYVAL by way of GHASH (appendix A) */
    uint8_t nonce[12];
    uint8_t buffer[TR_BLOCK]; /* of AAD, of which used bytes wait */
    uint64_t aad_len;
    unsigned used;
    uint8_t phase;
} TR_ALIGNED(16);

/*
 * key_len is 16 or 32; 24, which the RFC does not have, is done as OpenSSL does it (else
 * TR_ERR_KEY_LENGTH). A message is: start, AAD in any pieces, then all of the data in one call; each of the two is at most 2^36 bytes (else
 * TR_ERR_LENGTH). The tag, 16 bytes, follows the ciphertext in the RFC. Decryption with a wrong tag is
 * TR_ERR_TAG and leaves zeros in out. After either a new start is needed, with a nonce that should be
 * new, but reuse only shows that a message was repeated.
 */
TR_API enum tr_status tr_gcm_siv_set_key(struct tr_gcm_siv *gcm_siv,
                                         const struct tr_backend *backend, const uint8_t *raw,
                                         size_t key_len) TR_MUST_CHECK;
TR_API enum tr_status tr_gcm_siv_start(struct tr_gcm_siv *gcm_siv, const uint8_t nonce[12]);
TR_API enum tr_status tr_gcm_siv_aad(struct tr_gcm_siv *gcm_siv, const uint8_t *aad, size_t len);
TR_API enum tr_status tr_gcm_siv_encrypt(struct tr_gcm_siv *gcm_siv, uint8_t *out,
                                         const uint8_t *in, size_t len, uint8_t tag[16]);
TR_API enum tr_status tr_gcm_siv_decrypt(struct tr_gcm_siv *gcm_siv, uint8_t *out,
                                         const uint8_t *in, size_t len,
                                         const uint8_t tag[16]) TR_MUST_CHECK;

/* A whole message in one call. */
TR_API enum tr_status tr_gcm_siv_seal(struct tr_gcm_siv *gcm_siv, const uint8_t nonce[12],
                                      const uint8_t *aad, size_t aad_len, uint8_t *out,
                                      const uint8_t *in, size_t len, uint8_t tag[16]);
TR_API enum tr_status tr_gcm_siv_open(struct tr_gcm_siv *gcm_siv, const uint8_t nonce[12],
                                      const uint8_t *aad, size_t aad_len, uint8_t *out,
                                      const uint8_t *in, size_t len,
                                      const uint8_t tag[16]) TR_MUST_CHECK;

/* ---- One streaming object for all modes ------------------------------------------------------ */

enum tr_mode { TR_MODE_NONE = 0, TR_ECB, TR_CBC, TR_CFB128, TR_OFB, TR_CTR };

/*
 * The fields may be read and, between calls, written by a host that has to (libcrypto's "num" and
 * "updated-iv" parameters): iv as the mode functions above define it; buffer the keystream block
 * (CTR) or the input that waits for a whole block (ECB, CBC); used the number of its bytes in use.
 */
struct tr_cipher {
    struct tr_aes_key key;
    uint8_t iv[TR_BLOCK];
    uint8_t buffer[TR_BLOCK];
    unsigned used; /* 0 to 15; 0 to 16 when decrypting with padding, which holds back one block */
    uint8_t mode;  /* enum tr_mode */
    uint8_t decrypt;
    uint8_t padding; /* PKCS#7, ECB and CBC only */
} TR_ALIGNED(16);

/*
 * Starts a message: sets mode, direction and IV (16 bytes; NULL only for ECB), clears the buffer.
 * The key has been set with tr_aes_set_key(&cipher->key, ...), before or after. padding is ignored
 * but for ECB and CBC.
 */
TR_API enum tr_status tr_cipher_start(struct tr_cipher *cipher, enum tr_mode mode, int decrypt,
                                      int padding, const uint8_t *iv);

/*
 * Processes len bytes of in, any number, 0 included. Writes at most tr_cipher_room() bytes to out
 * and stores how many in *out_len. Where out == in and bytes of an earlier call wait in the buffer,
 * the output runs ahead of the input; if a byte would be overwritten before it was read, the call
 * is refused with TR_ERR_OVERLAP and nothing happens.
 */
TR_API enum tr_status tr_cipher_update(struct tr_cipher *cipher, uint8_t *out, size_t *out_len,
                                       const uint8_t *in, size_t len);

/* The number of bytes that tr_cipher_update() would write for len bytes of input now. */
TR_API size_t tr_cipher_room(const struct tr_cipher *cipher, size_t len);

/*
 * Ends a message: writes the last block, 0 to 16 bytes. With padding, encryption always writes a
 * block; decryption verifies the padding (TR_ERR_PADDING) and writes what precedes it; nothing else
 * in tenrounds tells a wrong padding apart from a right one. Without padding, bytes that wait for a
 * whole block are TR_ERR_LENGTH. After success the buffer is empty.
 */
TR_API enum tr_status tr_cipher_final(struct tr_cipher *cipher, uint8_t out[16], size_t *out_len);

#ifdef __cplusplus
}
#endif
#endif
