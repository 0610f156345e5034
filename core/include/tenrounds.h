/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tenrounds.h - AES at the speed the processor can reach.
 *
 * Encrypt a message with AES-128-GCM, decrypt it, and check every result:
 *
 *     struct tr_gcm_key key;
 *     uint8_t nonce[12] = {...}; // never twice under one key
 *     uint8_t tag[16];
 *
 *     if (tr_gcm_set_key(&key, NULL, raw_key, 16) != TR_OK) // NULL: the best backend
 *         return -1;
 *     if (tr_gcm_seal(&key, nonce, 12, aad, aad_len, ciphertext, text, len, tag, 16) != TR_OK)
 *         return -1;
 *     if (tr_gcm_open(&key, nonce, 12, aad, aad_len, text, ciphertext, len, tag, 16) != TR_OK)
 *         return -1; // forged or damaged: text holds zeros
 *     tr_cleanse(&key, sizeof(key));
 *
 * Four groups of functions, each usable alone:
 *
 *   - features, masks and backends: what the processor offers and which code is selected;
 *   - modes with a struct tr_aes_key: tr_ecb_*, tr_cbc_*, tr_cbc_cts_*, tr_cfb128_*, tr_cfb8_*,
 *     tr_cfb1_*, tr_ofb, tr_ctr, tr_kw_*, tr_kwp_*; and tr_xts_* with a struct tr_xts_key;
 *   - authenticated modes and CMAC, each with its key type and its message type: tr_gcm_*,
 *     tr_ccm_*, tr_ocb_*, tr_siv_*, tr_gcm_siv_*, tr_cmac_*;
 *   - struct tr_cipher: one streaming object for ECB, CBC, CFB, OFB and CTR, with PKCS#7 padding
 *     for ECB and CBC.
 *
 * Rules that hold everywhere
 *
 *   Units      Lengths are in bytes, except that CFB1 counts bits. A block is TR_BLOCK = 16 bytes.
 *              An AES key is 16, 24 or 32 bytes. XTS and SIV take two AES keys in one buffer.
 *   Overlap    The output may begin before the input, at the same address, or after its end. Output
 *              that begins inside the input gives TR_ERR_OVERLAP; only key wrap and tr_ecb_masks()
 *              allow it. Sealing writes the tag last, so it may follow output that overwrites
 *              input. Opening reads the tag last, so a tag to check must not lie in the output.
 *   Alignment  Buffers of data need no alignment.
 *   Memory     The library allocates nothing. The caller owns every object, may copy it by
 *              assignment, and cleanses it with tr_cleanse() after the last use. Copy a key only
 *              while no other thread uses it. A copied message refers to the same key as the
 *              original.
 *   Keys       A key object (struct tr_*_key) is set once. Every later call takes it as const. Any
 *              number of threads may use one key at the same time, in any calls, without a lock.
 *              Key objects must stay in writable memory, because a GCM call may add powers of the
 *              hash subkey to its key. GCM calls publish these powers atomically.
 *   Messages   A message object (struct tr_gcm, tr_ccm, tr_ocb, tr_siv, tr_gcm_siv, tr_cmac,
 *              tr_cipher) belongs to one thread at a time. The message refers to its key, and the
 *              key must outlive the message. Modes without a message object keep their position in
 *              the caller's variables `iv`, `counter`, `keystream` and `*used`. These variables
 *              belong to one thread, too.
 *   Unset keys Calls that need a set key or a started message return TR_ERR_STATE if all bytes of
 *              that object are zero (initialized with zeros, or cleansed). Such a call with any
 *              other uninitialized object is undefined behaviour.
 *   Errors     Every function that can fail returns enum tr_status. An error other than TR_ERR_TAG
 *              leaves the output and all objects unchanged. A call with a parameter out_len then
 *              sets *out_len to 0. (The results of tr_mask_parse() and tr_select() are valid after
 *              an error, too.) If several errors apply, the function may return any of them.
 *              After TR_ERR_TAG from a call that also decrypts (tr_*_open, tr_*_unwrap,
 *              tr_siv_decrypt, tr_gcm_siv_decrypt) the whole output holds zeros. TR_ERR_TAG from
 *              tr_*_check and tr_*_verify ends the message, and the caller must discard the
 *              plaintext.
 *   Threads    The library writes only four global variables, and stores them atomically: the
 *              selected backend, the selected row of the table of microarchitectures, and the
 *              results of the known-answer tests of multi-buffer code and of many GCM messages.
 *   Stack      The first selection runs known-answer tests and needs up to 16 KiB of stack.
 *              Multi-buffer calls (tr_*_many, tr_ecb_masks) and tr_backend_self_test() need up to
 *              64 KiB, all other calls up to 12 KiB.
 *   Time       No branch, memory index or instruction timing depends on key or data. Lengths, modes
 *              and offsets are public.
 *
 * Sources: FIPS-197 (AES), NIST SP 800-38A (ECB, CBC, CFB, OFB, CTR) and its addendum (ciphertext
 * stealing), SP 800-38B (CMAC), 38C (CCM), 38D (GCM), 38E with IEEE 1619 (XTS), 38F with RFC 3394
 * and 5649 (key wrap), RFC 7253 (OCB), 5297 (SIV), 8452 (GCM-SIV), 5652 section 6.3 (padding).
 */
#ifndef TENROUNDS_H
#define TENROUNDS_H

#include <stddef.h>
#include <stdint.h>

#define TR_VERSION_STRING "0.2.0"
#define TR_BLOCK          16u

#if defined(__GNUC__)
#    ifndef TR_API /* a program that compiles the core into itself defines it as nothing */
#        define TR_API __attribute__((visibility("default")))
#    endif
#    define TR_ALIGNED(n) __attribute__((aligned(n)))
#    define TR_MUST_CHECK __attribute__((warn_unused_result))
#else
#    error "tenrounds needs gcc or clang"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors --------------------------------------------------------------------------------- */

