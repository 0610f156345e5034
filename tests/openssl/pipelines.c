/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests pipelines, which process several messages (pipes) in one call:
 * EVP_CipherPipelineEncryptInit(3). The output of each pipe must equal the default provider's
 * output for the message alone. OpenSSL has pipelines since 3.5.
 */
#define _GNU_SOURCE
#include "sides.h"

#include "counted.h"
#include "pipeline_api.h"

#include <fcntl.h>
#include <unistd.h>

#define MAX_PIPES 32
#define MAX_DATA  700
#define ROUNDS    60

static struct evp_side ours, theirs;
static const char *const names[] = {"AES-128-CBC", "AES-192-CBC", "AES-256-CBC"};
#define NAMES 3

/* ---- Messages ------------------------------------------------------------------------------- */

/* The messages of a pipeline, and the default provider's ciphertexts. */
struct batch {
    bool padding;
    size_t n;
    uint8_t key[32], iv[MAX_PIPES][16];
    size_t len[MAX_PIPES], out_len[MAX_PIPES];
    uint8_t text[MAX_PIPES][MAX_DATA], out[MAX_PIPES][MAX_DATA + 32];
};

static void fill(struct batch *b, struct tap_random *random)
{
    memset(b, 0, sizeof(*b));
    b->padding = tap_below(random, 2) == 0;
    b->n = tap_below(random, 4) == 0 ? MAX_PIPES : 1 + tap_below(random, MAX_PIPES);
    tap_fill(random, b->key, sizeof(b->key));
    tap_fill(random, b->iv, sizeof(b->iv));
    tap_fill(random, b->text, sizeof(b->text));
    for (size_t i = 0; i < b->n; i++) {
        b->len[i] = tap_below(random, 3) == 0 ? 16 * tap_below(random, MAX_DATA / 16)
                                              : tap_below(random, MAX_DATA + 1);
        if (!b->padding)
            b->len[i] -= b->len[i] % 16;
    }
}

/* Encrypts the messages one by one with the default provider. */
static bool one_by_one(const char *name, struct batch *b)
{
    EVP_CIPHER *cipher = evp_fetch(&theirs, name);
    bool good = true;
    for (size_t i = 0; good && i < b->n; i++) {
        int n = 0, last = 0;
        EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
        good = EVP_CipherInit_ex2(ctx, cipher, NULL, NULL, 1, NULL) > 0 &&
               EVP_CIPHER_CTX_set_padding(ctx, b->padding) > 0 &&
               EVP_CipherInit_ex2(ctx, NULL, b->key, b->iv[i], 1, NULL) > 0 &&
               EVP_CipherUpdate(ctx, b->out[i], &n, b->text[i], (int)b->len[i]) > 0 &&
               EVP_CipherFinal_ex(ctx, b->out[i] + n, &last) > 0;
        b->out_len[i] = (size_t)(n + last);
        EVP_CIPHER_CTX_free(ctx);
    }
    EVP_CIPHER_free(cipher);
    return good;
}

/* ---- Pipelines ------------------------------------------------------------------------------ */

static int start(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, struct batch *b, bool with_key,
                 bool with_iv, bool encrypt)
{
    return pipeline_start(ctx, cipher, b->n, with_key ? b->key : NULL, with_iv ? b->iv : NULL, 16,
                          encrypt);
}

/* Starts a pipeline with key and IVs in one call, or first the key and then the IVs. */
static bool begin(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, struct batch *b, bool encrypt,
                  struct tap_random *random)
{
    const bool together = tap_below(random, 2) == 0;
    return start(ctx, cipher, b, true, together, encrypt) > 0 &&
           EVP_CIPHER_CTX_set_padding(ctx, b->padding) > 0 &&
           (together || start(ctx, cipher, b, false, true, encrypt) > 0);
}

/* Passes the data in three updates, whose lengths differ between the pipes and can be 0. */
static bool feed(EVP_CIPHER_CTX **ctx, struct batch *b, uint8_t in[][MAX_DATA + 32],
                 const size_t *in_len, uint8_t out[][MAX_DATA + 32], size_t *out_len,
                 struct tap_random *random)
{
    unsigned char *to[MAX_PIPES];
    const unsigned char *from[MAX_PIPES];
    size_t done[MAX_PIPES] = {0}, room[MAX_PIPES], part[MAX_PIPES], got[MAX_PIPES];
    bool good = true;
    for (unsigned step = 0; good && step < 3; step++) {
        for (size_t i = 0; i < b->n; i++) {
            part[i] = step == 2 ? in_len[i] - done[i] : tap_below(random, in_len[i] - done[i] + 1);
            from[i] = in[i] + done[i];
            to[i] = out[i] + out_len[i];
            room[i] = MAX_DATA + 32 - out_len[i];
        }
        good = pipeline_api.update(*ctx, to, got, room, from, part) > 0;
        for (size_t i = 0; i < b->n; i++) {
            done[i] += part[i];
            out_len[i] += got[i];
        }
        if (step == 0 && tap_below(random, 3) == 0) { /* continues with a copy */
            EVP_CIPHER_CTX *copy = EVP_CIPHER_CTX_new();
            good = good && EVP_CIPHER_CTX_copy(copy, *ctx) > 0;
            EVP_CIPHER_CTX_free(*ctx);
            *ctx = copy;
        }
    }
    return good;
}

