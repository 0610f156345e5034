/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests pipelines of AES-GCM: ciphertexts and tags of each pipe must equal those of the default
 * provider for the message alone, and final must fail if one tag is forged. pipelines.c tests those
 * of CBC. OpenSSL has pipelines since 3.5.
 */
#define _GNU_SOURCE
#include "sides.h"

#include "pipeline_api.h"

#define MAX_PIPES 32
#define MAX_DATA  2200 /* above the longest message that runs together with others */
#define MAX_AAD   90
#define ROUNDS    150

static struct evp_side ours, theirs;
static const char *const names[] = {"AES-128-GCM", "AES-192-GCM", "AES-256-GCM"};
#define NAMES 3

/* The messages of a pipeline, and the default provider's results. */
struct batch {
    size_t n, iv_len, tag_len;
    uint8_t key[32], iv[MAX_PIPES][16], tag[MAX_PIPES][16];
    size_t len[MAX_PIPES], aad_len[MAX_PIPES];
    uint8_t aad[MAX_PIPES][MAX_AAD], text[MAX_PIPES][MAX_DATA], out[MAX_PIPES][MAX_DATA];
};

/* Most messages have one length of data and AAD, so that they run together. */
static void fill(struct batch *b, struct tap_random *random)
{
    static const size_t most[] = {17, 70, 300, MAX_DATA};
    const size_t below = most[tap_below(random, 4)], all = tap_below(random, (uint32_t)below);
    const size_t all_aad = tap_below(random, MAX_AAD);
    const bool mixed = tap_below(random, 4) == 0, last_differs = tap_below(random, 2) == 0;
    b->n = tap_below(random, 3) == 0 ? MAX_PIPES : 1 + tap_below(random, MAX_PIPES);
    b->iv_len = tap_below(random, 4) == 0 ? 1 + tap_below(random, 16) : 12;
    b->tag_len = tap_below(random, 4) == 0 ? 12 + tap_below(random, 5) : 16;
    tap_fill(random, b->key, sizeof(b->key));
    tap_fill(random, b->iv, sizeof(b->iv));
    for (size_t i = 0; i < b->n; i++) {
        const bool differs = mixed || (last_differs && i == b->n - 1);
        b->len[i] = differs ? tap_below(random, (uint32_t)below) : all;
        b->aad_len[i] = mixed ? tap_below(random, MAX_AAD) : all_aad;
        tap_fill(random, b->aad[i], b->aad_len[i]);
        tap_fill(random, b->text[i], b->len[i]);
    }
}

/* Seals the messages one by one with the default provider. */
static bool one_by_one(const char *name, struct batch *b)
{
    EVP_CIPHER *cipher = evp_fetch(&theirs, name);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    bool good = true;
    for (size_t i = 0; good && i < b->n; i++) {
        int n = 0;
        good = EVP_EncryptInit_ex2(ctx, cipher, NULL, NULL, NULL) > 0 &&
               EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IVLEN, (int)b->iv_len, NULL) > 0 &&
               EVP_EncryptInit_ex2(ctx, NULL, b->key, b->iv[i], NULL) > 0 &&
               (b->aad_len[i] == 0 ||
                EVP_EncryptUpdate(ctx, NULL, &n, b->aad[i], (int)b->aad_len[i]) > 0) &&
               (b->len[i] == 0 ||
                EVP_EncryptUpdate(ctx, b->out[i], &n, b->text[i], (int)b->len[i]) > 0) &&
               EVP_EncryptFinal_ex(ctx, b->out[i] + b->len[i], &n) > 0 &&
               EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, b->tag[i]) > 0;
    }
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(cipher);
    return good;
}

/* ---- Pipelines ------------------------------------------------------------------------------ */

static int start(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, struct batch *b, bool with_key,
                 bool with_iv, bool encrypt)
{
    return pipeline_start(ctx, cipher, b->n, with_key ? b->key : NULL, with_iv ? b->iv : NULL,
                          b->iv_len, encrypt);
}