enum tr_status {
    TR_OK = 0,
    TR_ERR_KEY_LENGTH, /* the mode takes no key of this length; most take 16, 24 or 32 */
    TR_ERR_LENGTH,     /* the mode takes no data of this length, or *used is above 15 */
    TR_ERR_OVERLAP,    /* the output begins inside the input */
    TR_ERR_PADDING,    /* the last block does not end in PKCS#7 padding */
    TR_ERR_MODE,       /* there is no such mode or feature */
    TR_ERR_SELF_TEST,  /* a known-answer test failed */
    TR_ERR_IV_LENGTH,  /* the mode takes no IV of this length */
    TR_ERR_TAG_LENGTH, /* the mode takes no tag of this length */
    TR_ERR_TAG,        /* the tag does not match: discard the message */
    TR_ERR_STATE,      /* the object was never set or started, or the calls are out of order */
    TR_ERR_EQUAL_KEYS  /* both halves of an XTS key are equal, so encryption would not be safe */
};

/* Describes a status in one English sentence, without a full stop. Never returns NULL, even for
 * values outside the enum. */
TR_API const char *tr_strerror(enum tr_status status);

/* The version of the running library, "major.minor.patch". Compare it with TR_VERSION_STRING, the
 * version of this header. */
TR_API const char *tr_version(void);

/* Overwrites `len` bytes with zeros in a way that the compiler may not remove. */
TR_API void tr_cleanse(void *memory, size_t len);

/* ---- Features of the processor -------------------------------------------------------------- */

/* A set of features. A feature is usable only if the operating system saves its registers. For
 * avx2, XGETBV must report the YMM registers; for avx512, also the ZMM and mask registers. */
typedef uint32_t tr_features;

#define TR_FEATURE_AES    (1u << 0) /* AES-NI (AESENC, .., 128 bits); Arm: AESE, .. */
#define TR_FEATURE_CLMUL  (1u << 1) /* PCLMULQDQ; Arm: PMULL of 64 bits */
#define TR_FEATURE_SSSE3  (1u << 2) /* PSHUFB */
#define TR_FEATURE_AVX    (1u << 3)
#define TR_FEATURE_AVX2   (1u << 4)
#define TR_FEATURE_AVX512 (1u << 5)  /* AVX-512 F, BW and VL, and BMI2, together */
#define TR_FEATURE_VAES   (1u << 6)  /* VAES: AES on YMM registers, with avx512 also on ZMM */
#define TR_FEATURE_VCLMUL (1u << 7)  /* VPCLMULQDQ */
#define TR_FEATURE_SHA    (1u << 8)  /* SHA-NI, for hosts that interleave a hash with AES */
#define TR_FEATURE_NEON   (1u << 9)  /* Arm: Advanced SIMD */
#define TR_FEATURE_SHA3   (1u << 10) /* Arm: SHA-3 extension, for hosts */
#define TR_FEATURE_COUNT  11u

struct tr_cpu {
    /* The features that CPUID reports. On Arm, the features that the kernel reports
     * (getauxval(3)). */
    tr_features present;
    tr_features usable; /* the present features whose registers the system saves */
    uint64_t xcr0;      /* the value of XGETBV(0); 0 without XSAVE */
};

TR_API void tr_cpu_detect(struct tr_cpu *cpu);

/* The name of a feature: "aes", "clmul", .. for the indices 0 to TR_FEATURE_COUNT - 1. NULL for
 * higher indices. */
TR_API const char *tr_feature_name(unsigned index);

/*
 * Reads a mask: feature names, each with the prefix "no", separated by commas or blanks. An example
 * is "noavx512,novaes". Stores the features to be masked in *masked. NULL and "" mask nothing.
 *
 * An unknown word gives TR_ERR_MODE. If `bad` is not NULL, *bad then points at the first unknown
 * word. The other words still apply, so that a typing error affects only one word.
 *
 * The word "avx512" masks nothing. It permits 512-bit registers on processors where tr_select()
 * would avoid them (see `avoided` in struct tr_selection). The word "noavx512" overrides it.
 */
TR_API enum tr_status tr_mask_parse(const char *text, tr_features *masked, const char **bad);

/* ---- Backends ------------------------------------------------------------------------------- */

/* An implementation of AES for one kind of processor: a constant table of bulk operations. */
struct tr_backend;

/* The backends of this build, strongest first; NULL past the last one. The last backend,
 * "bitslice", runs on every processor. */
TR_API const struct tr_backend *tr_backend_at(unsigned index);
TR_API const struct tr_backend *tr_backend_by_name(const char *name);
TR_API const char *tr_backend_name(const struct tr_backend *backend);
/* The features that must be usable for the backend to run. */
TR_API tr_features tr_backend_features(const struct tr_backend *backend);

/* Runs a backend's known-answer tests on the calling thread. The tests cover all operations in both
 * directions and with all key sizes, at lengths that reach every loop and tail. They also cover the
 * multi-buffer code. With AES instructions, all tests take about 0.1 ms. The processor must have
 * the backend's features. */
TR_API enum tr_status tr_backend_self_test(const struct tr_backend *backend) TR_MUST_CHECK;

struct tr_selection {
    const struct tr_backend *backend; /* the choice, or NULL if even the weakest backend failed */
    struct tr_cpu cpu;
    tr_features masked;   /* the features that the caller masked */
    tr_features avoided;  /* avx512, if 512-bit registers lower the clock and do not speed up AES */
    uint32_t failed;      /* bit i: tr_backend_at(i) failed its known-answer tests */
    const char *bad_mask; /* the mask's first word that names no feature, or NULL */
};

/* Selects the strongest backend that passes its known-answer tests, and whose features are usable
 * and not masked. If 512-bit registers lower the clock (as on Intel's Ice Lake and Tiger Lake),
 * selection prefers a 256-bit backend, unless the mask has "avx512". Stores the reasons in
 * *selection. The choice depends only on the arguments, the usable features, the microarchitecture
 * and TENROUNDS_TUNE. */