static bool finish(EVP_CIPHER_CTX *ctx, struct batch *b, uint8_t out[][MAX_DATA + 32],
                   size_t *out_len)
{
    unsigned char *to[MAX_PIPES];
    size_t room[MAX_PIPES], got[MAX_PIPES];
    for (size_t i = 0; i < b->n; i++) {
        to[i] = out[i] + out_len[i];
        room[i] = MAX_DATA + 32 - out_len[i];
    }
    const bool good = pipeline_api.final(ctx, to, got, room) > 0;
    for (size_t i = 0; i < b->n; i++)
        out_len[i] += got[i];
    return good;
}

/* Runs a whole pipeline over `in`. On failure, out_len has no meaning. */
static bool pipeline(EVP_CIPHER_CTX **ctx, const EVP_CIPHER *cipher, struct batch *b, bool encrypt,
                     uint8_t in[][MAX_DATA + 32], const size_t *in_len,
                     uint8_t out[][MAX_DATA + 32], size_t *out_len, struct tap_random *random)
{
    return begin(*ctx, cipher, b, encrypt, random) &&
           feed(ctx, b, in, in_len, out, out_len, random) && finish(*ctx, b, out, out_len);
}

/* ---- The tests ------------------------------------------------------------------------------ */

static uint8_t in[MAX_PIPES][MAX_DATA + 32], out[MAX_PIPES][MAX_DATA + 32];

static bool each_is_its_own(const char *name, EVP_CIPHER *cipher, struct tap_random *random)
{
    static struct batch b;
    bool good = true;
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    for (int round = 0; good && round < ROUNDS; round++) {
        size_t sealed[MAX_PIPES] = {0}, opened[MAX_PIPES] = {0};
        fill(&b, random);
        for (size_t i = 0; i < b.n; i++)
            memcpy(in[i], b.text[i], b.len[i]);
        good = one_by_one(name, &b) &&
               pipeline(&ctx, cipher, &b, true, in, b.len, out, sealed, random);
        for (size_t i = 0; good && i < b.n; i++)
            good = sealed[i] == b.out_len[i] && memcmp(out[i], b.out[i], sealed[i]) == 0;
        good = good && pipeline(&ctx, cipher, &b, false, out, sealed, in, opened, random);
        for (size_t i = 0; good && i < b.n; i++)
            good = opened[i] == b.len[i] && memcmp(in[i], b.text[i], opened[i]) == 0;
        if (!good) {
            tap_diag("%s: round %d, %zu pipes", name, round, b.n);
            ERR_print_errors_fp(stdout);
        }
    }
    EVP_CIPHER_CTX_free(ctx);
    return good;
}

/* Checks that final fails if one message's padding has a wrong bit. */
static bool one_is_wrong(const char *name, EVP_CIPHER *cipher, struct tap_random *random)
{
    static struct batch b;
    bool good = true;
    for (int round = 0; good && round < ROUNDS; round++) {
        size_t opened[MAX_PIPES] = {0};
        EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
        fill(&b, random);
        b.padding = true;
        good = one_by_one(name, &b);
        const size_t wrong = tap_below(random, b.n);
        if (b.out_len[wrong] >= 32) /* the last byte of the padding becomes 128 or more */
            b.out[wrong][b.out_len[wrong] - 17] ^= 0x80;
        else
            b.iv[wrong][15] ^= 0x80;
        good = good && begin(ctx, cipher, &b, false, random) &&
               feed(&ctx, &b, b.out, b.out_len, out, opened, random) &&
               !finish(ctx, &b, out, opened) && opened[wrong] <= b.len[wrong];
        EVP_CIPHER_CTX_free(ctx);
        ERR_clear_error();
    }
    return good;
}

/* Checks that a wrong number of pipes and a wrong or missing key or IV are refused. Afterwards the
 * context must work. */