/* Gets or sets the tags of all pipes. */
static bool tags(EVP_CIPHER_CTX *ctx, struct batch *b, uint8_t tag[][16], bool set)
{
    unsigned char *at[MAX_PIPES];
    for (size_t i = 0; i < b->n; i++)
        at[i] = tag[i];
    void *array = at;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_octet_ptr("pipeline-tag", &array, b->tag_len),
                           OSSL_PARAM_construct_end()};
    return (set ? EVP_CIPHER_CTX_set_params(ctx, params) : EVP_CIPHER_CTX_get_params(ctx, params)) >
           0;
}

static bool aad(EVP_CIPHER_CTX *ctx, struct batch *b, struct tap_random *random)
{
    const unsigned char *from[MAX_PIPES];
    size_t part[MAX_PIPES], done[MAX_PIPES] = {0}, got[MAX_PIPES];
    const unsigned updates = 1 + tap_below(random, 2);
    bool good = true;
    for (unsigned step = updates; good && step-- != 0;) {
        for (size_t i = 0; i < b->n; i++) {
            from[i] = b->aad[i] + done[i];
            part[i] = (b->aad_len[i] - done[i]) / (step + 1);
            done[i] += part[i];
        }
        good = pipeline_api.update(ctx, NULL, got, NULL, from, part) > 0;
        for (size_t i = 0; i < b->n; i++)
            good = good && got[i] == part[i];
    }
    return good;
}

/* Passes the data in one update, or in three of different lengths. After the first, sometimes goes
 * on with a copy of the context. In place or not. */
static bool feed(EVP_CIPHER_CTX **ctx, struct batch *b, uint8_t in[][MAX_DATA],
                 uint8_t out[][MAX_DATA], struct tap_random *random)
{
    unsigned char *to[MAX_PIPES];
    const unsigned char *from[MAX_PIPES];
    size_t done[MAX_PIPES] = {0}, room[MAX_PIPES], part[MAX_PIPES], got[MAX_PIPES];
    const unsigned updates = tap_below(random, 3) == 0 ? 3 : 1;
    const bool copies = tap_below(random, 3) == 0;
    bool good = true;
    for (unsigned step = updates; good && step-- != 0;) {
        for (size_t i = 0; i < b->n; i++) {
            from[i] = in[i] + done[i];
            to[i] = out[i] + done[i];
            part[i] = room[i] = (b->len[i] - done[i]) / (step + 1);
            done[i] += part[i];
        }
        good = pipeline_api.update(*ctx, to, got, room, from, part) > 0;
        for (size_t i = 0; i < b->n; i++)
            good = good && got[i] == part[i];
        if (step + 1 == updates && copies) {
            EVP_CIPHER_CTX *copy = EVP_CIPHER_CTX_new();
            good = good && EVP_CIPHER_CTX_copy(copy, *ctx) > 0;
            EVP_CIPHER_CTX_free(*ctx);
            *ctx = copy;
        }
    }
    return good;
}

static bool finish(EVP_CIPHER_CTX *ctx, struct batch *b)
{
    unsigned char last[16], *to[MAX_PIPES];
    size_t room[MAX_PIPES], got[MAX_PIPES];
    for (size_t i = 0; i < b->n; i++) {
        to[i] = last;
        room[i] = sizeof(last);
        got[i] = 1;
    }
    bool good = pipeline_api.final(ctx, to, got, room) > 0;
    for (size_t i = 0; i < b->n; i++)
        good = good && got[i] == 0;
    return good;
}

static bool begin(EVP_CIPHER_CTX *ctx, const EVP_CIPHER *cipher, struct batch *b, bool encrypt,
                  struct tap_random *random)
{
    const bool together = tap_below(random, 2) == 0;
    return start(ctx, cipher, b, true, together, encrypt) > 0 &&
           (together || start(ctx, cipher, b, false, true, encrypt) > 0) && aad(ctx, b, random);
}