TR_API enum tr_status tr_select(const char *mask, tr_features also_masked,
                                struct tr_selection *selection) TR_MUST_CHECK;

/* The backend of this process, which the first call selects and stores. The environment variable
 * TENROUNDS_MASK is the mask. Never NULL: if even bitslice fails its known-answer tests, the call
 * aborts the process, because no result could be trusted. */
TR_API const struct tr_backend *tr_backend_selected(void);

/* Facts about a microarchitecture. The core uses them to choose the fastest of several functions
 * that compute the same bytes, so no result depends on the facts. For experiments, the environment
 * variable TENROUNDS_TUNE can name another row of the table of microarchitectures. A value that
 * names no row has no effect. */
struct tr_tuning {
    const char *name;         /* the compilers' -march name for the row, if they have one */
    uint8_t aes_latency;      /* latency of an AES round, in cycles */
    uint8_t aes512_per_cycle; /* 512-bit AES rounds started per cycle; 0 without 512-bit VAES */
    uint8_t separate_clmul;   /* 1: one carry-less multiplication per cycle does not delay AES */
    uint8_t clock_drops;      /* 1: 512-bit registers lower the clock and do not speed up AES */
};

/* The rows of the table of microarchitectures; NULL past the last one. The first row, "generic", is
 * for unknown processors. */
TR_API const struct tr_tuning *tr_tuning_at(unsigned index);
/* The row that this process uses. */
TR_API const struct tr_tuning *tr_tuning_selected(void);

/* ---- Keys and messages ---------------------------------------------------------------------- */

/*
 * All key and message types. Callers own the objects but must not use their fields, except the
 * fields of struct tr_cipher. All are aligned to 16 bytes. Sizes in bytes on 64-bit systems:
 *
 *     tr_aes_key 496   tr_gcm_key 1104   tr_ccm_key 496   tr_ocb_key 784   tr_siv_key 1040
 *     tr_gcm_siv_key 496   tr_xts_key 1008   tr_cmac_key 528
 *     tr_gcm 208   tr_ccm 96   tr_ocb 128   tr_siv 32   tr_gcm_siv 1184   tr_cmac 48   tr_cipher 48
 */
#include "tenrounds_private.h"

/* Expands a key (FIPS-197 section 5.2) of key_len = 16, 24 or 32 bytes for the given backend, or
 * for tr_backend_selected() if `backend` is NULL. Any other length gives TR_ERR_KEY_LENGTH and
 * leaves *key unchanged. */
TR_API enum tr_status tr_aes_set_key(struct tr_aes_key *key, const struct tr_backend *backend,
                                     const uint8_t *raw, size_t key_len) TR_MUST_CHECK;

/* ---- Modes (NIST SP 800-38A) ---------------------------------------------------------------- */

/* ECB (section 6.1) and CBC (section 6.2). The length `len` must be a multiple of 16 (else
 * TR_ERR_LENGTH) and may be 0. In CBC, `iv` is the 16-byte chaining value. Each call updates `iv`,
 * so that the next call can continue the message. The buffer `iv` may not overlap the data. */
TR_API enum tr_status tr_ecb_encrypt(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                     size_t len) TR_MUST_CHECK;
TR_API enum tr_status tr_ecb_decrypt(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                     size_t len) TR_MUST_CHECK;
TR_API enum tr_status tr_cbc_encrypt(const struct tr_aes_key *key, uint8_t iv[16], uint8_t *out,
                                     const uint8_t *in, size_t len) TR_MUST_CHECK;
TR_API enum tr_status tr_cbc_decrypt(const struct tr_aes_key *key, uint8_t iv[16], uint8_t *out,
                                     const uint8_t *in, size_t len) TR_MUST_CHECK;

/*
 * CFB128 (section 6.3) and OFB (section 6.4), for data of any length. The variable *used counts the
 * bytes already used in the current block, 0 to 15 (else TR_ERR_LENGTH). Set *used to 0 before the
 * first call; each call updates it.
 *
 * The buffer `iv` is the shift register, which each call updates. At a block boundary (*used is 0)
 * it holds the last ciphertext block (CFB) or output block (OFB). Within a block it holds the
 * keystream block. In CFB, ciphertext replaces the first *used bytes of the keystream block.
 * libcrypto's CRYPTO_cfb128_encrypt and CRYPTO_ofb128_encrypt use the same format.
 */
TR_API enum tr_status tr_cfb128_encrypt(const struct tr_aes_key *key, uint8_t iv[16],
                                        unsigned *used, uint8_t *out, const uint8_t *in,
                                        size_t len) TR_MUST_CHECK;
TR_API enum tr_status tr_cfb128_decrypt(const struct tr_aes_key *key, uint8_t iv[16],
                                        unsigned *used, uint8_t *out, const uint8_t *in,
                                        size_t len) TR_MUST_CHECK;
TR_API enum tr_status tr_ofb(const struct tr_aes_key *key, uint8_t iv[16], unsigned *used,
                             uint8_t *out, const uint8_t *in, size_t len) TR_MUST_CHECK;

/* CTR (section 6.5, appendix B.1 with m = 128), for data of any length. Encryption and decryption
 * are the same. The buffer `counter` holds the next counter block, a 128-bit big-endian number that
 * wraps. The buffer `keystream` holds the current keystream block. The variable *used counts the
 * bytes of this block that are already used, 0 to 15 (else TR_ERR_LENGTH). If *used is 0, there is
 * no current block. Before the first call, set *used to 0; `keystream` need not be set. */
TR_API enum tr_status tr_ctr(const struct tr_aes_key *key, uint8_t counter[16],
                             uint8_t keystream[16], unsigned *used, uint8_t *out, const uint8_t *in,
                             size_t len) TR_MUST_CHECK;

/* CFB with segments of 8 bits or 1 bit (section 6.3), for any number of segments. Each call updates
 * the shift register, `iv`. The length of CFB1 is in bits; the highest bit of a byte comes first.
 * In the last byte of `out`, bits beyond the length keep their value. Encryption is serial and
 * computes one AES block per segment, so it costs 16 or 128 times as much as CFB128. Decryption is
 * parallel. */