static bool wrong_calls(EVP_CIPHER *cipher, struct tap_random *random)
{
    static struct batch b;
    size_t lengths[MAX_PIPES] = {0};
    const size_t key_len = (size_t)EVP_CIPHER_get_key_length(cipher);
    const unsigned char *iv[MAX_PIPES + 1], *none[MAX_PIPES + 1] = {NULL};
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    fill(&b, random);
    b.n = 3;
    for (size_t i = 0; i <= MAX_PIPES; i++)
        iv[i] = b.iv[0];
    /* Each call gets a context without a cipher (see pipeline_start()). */
    const struct {
        size_t key_len, n, iv_len;
        const unsigned char **iv;
    } calls[] = {{key_len, 0, 16, iv},
                 {key_len, MAX_PIPES + 1, 16, iv},
                 {key_len - 1, 3, 16, iv},
                 {key_len, 3, 15, iv},
                 {key_len, 3, 16, none}};
    bool refused = true;
    for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        EVP_CIPHER_CTX_reset(ctx);
        refused = refused &&
                  pipeline_api.encrypt_init(ctx, cipher, b.key, calls[i].key_len, calls[i].n,
                                            calls[i].iv, calls[i].iv_len) <= 0 &&
                  (calls[i].n != 3 || (!feed(&ctx, &b, in, b.len, out, lengths, random) &&
                                       !finish(ctx, &b, out, lengths)));
    }
    /* Checks that final fails after an init without a key, and after an init without IVs. */
    EVP_CIPHER_CTX_reset(ctx);
    refused = refused && pipeline_api.encrypt_init(ctx, cipher, NULL, 0, 3, iv, 16) > 0 &&
              !finish(ctx, &b, out, lengths) &&
              pipeline_api.encrypt_init(ctx, NULL, b.key, key_len, 3, NULL, 0) > 0 &&
              !finish(ctx, &b, out, lengths);
    memset(lengths, 0, sizeof(lengths));
    ERR_clear_error();
    const bool works = pipeline(&ctx, cipher, &b, true, in, b.len, out, lengths, random);
    EVP_CIPHER_CTX_free(ctx);
    ERR_clear_error();
    return refused && works;
}

/* ---- Counters ------------------------------------------------------------------------------- */

static struct counting counting;

/* Returns the bytes that the counters show for operations whose names start with `begin`. */
static uint64_t counted(const char *begin)
{
    const struct trossl_counters_file c = counting_read(&counting);
    uint64_t bytes = 0;
    for (unsigned op = 0; op < TR_OPS; op++) {
        for (unsigned b = 0;
             strncmp(c.op_name[op], begin, strlen(begin)) == 0 && b < TR_MAX_BACKENDS; b++)
            bytes += c.counters.bulk[b][op].bytes;
    }
    return bytes;
}

/* Checks that the counters show exactly the bytes of 8 pipes of 512 bytes. */
static bool counters_show(EVP_CIPHER *cipher, struct tap_random *random)
{
    static struct batch b;
    size_t lengths[MAX_PIPES] = {0};
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    fill(&b, random);
    b.n = 8;
    b.padding = false;
    for (size_t i = 0; i < b.n; i++)
        b.len[i] = 512;
    const uint64_t before = counted("cbc");
    const bool good = begin(ctx, cipher, &b, true, random) &&
                      feed(&ctx, &b, in, b.len, out, lengths, random) &&
                      finish(ctx, &b, out, lengths);
    const uint64_t bytes = counted("cbc") - before;
    EVP_CIPHER_CTX_free(ctx);
    tap_diag("%llu bytes counted", (unsigned long long)bytes);
    return good && bytes == 8 * 512;
}

#define SHARED       112u
#define SHARED_PIPES 20u
enum writer_is { NEW, BEGUN, BACKWARDS };

static size_t place(size_t i, size_t step, enum writer_is begun)
{
    return 8 + (begun == BACKWARDS ? SHARED_PIPES - 1 - i : i) * step;
}

/*
 * Checks that pipes in one buffer give the same result as one pipe after the other. All pipes
 * together have 2240 bytes, enough for a multi-buffer call (WORTH_IT in openssl/provider/pipeline.c
 * is 2048). Each pipe begins `step` bytes after the previous one, and is in place. But pipe
 * `writer` writes to the place of pipe `victim`. If it has begun, it has buffered 5 bytes, so
 * that it does not join the multi-buffer call, and it writes 8 bytes before that place. BACKWARDS,
 * the last pipe is the first in the buffer.
 */