/* ---- The tests ------------------------------------------------------------------------------ */

static uint8_t in[MAX_PIPES][MAX_DATA], out[MAX_PIPES][MAX_DATA], tag[MAX_PIPES][16];
static struct batch b;

static bool seals(EVP_CIPHER_CTX **ctx, EVP_CIPHER *cipher, struct tap_random *random)
{
    const bool in_place = tap_below(random, 2) == 0;
    memcpy(in, b.text, sizeof(in));
    memset(tag, 0, sizeof(tag));
    uint8_t(*const to)[MAX_DATA] = in_place ? in : out;
    bool good = begin(*ctx, cipher, &b, true, random) && !tags(*ctx, &b, tag, false) &&
                feed(ctx, &b, in, to, random) && finish(*ctx, &b) && tags(*ctx, &b, tag, false) &&
                !finish(*ctx, &b);
    for (size_t i = 0; good && i < b.n; i++)
        good = tap_same(to[i], b.out[i], b.len[i]) && tap_same(tag[i], b.tag[i], b.tag_len);
    return good;
}

/* Opens the default provider's messages. If `forge`, one of them has a changed tag. */
static bool opens(EVP_CIPHER_CTX **ctx, EVP_CIPHER *cipher, bool forge, struct tap_random *random)
{
    const bool early = tap_below(random, 2) == 0;
    memcpy(in, b.out, sizeof(in));
    memcpy(tag, b.tag, sizeof(tag));
    if (forge)
        tag[tap_below(random, (uint32_t)b.n)][tap_below(random, (uint32_t)b.tag_len)] ^= 4;
    bool good = begin(*ctx, cipher, &b, false, random) && (!early || tags(*ctx, &b, tag, true)) &&
                feed(ctx, &b, in, out, random) && (early || tags(*ctx, &b, tag, true)) &&
                finish(*ctx, &b) == !forge;
    for (size_t i = 0; good && i < b.n; i++)
        good = tap_same(out[i], b.text[i], b.len[i]);
    return good;
}

static bool each_is_its_own(const char *name, EVP_CIPHER *cipher, struct tap_random *random)
{
    bool good = true;
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    for (int round = 0; good && round < ROUNDS; round++) {
        fill(&b, random);
        good = one_by_one(name, &b) && seals(&ctx, cipher, random);
        ERR_clear_error(); /* of the calls that must fail */
        good = good && opens(&ctx, cipher, false, random) && opens(&ctx, cipher, true, random);
        if (!good) {
            tap_diag("%s: round %d, %zu pipes, first of %zu bytes", name, round, b.n, b.len[0]);
            ERR_print_errors_fp(stdout);
        }
        ERR_clear_error();
    }
    EVP_CIPHER_CTX_free(ctx);
    return good;
}

/* The messages lie with gaps between them, and the pipes write without gaps, over the inputs of
 * pipes before them. The pipes must run in their order. */
static bool packs(const char *name, EVP_CIPHER *cipher, struct tap_random *random)
{
    enum { LEN = 128, GAP = 32, PIPES = 20 };
    uint8_t memory[PIPES * (LEN + GAP)];
    unsigned char *to[PIPES];
    const unsigned char *from[PIPES];
    size_t len[PIPES], got[PIPES];
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    fill(&b, random);
    b.n = PIPES;
    for (size_t i = 0; i < PIPES; i++) {
        len[i] = b.len[i] = LEN;
        b.aad_len[i] = 0;
        tap_fill(random, b.text[i], LEN);
        to[i] = memory + i * LEN;
        from[i] = memcpy(memory + i * (LEN + GAP), b.text[i], LEN);
    }
    bool good = one_by_one(name, &b) && start(ctx, cipher, &b, true, true, true) > 0 &&
                pipeline_api.update(ctx, to, got, len, from, len) > 0;
    for (size_t i = 0; good && i < PIPES; i++)
        good = tap_same(to[i], b.out[i], LEN);
    EVP_CIPHER_CTX_free(ctx);
    return good;
}