TR_API enum tr_status tr_cfb8_encrypt(const struct tr_aes_key *key, uint8_t iv[16], uint8_t *out,
                                      const uint8_t *in, size_t len) TR_MUST_CHECK;
TR_API enum tr_status tr_cfb8_decrypt(const struct tr_aes_key *key, uint8_t iv[16], uint8_t *out,
                                      const uint8_t *in, size_t len) TR_MUST_CHECK;
TR_API enum tr_status tr_cfb1_encrypt(const struct tr_aes_key *key, uint8_t iv[16], uint8_t *out,
                                      const uint8_t *in, size_t bits) TR_MUST_CHECK;
TR_API enum tr_status tr_cfb1_decrypt(const struct tr_aes_key *key, uint8_t iv[16], uint8_t *out,
                                      const uint8_t *in, size_t bits) TR_MUST_CHECK;

/* CBC with ciphertext stealing (SP 800-38A addendum), for a whole message of at least 16 bytes
 * (else TR_ERR_LENGTH). The ciphertext is as long as the plaintext. CS1 writes the partial
 * ciphertext block before the last full block. CS2 swaps these two blocks if there is a partial
 * block. CS3 always swaps the last two blocks (as RFC 3962 does). Encryption pads the last
 * plaintext block with zeros. Each call sets `iv` to the ciphertext of this padded block. */
enum tr_cts { TR_CS1 = 1, TR_CS2, TR_CS3 };
TR_API enum tr_status tr_cbc_cts_encrypt(const struct tr_aes_key *key, enum tr_cts form,
                                         uint8_t iv[16], uint8_t *out, const uint8_t *in,
                                         size_t len) TR_MUST_CHECK;
TR_API enum tr_status tr_cbc_cts_decrypt(const struct tr_aes_key *key, enum tr_cts form,
                                         uint8_t iv[16], uint8_t *out, const uint8_t *in,
                                         size_t len) TR_MUST_CHECK;

/* ---- Key wrap (NIST SP 800-38F, RFC 3394 and 5649) ------------------------------------------ */

/*
 * KW (section 6.2) and KWP (section 6.3). Lengths that are not listed give TR_ERR_LENGTH.
 *
 *   tr_kw_wrap          len = 16, 24, .. below 2^31; writes len + 8
 *   tr_kw_unwrap        len = 24, 32, .. up to 2^31; writes len - 8
 *   tr_kwp_wrap         len = 1 to 2^31 - 1; writes len rounded up to a multiple of 8, plus 8
 *   tr_kwp_unwrap       len = 16, 24, .. up to 2^31 + 8; needs len - 8 bytes at `out`, and
 *                       stores the length of the plaintext in *out_len
 *
 * The parameter `iv` is the 8-byte integrity check value of KW. For KWP, `icv` is the first 4 bytes
 * of the integrity check value. NULL selects the standard's value. If unwrapping finds another
 * value, or in KWP wrong padding, it returns TR_ERR_TAG, and `out` holds zeros. If the parameter
 * `inverse` is not 0, wrapping uses the inverse cipher, and unwrapping the forward cipher (section
 * 5.1). The buffers `in` and `out` may overlap in any way.
 */
TR_API enum tr_status tr_kw_wrap(const struct tr_aes_key *key, int inverse, const uint8_t *iv,
                                 uint8_t *out, const uint8_t *in, size_t len) TR_MUST_CHECK;
TR_API enum tr_status tr_kw_unwrap(const struct tr_aes_key *key, int inverse, const uint8_t *iv,
                                   uint8_t *out, const uint8_t *in, size_t len) TR_MUST_CHECK;
TR_API enum tr_status tr_kwp_wrap(const struct tr_aes_key *key, int inverse, const uint8_t *icv,
                                  uint8_t *out, const uint8_t *in, size_t len) TR_MUST_CHECK;
TR_API enum tr_status tr_kwp_unwrap(const struct tr_aes_key *key, int inverse, const uint8_t *icv,
                                    uint8_t *out, size_t *out_len, const uint8_t *in,
                                    size_t len) TR_MUST_CHECK;

/* ---- XTS (NIST SP 800-38E, IEEE 1619) ------------------------------------------------------- */

/* Sets both keys from `raw`, the data key first. The length key_len is 32 or 64 (else
 * TR_ERR_KEY_LENGTH), because XTS-AES-192 does not exist. The call accepts two equal keys, so that
 * old data can be decrypted. Encryption with equal keys gives TR_ERR_EQUAL_KEYS. */
TR_API enum tr_status tr_xts_set_key(struct tr_xts_key *key, const struct tr_backend *backend,
                                     const uint8_t *raw, size_t key_len) TR_MUST_CHECK;

/* Non-zero if both halves of the key are equal. */
TR_API int tr_xts_keys_equal(const struct tr_xts_key *key);

/* Encrypt or decrypt one data unit of 16 to 2^24 bytes (IEEE 1619 section 5.1; else TR_ERR_LENGTH).
 * Ciphertext stealing is used if `len` is not a multiple of 16. The parameter `tweak` is the number
 * of the data unit, little-endian. */
TR_API enum tr_status tr_xts_encrypt(const struct tr_xts_key *key, const uint8_t tweak[16],
                                     uint8_t *out, const uint8_t *in, size_t len) TR_MUST_CHECK;
TR_API enum tr_status tr_xts_decrypt(const struct tr_xts_key *key, const uint8_t tweak[16],
                                     uint8_t *out, const uint8_t *in, size_t len) TR_MUST_CHECK;

/*
 * Encrypt or decrypt `units` data units of unit_len bytes each, such as the sectors of a disk. The
 * data units are contiguous in memory and have consecutive numbers. The parameter `tweak` is the
 * number of the first data unit. The results are the same as with one call per data unit. These
 * calls are faster, because they compute the first tweaks of several data units together. The
 * errors are the same as in tr_xts_encrypt(). In addition, the calls return TR_ERR_LENGTH if
 * unit_len * units does not fit in a size_t.
 */