static bool share_memory(EVP_CIPHER *cipher, size_t step, size_t writer, size_t victim,
                         enum writer_is begun, struct tap_random *random)
{
    static struct batch b;
    uint8_t memory[8 + MAX_PIPES * SHARED], expected[sizeof(memory)];
    unsigned char *to[MAX_PIPES];
    const unsigned char *from[MAX_PIPES], *first[MAX_PIPES];
    size_t room[MAX_PIPES], got[MAX_PIPES], len[MAX_PIPES], first_len[MAX_PIPES] = {0};
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    fill(&b, random);
    b.padding = false;
    b.n = SHARED_PIPES;
    first_len[writer] = begun != NEW ? 5 : 0;
    tap_fill(random, memory, sizeof(memory));
    memcpy(expected, memory, sizeof(memory));
    EVP_CIPHER *other = evp_fetch(&theirs, "AES-128-CBC");
    bool good = true;
    for (size_t i = 0; i < b.n; i++) {
        EVP_CIPHER_CTX *single = EVP_CIPHER_CTX_new();
        const size_t at = place(i, step, begun);
        const size_t target =
            i == writer ? place(victim, step, begun) - (begun != NEW ? 8 : 0) : at;
        int n = 0;
        first[i] = b.key;
        from[i] = memory + at;
        to[i] = memory + target;
        room[i] = len[i] = SHARED;
        good = good && EVP_EncryptInit_ex2(single, other, b.key, b.iv[i], NULL) > 0 &&
               EVP_EncryptUpdate(single, expected + target, &n, b.key, (int)first_len[i]) > 0 &&
               EVP_EncryptUpdate(single, expected + target, &n, expected + at, SHARED) > 0 &&
               n == (int)SHARED;
        EVP_CIPHER_CTX_free(single);
    }
    EVP_CIPHER_free(other);
    good = good && begin(ctx, cipher, &b, true, random) &&
           (begun == NEW || pipeline_api.update(ctx, to, got, room, first, first_len) > 0) &&
           pipeline_api.update(ctx, to, got, room, from, len) > 0 &&
           memcmp(memory, expected, sizeof(memory)) == 0;
    EVP_CIPHER_CTX_free(ctx);
    return good;
}

/* Runs share_memory() with pipes that each overlap the next, with pipes that do not overlap, and
 * with each pair of pipes as writer and victim. A pipe that has begun must not write to
 * its own input. */
static bool all_share_memory(EVP_CIPHER *cipher, struct tap_random *random)
{
    bool good = share_memory(cipher, 16, 0, 0, NEW, random);
    for (size_t writer = 0; writer < SHARED_PIPES; writer++)
        for (size_t victim = 0; victim < SHARED_PIPES; victim++) {
            const bool near = writer < victim + 2 && victim < writer + 2;
            for (enum writer_is is = NEW; is <= (near ? NEW : BACKWARDS); is++)
                good = good && share_memory(cipher, SHARED, writer, victim, is, random);
        }
    return good;
}

/* Checks that other modes than CBC and GCM have no pipelines, as in the default provider. */
static bool others_cannot(void)
{
    static const char *const others[] = {"AES-128-ECB", "AES-128-CTR", "AES-128-CCM", "AES-128-OCB",
                                         "AES-128-XTS"};
    bool good = true;
    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        EVP_CIPHER *cipher = evp_fetch(&ours, others[i]);
        good = good && !pipeline_api.can(cipher, 0) && !pipeline_api.can(cipher, 1);
        EVP_CIPHER_free(cipher);
    }
    return good;
}

int main(void)
{
    DIFFERS("pipelines");
    if (!find_pipeline_api())
        return without_pipelines();
    tap_plan(4 * NAMES + 3);
    counting = counting_new();
    setenv("TENROUNDS_COUNTERS", counting.path, 1);
    ours = evp_open("tenrounds");
    theirs = evp_open("default");
    struct tap_random random = tap_random(0);
    for (unsigned i = 0; i < NAMES; i++) {
        EVP_CIPHER *cipher = evp_fetch(&ours, names[i]);
        tap_ok(pipeline_api.can(cipher, 0) && pipeline_api.can(cipher, 1), "%s can pipeline",
               names[i]);
        tap_ok(each_is_its_own(names[i], cipher, &random),
               "%s: each pipe gives the output of a separate message", names[i]);
        tap_ok(one_is_wrong(names[i], cipher, &random),
               "%s: final fails if the padding of one message is wrong", names[i]);
        tap_ok(wrong_calls(cipher, &random), "%s: refuses wrong calls and works afterwards",
               names[i]);
        if (i == 0) {
            tap_ok(all_share_memory(cipher, &random),
                   "%s: pipes with shared memory give the right output", names[i]);
            tap_ok(counters_show(cipher, &random), "%s: the counters show the bytes of all pipes",
                   names[i]);
        }
        EVP_CIPHER_free(cipher);
    }
    tap_ok(others_cannot(), "other modes have no pipelines");
    evp_close(&ours);
    evp_close(&theirs);
    return tap_done();
}