/* Checks that wrong numbers of pipes, IVs, output sizes, and tags of the wrong direction are
 * refused. So are updates without a key, without IVs or after final. */
static bool wrong_calls(EVP_CIPHER *cipher, struct tap_random *random)
{
    const size_t key_len = (size_t)EVP_CIPHER_get_key_length(cipher);
    const unsigned char *iv[MAX_PIPES + 1], *none[MAX_PIPES + 1] = {NULL}, *from[3];
    unsigned char *to[3];
    size_t room[3] = {16, 15, 16}, len[3] = {16, 16, 16}, got[3];
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    fill(&b, random);
    b.n = 3;
    for (size_t i = 0; i <= MAX_PIPES; i++)
        iv[i] = b.iv[0];
    for (size_t i = 0; i < 3; i++) {
        from[i] = in[i];
        to[i] = out[i];
    }
    const struct {
        size_t key_len, n, iv_len;
        const unsigned char **iv;
    } calls[] = {{key_len, 0, 12, iv},     {key_len, MAX_PIPES + 1, 12, iv},
                 {key_len - 1, 3, 12, iv}, {key_len, 3, 0, iv},
                 {key_len, 3, 129, iv},    {key_len, 3, 12, none}};
    bool refused = true;
    for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        EVP_CIPHER_CTX_reset(ctx);
        refused = refused &&
                  pipeline_api.encrypt_init(ctx, cipher, b.key, calls[i].key_len, calls[i].n,
                                            calls[i].iv, calls[i].iv_len) <= 0 &&
                  (calls[i].n != 3 ||
                   (pipeline_api.update(ctx, to, got, len, from, len) <= 0 && !finish(ctx, &b)));
    }
    EVP_CIPHER_CTX_reset(ctx);
    refused = refused && start(ctx, cipher, &b, false, true, true) > 0 && !finish(ctx, &b) &&
              start(ctx, cipher, &b, true, false, true) > 0 && !finish(ctx, &b) &&
              start(ctx, cipher, &b, false, true, true) > 0 && !tags(ctx, &b, tag, true) &&
              pipeline_api.update(ctx, to, got, room, from, len) <= 0 && got[0] == 16 &&
              got[1] == 0 && got[2] == 16 && finish(ctx, &b) &&
              pipeline_api.update(ctx, to, got, len, from, len) <= 0 && got[0] == 0 &&
              start(ctx, cipher, &b, false, true, false) > 0 && !finish(ctx, &b);
    ERR_clear_error();
    EVP_CIPHER_CTX_free(ctx);
    return refused;
}

int main(void)
{
    DIFFERS("pipelines");
    if (!find_pipeline_api())
        return without_pipelines();
    tap_plan(4 * NAMES);
    ours = evp_open("tenrounds");
    theirs = evp_open("default");
    struct tap_random random = tap_random(0);
    for (unsigned i = 0; i < NAMES; i++) {
        EVP_CIPHER *cipher = evp_fetch(&ours, names[i]);
        tap_ok(pipeline_api.can(cipher, 0) && pipeline_api.can(cipher, 1), "%s can pipeline",
               names[i]);
        tap_ok(
            each_is_its_own(names[i], cipher, &random),
            "%s: each pipe gives the output and tag of a separate message, and a forged tag fails",
            names[i]);
        tap_ok(packs(names[i], cipher, &random),
               "%s: pipes that write over inputs of earlier ones run in order", names[i]);
        tap_ok(wrong_calls(cipher, &random), "%s: refuses wrong calls", names[i]);
        EVP_CIPHER_free(cipher);
    }
    evp_close(&ours);
    evp_close(&theirs);
    return tap_done();
}