TR_API enum tr_status tr_xts_encrypt_units(const struct tr_xts_key *key, const uint8_t tweak[16],
                                           uint8_t *out, const uint8_t *in, size_t unit_len,
                                           size_t units) TR_MUST_CHECK;
TR_API enum tr_status tr_xts_decrypt_units(const struct tr_xts_key *key, const uint8_t tweak[16],
                                           uint8_t *out, const uint8_t *in, size_t unit_len,
                                           size_t units) TR_MUST_CHECK;

/* ---- Multi-buffer calls --------------------------------------------------------------------- */

/*
 * CBC and CFB encryption, CMAC and CCM's MAC are serial. One message is bound by the latency of the
 * AES rounds and leaves most of the processor idle. The tr_*_many() calls take any number of jobs,
 * one message each, and interleave enough jobs to fill the execution units. Jobs may differ in key,
 * key size, backend and length, and may have any order. The results equal the results of one call
 * for each job.
 *
 * The output of a job (`out`, `iv`, `tag`) must not overlap what another job reads or writes. Jobs
 * may share inputs and keys. The call checks all jobs before it writes anything, and returns the
 * first error. The number of jobs, `count`, may be 0.
 *
 * Opening returns TR_ERR_TAG if any tag does not match. The field `status` of each job then says
 * whether the tag of that job matched. The output of a job that failed holds zeros. The outputs of
 * all other jobs are valid.
 */

/* One block of ECB encryption for each of many samples. Header protection in QUIC (RFC 9001 section
 * 5.4) and DTLS 1.3 uses the first bytes of `mask`. The jobs share a key or have one each. A mask
 * may overlap its own sample in any way. */
struct tr_mask_job {
    const struct tr_aes_key *key;
    const uint8_t *sample; /* 16 bytes */
    uint8_t *mask;         /* 16 bytes */
};
TR_API enum tr_status tr_ecb_masks(const struct tr_mask_job *jobs, size_t count) TR_MUST_CHECK;

/* One CBC or CFB message, which starts at a block boundary. */
struct tr_stream {
    const struct tr_aes_key *key;
    uint8_t *iv;  /* 16 bytes, updated as in a single-message call */
    uint8_t *out; /* "Overlap" above applies */
    const uint8_t *in;
    size_t len; /* in CBC a multiple of 16 */
};
TR_API enum tr_status tr_cbc_encrypt_many(const struct tr_stream *jobs, size_t count) TR_MUST_CHECK;
TR_API enum tr_status tr_cfb128_encrypt_many(const struct tr_stream *jobs,
                                             size_t count) TR_MUST_CHECK;

/* ---- CMAC (NIST SP 800-38B, RFC 4493) ------------------------------------------------------- */

TR_API enum tr_status tr_cmac_set_key(struct tr_cmac_key *key, const struct tr_backend *backend,
                                      const uint8_t *raw, size_t key_len) TR_MUST_CHECK;

/* One-shot calls. The tag is truncated to its first tag_len bytes, 1 to 16 (else
 * TR_ERR_TAG_LENGTH). tr_cmac_verify() compares tags in constant time, and returns TR_ERR_TAG on
 * mismatch. */
TR_API enum tr_status tr_cmac_sign(const struct tr_cmac_key *key, const uint8_t *data, size_t len,
                                   uint8_t *tag, size_t tag_len) TR_MUST_CHECK;
TR_API enum tr_status tr_cmac_verify(const struct tr_cmac_key *key, const uint8_t *data, size_t len,
                                     const uint8_t *tag, size_t tag_len) TR_MUST_CHECK;

/* Streaming calls: start, data in pieces of any length, then tag or check. Any other order gives
 * TR_ERR_STATE. */
TR_API enum tr_status tr_cmac_start(struct tr_cmac *cmac,
                                    const struct tr_cmac_key *key) TR_MUST_CHECK;
TR_API enum tr_status tr_cmac_update(struct tr_cmac *cmac, const uint8_t *data,
                                     size_t len) TR_MUST_CHECK;
TR_API enum tr_status tr_cmac_tag(struct tr_cmac *cmac, uint8_t *tag, size_t tag_len) TR_MUST_CHECK;
TR_API enum tr_status tr_cmac_check(struct tr_cmac *cmac, const uint8_t *tag,
                                    size_t tag_len) TR_MUST_CHECK;

/* Makes *cmac refer to *key, which must be a copy of the message's key. Call this after you copy a
 * key together with its message. The other tr_*_rebind() functions do the same. */
TR_API void tr_cmac_rebind(struct tr_cmac *cmac, const struct tr_cmac_key *key);

/* Multi-buffer CMAC: see "Multi-buffer calls" above. */
struct tr_cmac_job {
    const struct tr_cmac_key *key;
    const uint8_t *data;
    size_t len;
    uint8_t tag[TR_BLOCK];     /* written by the call: the whole tag */
    uint8_t working[TR_BLOCK]; /* scratch space of the call */
};
TR_API enum tr_status tr_cmac_sign_many(struct tr_cmac_job *jobs, size_t count) TR_MUST_CHECK;

/* ---- GCM (NIST SP 800-38D) ------------------------------------------------------------------ */

TR_API enum tr_status tr_gcm_set_key(struct tr_gcm_key *key, const struct tr_backend *backend,
                                     const uint8_t *raw, size_t key_len) TR_MUST_CHECK;

/* One-shot calls. The IV has at least 1 byte (section 5.2.1.1; else TR_ERR_IV_LENGTH). Use 12
 * bytes, and never the same IV twice under one key: reuse reveals the hash subkey and the XOR of
 * the plaintexts. A message has at most 2^36 - 32 bytes, AAD at most 2^61 - 1 (else TR_ERR_LENGTH).
 * The tag is truncated to its first tag_len bytes, 1 to 16 (else TR_ERR_TAG_LENGTH). The standard
 * allows only tags of 4, 8 and 12 to 16 bytes (section 5.2.1.2). AAD may not overlap `out`. */
TR_API enum tr_status tr_gcm_seal(const struct tr_gcm_key *key, const uint8_t *iv, size_t iv_len,
                                  const uint8_t *aad, size_t aad_len, uint8_t *out,
                                  const uint8_t *in, size_t len, uint8_t *tag,
                                  size_t tag_len) TR_MUST_CHECK;
TR_API enum tr_status tr_gcm_open(const struct tr_gcm_key *key, const uint8_t *iv, size_t iv_len,
                                  const uint8_t *aad, size_t aad_len, uint8_t *out,
                                  const uint8_t *in, size_t len, const uint8_t *tag,
                                  size_t tag_len) TR_MUST_CHECK;

/* Streaming calls: start, AAD in pieces of any length, data in pieces of any length, then tag or
 * check. Any other order gives TR_ERR_STATE. Limits and errors are the same as in tr_gcm_seal() and
 * tr_gcm_open(). Do not use the plaintext before tr_gcm_check() has returned TR_OK. */
TR_API enum tr_status tr_gcm_start(struct tr_gcm *gcm, const struct tr_gcm_key *key,
                                   const uint8_t *iv, size_t iv_len) TR_MUST_CHECK;
TR_API enum tr_status tr_gcm_aad(struct tr_gcm *gcm, const uint8_t *aad, size_t len) TR_MUST_CHECK;
TR_API enum tr_status tr_gcm_encrypt(struct tr_gcm *gcm, uint8_t *out, const uint8_t *in,
                                     size_t len) TR_MUST_CHECK;
TR_API enum tr_status tr_gcm_decrypt(struct tr_gcm *gcm, uint8_t *out, const uint8_t *in,
                                     size_t len) TR_MUST_CHECK;
TR_API enum tr_status tr_gcm_tag(struct tr_gcm *gcm, uint8_t *tag, size_t tag_len) TR_MUST_CHECK;
TR_API enum tr_status tr_gcm_check(struct tr_gcm *gcm, const uint8_t *tag,
                                   size_t tag_len) TR_MUST_CHECK;
TR_API void tr_gcm_rebind(struct tr_gcm *gcm, const struct tr_gcm_key *key);

/*
 * Many GCM messages: see "Multi-buffer calls" above for what all calls of many jobs share. The
 * output of a job must not overlap its own IV or AAD, because the call may read AAD last.
 *
 * GCM is not serial, so only short messages gain: rows of a table, pages, packets of a stream. Only
 * runs of at least 8 adjacent jobs gain. Their keys are one, or several of one size with data of at
 * most 16 bytes. Their IVs have 12 bytes and their tags 16. They have one length of data (1 to 2048
 * bytes) and one of AAD (at most 64 bytes). Under one key, 64 messages of 16 bytes take 0.43 of the
 * time of single calls, and of 64 bytes 0.52 (AES-128, Emerald Rapids). In all other cases, and
 * with other backends, the call is a loop over the single call.
 */
struct tr_gcm_job {
    const struct tr_gcm_key *key;
    const uint8_t *iv;
    size_t iv_len;
    const uint8_t *aad;
    size_t aad_len;
    uint8_t *out;
    const uint8_t *in;
    size_t len;
    uint8_t *tag; /* written by seal, read by open */
    size_t tag_len;
    enum tr_status status; /* written by the call: this job's result */
};
TR_API enum tr_status tr_gcm_seal_many(struct tr_gcm_job *jobs, size_t count) TR_MUST_CHECK;
TR_API enum tr_status tr_gcm_open_many(struct tr_gcm_job *jobs, size_t count) TR_MUST_CHECK;

/* ---- CCM (NIST SP 800-38C) ------------------------------------------------------------------ */

TR_API enum tr_status tr_ccm_set_key(struct tr_ccm_key *key, const struct tr_backend *backend,
                                     const uint8_t *raw, size_t key_len) TR_MUST_CHECK;

/* One-shot calls. The nonce has 7 to 13 bytes (else TR_ERR_IV_LENGTH), and the tag 4, 6, .. or 16
 * bytes (else TR_ERR_TAG_LENGTH). The length `len` is below 2^(8 (15 - nonce_len)) (else
 * TR_ERR_LENGTH). Never use a nonce twice under one key. AAD may not overlap `out`. */
TR_API enum tr_status tr_ccm_seal(const struct tr_ccm_key *key, const uint8_t *nonce,
                                  size_t nonce_len, const uint8_t *aad, size_t aad_len,
                                  uint8_t *out, const uint8_t *in, size_t len, uint8_t *tag,
                                  size_t tag_len) TR_MUST_CHECK;
TR_API enum tr_status tr_ccm_open(const struct tr_ccm_key *key, const uint8_t *nonce,
                                  size_t nonce_len, const uint8_t *aad, size_t aad_len,
                                  uint8_t *out, const uint8_t *in, size_t len, const uint8_t *tag,
                                  size_t tag_len) TR_MUST_CHECK;

/* Streaming calls. CCM needs the lengths beforehand, so tr_ccm_start() takes them, with the limits
 * above. AAD and then data follow, in pieces of any length that add up to these lengths. More bytes
 * give TR_ERR_LENGTH. Data before all AAD, or a tag before all data, gives TR_ERR_STATE. The tag
 * has the length given to tr_ccm_start(). Do not use the plaintext before tr_ccm_check() has
 * returned TR_OK. */
TR_API enum tr_status tr_ccm_start(struct tr_ccm *ccm, const struct tr_ccm_key *key,
                                   const uint8_t *nonce, size_t nonce_len, size_t tag_len,
                                   uint64_t aad_len, uint64_t len) TR_MUST_CHECK;
TR_API enum tr_status tr_ccm_aad(struct tr_ccm *ccm, const uint8_t *aad, size_t len) TR_MUST_CHECK;
TR_API enum tr_status tr_ccm_encrypt(struct tr_ccm *ccm, uint8_t *out, const uint8_t *in,
                                     size_t len) TR_MUST_CHECK;
TR_API enum tr_status tr_ccm_decrypt(struct tr_ccm *ccm, uint8_t *out, const uint8_t *in,
                                     size_t len) TR_MUST_CHECK;
TR_API enum tr_status tr_ccm_tag(struct tr_ccm *ccm, uint8_t *tag) TR_MUST_CHECK;
TR_API enum tr_status tr_ccm_check(struct tr_ccm *ccm, const uint8_t *tag) TR_MUST_CHECK;
TR_API void tr_ccm_rebind(struct tr_ccm *ccm, const struct tr_ccm_key *key);

/* Multi-buffer CCM: see "Multi-buffer calls" above. */
struct tr_ccm_job {
    const struct tr_ccm_key *key;
    const uint8_t *nonce;
    size_t nonce_len;
    const uint8_t *aad;
    size_t aad_len;
    uint8_t *out;
    const uint8_t *in;
    size_t len;
    uint8_t *tag; /* written by seal, read by open */
    size_t tag_len;
    enum tr_status status; /* written by the call: this job's result */
    struct tr_ccm working; /* scratch space of the call */
};
TR_API enum tr_status tr_ccm_seal_many(struct tr_ccm_job *jobs, size_t count) TR_MUST_CHECK;
TR_API enum tr_status tr_ccm_open_many(struct tr_ccm_job *jobs, size_t count) TR_MUST_CHECK;

/* ---- OCB (RFC 7253) ------------------------------------------------------------------------- */

TR_API enum tr_status tr_ocb_set_key(struct tr_ocb_key *key, const struct tr_backend *backend,
                                     const uint8_t *raw, size_t key_len) TR_MUST_CHECK;

/* One-shot calls. The nonce has 1 to 15 bytes (else TR_ERR_IV_LENGTH), and the tag 1 to 16 bytes
 * (else TR_ERR_TAG_LENGTH). Never use a nonce twice under one key. AAD may not overlap `out`. */
TR_API enum tr_status tr_ocb_seal(const struct tr_ocb_key *key, const uint8_t *nonce,
                                  size_t nonce_len, const uint8_t *aad, size_t aad_len,
                                  uint8_t *out, const uint8_t *in, size_t len, uint8_t *tag,
                                  size_t tag_len) TR_MUST_CHECK;
TR_API enum tr_status tr_ocb_open(const struct tr_ocb_key *key, const uint8_t *nonce,
                                  size_t nonce_len, const uint8_t *aad, size_t aad_len,
                                  uint8_t *out, const uint8_t *in, size_t len, const uint8_t *tag,
                                  size_t tag_len) TR_MUST_CHECK;

/* Streaming calls: start, then AAD and data in any order and any number of pieces, then tag or
 * check. Every piece of data except the last must have whole blocks. Data after a partial block
 * gives TR_ERR_STATE. The tag has the length given to tr_ocb_start(). Do not use the plaintext
 * before tr_ocb_check() has returned TR_OK. */
TR_API enum tr_status tr_ocb_start(struct tr_ocb *ocb, const struct tr_ocb_key *key,
                                   const uint8_t *nonce, size_t nonce_len,
                                   size_t tag_len) TR_MUST_CHECK;
TR_API enum tr_status tr_ocb_aad(struct tr_ocb *ocb, const uint8_t *aad, size_t len) TR_MUST_CHECK;
TR_API enum tr_status tr_ocb_encrypt(struct tr_ocb *ocb, uint8_t *out, const uint8_t *in,
                                     size_t len) TR_MUST_CHECK;
TR_API enum tr_status tr_ocb_decrypt(struct tr_ocb *ocb, uint8_t *out, const uint8_t *in,
                                     size_t len) TR_MUST_CHECK;
TR_API enum tr_status tr_ocb_tag(struct tr_ocb *ocb, uint8_t *tag) TR_MUST_CHECK;
TR_API enum tr_status tr_ocb_check(struct tr_ocb *ocb, const uint8_t *tag) TR_MUST_CHECK;
TR_API void tr_ocb_rebind(struct tr_ocb *ocb, const struct tr_ocb_key *key);

/* ---- SIV (RFC 5297) ------------------------------------------------------------------------- */

/* Sets the RFC's keys K1 and K2 from the halves of `raw`. The length key_len is 32, 48 or 64 (else
 * TR_ERR_KEY_LENGTH). */
TR_API enum tr_status tr_siv_set_key(struct tr_siv_key *key, const struct tr_backend *backend,
                                     const uint8_t *raw, size_t key_len) TR_MUST_CHECK;

/* One-shot calls, with one component of AAD, or none if `aad` is NULL. The 16-byte tag is the
 * synthetic IV, which the RFC puts before the ciphertext. */
TR_API enum tr_status tr_siv_seal(const struct tr_siv_key *key, const uint8_t *aad, size_t aad_len,
                                  uint8_t *out, const uint8_t *in, size_t len,
                                  uint8_t tag[16]) TR_MUST_CHECK;
TR_API enum tr_status tr_siv_open(const struct tr_siv_key *key, const uint8_t *aad, size_t aad_len,
                                  uint8_t *out, const uint8_t *in, size_t len,
                                  const uint8_t tag[16]) TR_MUST_CHECK;

/* Streaming calls, for several AAD components. Call start, then tr_siv_aad() for each component (at
 * most 126, else TR_ERR_LENGTH). Pass a nonce as the last component. Then pass all data in one
 * call, which ends the message. tr_siv_again() starts another message with the same AAD;
 * tr_siv_aad() can then add components. */
TR_API enum tr_status tr_siv_start(struct tr_siv *siv, const struct tr_siv_key *key) TR_MUST_CHECK;
TR_API enum tr_status tr_siv_again(struct tr_siv *siv) TR_MUST_CHECK;
TR_API enum tr_status tr_siv_aad(struct tr_siv *siv, const uint8_t *aad, size_t len) TR_MUST_CHECK;
TR_API enum tr_status tr_siv_encrypt(struct tr_siv *siv, uint8_t *out, const uint8_t *in,
                                     size_t len, uint8_t tag[16]) TR_MUST_CHECK;
TR_API enum tr_status tr_siv_decrypt(struct tr_siv *siv, uint8_t *out, const uint8_t *in,
                                     size_t len, const uint8_t tag[16]) TR_MUST_CHECK;
TR_API void tr_siv_rebind(struct tr_siv *siv, const struct tr_siv_key *key);

/* ---- GCM-SIV (RFC 8452) --------------------------------------------------------------------- */

/* The key has 16, 24 or 32 bytes (else TR_ERR_KEY_LENGTH). The RFC has no keys of 24 bytes; they
 * work as in OpenSSL. */
TR_API enum tr_status tr_gcm_siv_set_key(struct tr_gcm_siv_key *key,
                                         const struct tr_backend *backend, const uint8_t *raw,
                                         size_t key_len) TR_MUST_CHECK;

/* One-shot calls. AAD and data have at most 2^36 bytes each (else TR_ERR_LENGTH). The RFC puts the
 * 16-byte tag after the ciphertext. The nonce should be new for each message. Reuse reveals only
 * whether two messages are equal. */
TR_API enum tr_status tr_gcm_siv_seal(const struct tr_gcm_siv_key *key, const uint8_t nonce[12],
                                      const uint8_t *aad, size_t aad_len, uint8_t *out,
                                      const uint8_t *in, size_t len, uint8_t tag[16]) TR_MUST_CHECK;
TR_API enum tr_status tr_gcm_siv_open(const struct tr_gcm_siv_key *key, const uint8_t nonce[12],
                                      const uint8_t *aad, size_t aad_len, uint8_t *out,
                                      const uint8_t *in, size_t len,
                                      const uint8_t tag[16]) TR_MUST_CHECK;

/* Streaming calls: start, AAD in pieces of any length, then all data in one call, which ends the
 * message. The message holds the keys derived for its nonce, and does not refer to *key after
 * tr_gcm_siv_start(). */
TR_API enum tr_status tr_gcm_siv_start(struct tr_gcm_siv *gcm_siv, const struct tr_gcm_siv_key *key,
                                       const uint8_t nonce[12]) TR_MUST_CHECK;
TR_API enum tr_status tr_gcm_siv_aad(struct tr_gcm_siv *gcm_siv, const uint8_t *aad,
                                     size_t len) TR_MUST_CHECK;
TR_API enum tr_status tr_gcm_siv_encrypt(struct tr_gcm_siv *gcm_siv, uint8_t *out,
                                         const uint8_t *in, size_t len,
                                         uint8_t tag[16]) TR_MUST_CHECK;
TR_API enum tr_status tr_gcm_siv_decrypt(struct tr_gcm_siv *gcm_siv, uint8_t *out,
                                         const uint8_t *in, size_t len,
                                         const uint8_t tag[16]) TR_MUST_CHECK;

/* ---- One streaming object for the five modes of enum tr_mode --------------------------------- */

enum tr_mode { TR_MODE_NONE = 0, TR_ECB, TR_CBC, TR_CFB128, TR_OFB, TR_CTR };

/* One message. Callers may read its fields. Between calls they may write `iv`, `buffer` and `used`
 * (for libcrypto's parameters "num" and "updated-iv"), and point `key` at a copy of the same
 * key. */
struct tr_cipher {
    const struct tr_aes_key *key;
    uint8_t iv[TR_BLOCK];     /* as in the functions of the mode */
    uint8_t buffer[TR_BLOCK]; /* CTR: the keystream block; ECB, CBC: a partial block of input */
    /* CFB128, OFB, CTR: the bytes already used of the current block, 0 to 15. ECB, CBC: the bytes
     * in `buffer`, 0 to 15, or up to 16 in decryption with padding. */
    unsigned used;
    uint8_t mode; /* enum tr_mode */
    uint8_t decrypt;
    uint8_t padding; /* PKCS#7, ECB and CBC only */
} TR_ALIGNED(16);

/* Starts a message under *key: sets mode, direction and IV (16 bytes; NULL only for ECB), and
 * clears the buffer. The parameter `padding` has an effect only in ECB and CBC. */
TR_API enum tr_status tr_cipher_start(struct tr_cipher *cipher, const struct tr_aes_key *key,
                                      enum tr_mode mode, int decrypt, int padding,
                                      const uint8_t *iv) TR_MUST_CHECK;

/* Processes `len` bytes of `in`; `len` may be 0. Writes tr_cipher_room() bytes to `out`, and their
 * number to *out_len. In ECB and CBC, bytes in cipher->buffer come out first, and move the output
 * ahead of the input. A call that would write more than one block then needs `out` at least
 * cipher->used bytes before `in`, or after its end (else TR_ERR_OVERLAP). */
TR_API enum tr_status tr_cipher_update(struct tr_cipher *cipher, uint8_t *out, size_t *out_len,
                                       const uint8_t *in, size_t len) TR_MUST_CHECK;

/* The number of bytes that tr_cipher_update() would now write for `len` bytes of input. */
TR_API size_t tr_cipher_room(const struct tr_cipher *cipher, size_t len);

/*
 * Ends a message, and sets *out_len to the number of bytes written.
 *
 * - CFB128, OFB, CTR: writes nothing.
 * - ECB, CBC without padding: writes nothing. The message must be whole blocks (else
 *   TR_ERR_LENGTH).
 * - ECB, CBC encryption with padding: writes one block, and empties the buffer.
 * - ECB, CBC decryption with padding: checks the padding in constant time (else TR_ERR_PADDING),
 *   writes the 0 to 15 bytes before the padding, and empties the buffer. The message must be one or
 *   more whole blocks (else TR_ERR_LENGTH).
 */
TR_API enum tr_status tr_cipher_final(struct tr_cipher *cipher, uint8_t out[16],
                                      size_t *out_len) TR_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
