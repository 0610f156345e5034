/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares the multi-buffer calls with single calls. The number of jobs, their lengths and keys are
 * random. Jobs are in place or out of place, and some keys of CBC and CFB belong to bitslice
 * instead of the tested backend. No byte outside an output may change. Guard pages detect accesses
 * outside the buffers. Also tests the errors. With TENROUNDS_STRIDE (tap.h), tests fewer cases. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "common.h"

#include "dispatch/counting.h"
#include "modes/gcm.h"

#include <sys/mman.h>
#include <unistd.h>

#define JOBS   230
#define LONG   2100
#define MARGIN 32
#define ROUNDS 200
#define AAD    40

static struct tap_random rng;

struct area {
    uint8_t bytes[LONG + MARGIN];
};
static struct area in[JOBS], out[JOBS], expected[JOBS];

/* The shape of a test: often few jobs, short jobs or jobs of equal length. */
struct shape {
    /* The number of jobs, and a limit in bytes: every length is below `most`. */
    size_t jobs, most;
    bool equal; /* every length is most - 1 */
};

static struct shape random_shape(void)
{
    static const size_t most[] = {17, 64, 300, LONG};
    return (struct shape){tap_below(&rng, 3) == 0 ? tap_below(&rng, 4) : tap_below(&rng, JOBS + 1),
                          most[tap_below(&rng, 4)], tap_below(&rng, 4) == 0};
}

static size_t random_len(const struct shape *s)
{
    return s->equal ? s->most - 1 : tap_below(&rng, s->most);
}

/* Fills the input of job i and returns where its output goes: in place or to another buffer. */
static uint8_t *place(size_t i, size_t len)
{
    tap_fill(&rng, in[i].bytes, len);
    memset(in[i].bytes + len, 0x5a, sizeof(in[i].bytes) - len);
    memset(out[i].bytes, 0x5a, sizeof(out[i].bytes));
    memset(expected[i].bytes, 0x5a, sizeof(expected[i].bytes));
    return tap_below(&rng, 2) == 0 ? in[i].bytes : out[i].bytes;
}

static bool is_expected(size_t i, const uint8_t *at, const char *what)
{
    if (tap_same(at, expected[i].bytes, sizeof(expected[i].bytes)))
        return true;
    tap_diag("wrong output: %s, job %zu", what, i);
    return false;
}

/* Makes a random key of 16 bytes. If `mixed`, makes a key of any size, and sometimes for
 * bitslice. */
static struct tr_aes_key random_key(const struct tr_backend *b, bool mixed)
{
    uint8_t raw[32];
    tap_fill(&rng, raw, sizeof(raw));
    const struct tr_backend *of = mixed && tap_below(&rng, 8) == 0 ? &tr_bitslice : b;
    return key_for(of, raw, mixed ? key_lengths[tap_below(&rng, 3)] : 16);
}

static bool streams(const struct tr_backend *b, bool cfb)
{
    static struct tr_aes_key keys[JOBS];
    struct tr_stream jobs[JOBS];
    uint8_t ivs[JOBS][16], ends[JOBS][16];
    const struct shape s = random_shape();
    const bool mixed = tap_below(&rng, 2) == 0;
    /* 0: each job has a separate key. 1: some jobs share a key. 2: all jobs share one key; the core
     * has separate code for this case. */
    const unsigned sharing = tap_below(&rng, 3);
    for (size_t i = 0; i < s.jobs; i++) {
        size_t len = random_len(&s);
        unsigned used = 0;
        if (!cfb)
            len -= len % 16;
        keys[i] = random_key(b, mixed);
        const size_t of[] = {i, tap_below(&rng, (uint32_t)i + 1), 0};
        const struct tr_aes_key *key = &keys[of[sharing]];
        uint8_t *to = place(i, len);
        tap_fill(&rng, ivs[i], 16);
        memcpy(ends[i], ivs[i], 16);
        if ((cfb ? tr_cfb128_encrypt(key, ends[i], &used, expected[i].bytes, in[i].bytes, len)
                 : tr_cbc_encrypt(key, ends[i], expected[i].bytes, in[i].bytes, len)) != TR_OK)
            return false;
        jobs[i] = (struct tr_stream){key, ivs[i], to, in[i].bytes, len};
    }
    if ((cfb ? tr_cfb128_encrypt_many : tr_cbc_encrypt_many)(jobs, s.jobs) != TR_OK)
        return false;
    for (size_t i = 0; i < s.jobs; i++) {
        if (!is_expected(i, jobs[i].out, cfb ? "CFB" : "CBC") || !tap_same(ivs[i], ends[i], 16))
            return false;
    }
    return true;
}

static bool cbc(const struct tr_backend *b)
{
    return streams(b, false);
}

static bool cfb(const struct tr_backend *b)
{
    return streams(b, true);
}

static bool cmac(const struct tr_backend *b)
{
    static struct tr_cmac_key macs[JOBS];
    static struct tr_cmac_job jobs[JOBS];
    uint8_t tags[JOBS][16], raw[32];
    const struct shape s = random_shape();
    const bool shared = tap_below(&rng, 2) == 0;
    for (size_t i = 0; i < s.jobs; i++) {
        const size_t len = random_len(&s);
        tap_fill(&rng, raw, sizeof(raw));
        if (tr_cmac_set_key(&macs[i], b, raw, key_lengths[tap_below(&rng, 3)]) != TR_OK)
            return false;
        struct tr_cmac_key *mac = &macs[shared ? 0 : i];
        (void)place(i, len);
        if (tr_cmac_sign(mac, in[i].bytes, len, tags[i], 16) != TR_OK)
            return false;
        jobs[i] = (struct tr_cmac_job){.key = mac, .data = in[i].bytes, .len = len};
    }
    if (tr_cmac_sign_many(jobs, s.jobs) != TR_OK)
        return false;
    for (size_t i = 0; i < s.jobs; i++) {
        if (!tap_same(jobs[i].tag, tags[i], 16))
            return false;
    }
    return true;
}

/* Defines a function for sealed jobs. It checks them, forges some of their tags, and opens them in
 * place in one call. Returns whether all was right. `text` has their plaintexts. */
#define DEFINE_OPENS(mode, title)                                                                  \
    static bool mode##_opens(struct tr_##mode##_job *jobs, struct mode##_case *cases,              \
                             const struct area *text, size_t count)                                \
    {                                                                                              \
        bool spoiled[JOBS], any = false;                                                           \
        for (size_t i = 0; i < count; i++) {                                                       \
            if (!is_expected(i, jobs[i].out, title) || jobs[i].status != TR_OK ||                  \
                !tap_same(cases[i].tag, cases[i].expected_tag, 16))                                \
                return false;                                                                      \
            jobs[i].in = jobs[i].out;                                                              \
            spoiled[i] = tap_below(&rng, 8) == 0;                                                  \
            cases[i].tag[tap_below(&rng, (uint32_t)jobs[i].tag_len)] ^= spoiled[i];                \
            any |= spoiled[i];                                                                     \
            expected[i] = text[i];                                                                 \
            if (spoiled[i])                                                                        \
                memset(expected[i].bytes, 0, jobs[i].len);                                         \
        }                                                                                          \
        if (tr_##mode##_open_many(jobs, count) != (any ? TR_ERR_TAG : TR_OK))                      \
            return false;                                                                          \
        for (size_t i = 0; i < count; i++) {                                                       \
            if (jobs[i].status != (spoiled[i] ? TR_ERR_TAG : TR_OK) ||                             \
                !is_expected(i, jobs[i].out, title " opened"))                                     \
                return false;                                                                      \
        }                                                                                          \
        return true;                                                                               \
    }

struct ccm_case {
    uint8_t nonce[13], aad[AAD], tag[16], expected_tag[16];
};

static bool make_ccm(struct tr_ccm_job *job, const struct tr_ccm_key *ccm, struct ccm_case *c,
                     size_t i, size_t len)
{
    uint8_t *to = place(i, len);
    memset(c->tag, 0, sizeof(c->tag));
    memset(c->expected_tag, 0, sizeof(c->expected_tag));
    tap_fill(&rng, c->nonce, sizeof(c->nonce));
    tap_fill(&rng, c->aad, sizeof(c->aad));
    *job = (struct tr_ccm_job){.key = ccm,
                               .nonce = c->nonce,
                               .nonce_len = 7 + tap_below(&rng, 7),
                               .aad = c->aad,
                               .aad_len = tap_below(&rng, AAD + 1),
                               .out = to,
                               .in = in[i].bytes,
                               .len = len,
                               .tag = c->tag,
                               .tag_len = 4 + 2 * (size_t)tap_below(&rng, 7)};
    return tr_ccm_seal(ccm, job->nonce, job->nonce_len, job->aad, job->aad_len, expected[i].bytes,
                       job->in, len, c->expected_tag, job->tag_len) == TR_OK;
}

DEFINE_OPENS(ccm, "CCM")

static bool ccm(const struct tr_backend *b)
{
    static struct tr_ccm_key objects[JOBS];
    static struct tr_ccm_job jobs[JOBS];
    static struct ccm_case cases[JOBS];
    static struct area text[JOBS];
    uint8_t raw[32];
    const struct shape s = random_shape();
    for (size_t i = 0; i < s.jobs; i++) {
        tap_fill(&rng, raw, sizeof(raw));
        if (tr_ccm_set_key(&objects[i], b, raw, key_lengths[tap_below(&rng, 3)]) != TR_OK ||
            !make_ccm(&jobs[i], &objects[i], &cases[i], i, random_len(&s)))
            return false;
        text[i] = in[i];
    }
    return tr_ccm_seal_many(jobs, s.jobs) == TR_OK && ccm_opens(jobs, cases, text, s.jobs);
}

struct gcm_case {
    uint8_t iv[16], aad[80], tag[16], expected_tag[16], full_tag[16];
};

/* The shape of the jobs of a run: random for each run, so that runs of equal jobs alternate with
 * jobs of any shape. */
struct gcm_run {
    size_t jobs, len, aad_len, iv_len, tag_len, key;
};

static struct gcm_run random_run(const struct shape *s)
{
    return (struct gcm_run){.jobs = 1 + tap_below(&rng, tap_below(&rng, 3) == 0 ? 4 : 64),
                            .len = random_len(s),
                            .aad_len = tap_below(&rng, tap_below(&rng, 8) == 0 ? 81 : 33),
                            .iv_len = tap_below(&rng, 8) == 0 ? 1 + tap_below(&rng, 16) : 12,
                            .tag_len = tap_below(&rng, 8) == 0 ? 1 + tap_below(&rng, 16) : 16,
                            .key = tap_below(&rng, JOBS)};
}

static bool make_gcm(struct tr_gcm_job *job, const struct tr_gcm_key *key, struct gcm_case *c,
                     size_t i, const struct gcm_run *run)
{
    uint8_t *to = place(i, run->len);
    tap_fill(&rng, c->iv, sizeof(c->iv));
    tap_fill(&rng, c->aad, sizeof(c->aad));
    memset(c->tag, 0, sizeof(c->tag));
    memset(c->expected_tag, 0, sizeof(c->expected_tag));
    const uint8_t *aad = run->aad_len != 0 ? c->aad : NULL;
    *job = (struct tr_gcm_job){.key = key,
                               .iv = c->iv,
                               .iv_len = run->iv_len,
                               .aad = aad,
                               .aad_len = run->aad_len,
                               .out = to,
                               .in = in[i].bytes,
                               .len = run->len,
                               .tag = c->tag,
                               .tag_len = run->tag_len,
                               .status = TR_ERR_STATE};
    if (tr_gcm_seal(key, c->iv, run->iv_len, aad, run->aad_len, expected[i].bytes, job->in,
                    run->len, c->full_tag, 16) != TR_OK)
        return false;
    memcpy(c->expected_tag, c->full_tag, run->tag_len);
    return true;
}

DEFINE_OPENS(gcm, "GCM")

/* A third of the tests have a key for each job, most of them of one size; else the jobs of a run
 * share one. */
static bool gcm(const struct tr_backend *b)
{
    static struct tr_gcm_key objects[JOBS];
    static struct tr_gcm_job jobs[JOBS];
    static struct gcm_case cases[JOBS];
    static struct area text[JOBS];
    uint8_t raw[32];
    const struct shape s = random_shape();
    const bool own_keys = tap_below(&rng, 3) == 0, one_size = tap_below(&rng, 4) != 0;
    const size_t size = key_lengths[tap_below(&rng, 3)];
    struct gcm_run run = {.jobs = 0};
    for (size_t i = 0; i < JOBS; i++) {
        tap_fill(&rng, raw, sizeof(raw));
        if (tr_gcm_set_key(&objects[i], b, raw,
                           one_size ? size : key_lengths[tap_below(&rng, 3)]) != TR_OK)
            return false;
    }
    for (size_t i = 0; i < s.jobs; i++, run.jobs--) {
        if (run.jobs == 0)
            run = random_run(&s);
        if (!make_gcm(&jobs[i], &objects[own_keys ? i : run.key], &cases[i], i, &run))
            return false;
        text[i] = in[i];
    }
    return tr_gcm_seal_many(jobs, s.jobs) == TR_OK && gcm_opens(jobs, cases, text, s.jobs);
}

/* Encrypts the first data of many messages in one call, as pipelines of OpenSSL do. Few messages
 * have data before, and in some runs all get more. The AAD of a message comes in two pieces. */
static bool gcm_streams(const struct tr_backend *b)
{
    static struct tr_gcm_key key;
    static struct tr_gcm messages[JOBS], *pointers[JOBS];
    static struct tr_gcm_job jobs[JOBS];
    static struct gcm_case cases[JOBS];
    size_t before[JOBS], after[JOBS], rest = 0;
    uint8_t raw[32], tag[16];
    const struct shape s = random_shape();
    struct gcm_run run = {.jobs = 0};
    tap_fill(&rng, raw, sizeof(raw));
    bool good = tr_gcm_set_key(&key, b, raw, key_lengths[tap_below(&rng, 3)]) == TR_OK;
    for (size_t i = 0; good && i < s.jobs; i++, run.jobs--) {
        if (run.jobs == 0) {
            run = random_run(&s);
            rest = tap_below(&rng, 2) == 0 ? run.len / 3 : 0;
        }
        struct gcm_case *c = &cases[i];
        struct tr_gcm_job *j = &jobs[i];
        const size_t half = run.aad_len / 2;
        good = make_gcm(j, &key, c, i, &run);
        after[i] = rest;
        before[i] = tap_below(&rng, 30) == 0 ? tap_below(&rng, (uint32_t)(run.len - rest + 1)) : 0;
        pointers[i] = &messages[i];
        good = good && tr_gcm_start(&messages[i], &key, c->iv, run.iv_len) == TR_OK &&
               tr_gcm_aad(&messages[i], c->aad, half) == TR_OK &&
               tr_gcm_aad(&messages[i], c->aad + half, run.aad_len - half) == TR_OK &&
               (before[i] == 0 || tr_gcm_encrypt(&messages[i], j->out, j->in, before[i]) == TR_OK);
        *j = (struct tr_gcm_job){.out = j->out + before[i],
                                 .in = j->in + before[i],
                                 .len = run.len - before[i] - after[i],
                                 .status = TR_ERR_STATE};
    }
    if (good)
        tr_gcm_encrypt_many(pointers, jobs, s.jobs);
    for (size_t i = 0; good && i < s.jobs; i++) {
        const struct tr_gcm_job *j = &jobs[i];
        const struct gcm_case *c = &cases[i];
        good = j->status == TR_OK &&
               tr_gcm_encrypt(&messages[i], j->out + j->len, j->in + j->len, after[i]) == TR_OK &&
               tr_gcm_tag(&messages[i], tag, 16) == TR_OK &&
               is_expected(i, j->out - before[i], "GCM in pieces") &&
               tap_same(tag, c->full_tag, 16);
    }
    return good;
}

static bool all(bool (*once)(const struct tr_backend *), const struct tr_backend *b)
{
    /* bitslice has no multi-buffer code and is slow, so it gets fewer cases. */
    const unsigned rounds = b->features == 0 ? ROUNDS / 20 : ROUNDS;
    for (size_t i = 0; i < rounds; i += tap_stride(&rng)) {
        if (!once(b))
            return false;
    }
    return true;
}

/* Tests that each block is counted once, and that the backend with the multi-buffer code did more
 * than half of the blocks. */
static bool counted(const struct tr_backend *b)
{
    static struct tr_counters counters;
    static struct tr_counting counting;
    struct tr_stream jobs[40];
    uint8_t raw[16] = {1}, ivs[40][16] = {{0}};
    memset(&counters, 0, sizeof(counters));
    const struct tr_aes_key key = key_for(tr_counting_init(&counting, b, &counters), raw, 16);
    uint64_t blocks = 0, total = 0;
    for (size_t i = 0; i < 40; i++) {
        jobs[i] = (struct tr_stream){&key, ivs[i], out[i].bytes, in[i].bytes, 16 * i};
        blocks += i;
    }
    if (tr_cbc_encrypt_many(jobs, 40) != TR_OK)
        return false;
    for (unsigned i = 0; i < backend_count(); i++)
        total += counters.bulk[i][TR_OP_CBC_ENCRYPT].bytes;
    const struct tr_backend *lanes = tr_backend_with_multibuffer(b);
    const unsigned index = tr_backend_index(lanes != NULL ? lanes : &tr_bitslice);
    return total == 16 * blocks &&
           (lanes == NULL || counters.bulk[index][TR_OP_CBC_ENCRYPT].bytes > total / 2);
}

/* Maps a page between two inaccessible pages. */
static uint8_t *guarded(size_t page)
{
    uint8_t *p = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p + page, page, PROT_READ | PROT_WRITE) != 0) {
        tap_ok(false, "guard pages cannot be mapped");
        exit(2);
    }
    return p + page;
}

/* Processes 24 jobs of 1 to 24 blocks, or of 23 blocks each, in one call of each mode. Inputs and
 * outputs lie next to guard pages: an access to a guard page ends the test. */
#define AGAINST 24
static bool against_guards(const struct tr_backend *b)
{
    static uint8_t *from[AGAINST], *to[AGAINST];
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct tr_stream jobs[AGAINST];
    static struct tr_cmac_key mac;
    struct tr_cmac_job macs[AGAINST];
    uint8_t ivs[AGAINST][16], raw[16];
    tap_fill(&rng, raw, sizeof(raw));
    const struct tr_aes_key key = key_for(b, raw, 16);
    bool good = tr_cmac_set_key(&mac, b, raw, 16) == TR_OK;
    for (int way = 0; way < 8; way++) {
        const bool at_end = way & 1, in_place = way & 2, equal = way & 4;
        for (size_t i = 0; i < AGAINST; i++) {
            const size_t len = 16 * (equal ? 23 : i + 1);
            if (from[i] == NULL) {
                from[i] = guarded(page);
                to[i] = guarded(page);
            }
            uint8_t *data = from[i] + (at_end ? page - len : 0);
            uint8_t *dest = in_place ? data : to[i] + (at_end ? page - len : 0);
            unsigned used = 0;
            tap_fill(&rng, data, len);
            tap_fill(&rng, ivs[i], 16);
            memcpy(expected[i].bytes + LONG, ivs[i], 16);
            good &= tr_cfb128_encrypt(&key, expected[i].bytes + LONG, &used, expected[i].bytes,
                                      data, len) == TR_OK;
            macs[i] = (struct tr_cmac_job){.key = &mac, .data = data, .len = len};
            jobs[i] = (struct tr_stream){&key, ivs[i], dest, data, len};
        }
        good &= tr_cmac_sign_many(macs, AGAINST) == TR_OK;
        good &= tr_cfb128_encrypt_many(jobs, AGAINST) == TR_OK;
        for (size_t i = 0; i < AGAINST; i++)
            good &= tap_same(jobs[i].out, expected[i].bytes, jobs[i].len) &&
                    tap_same(ivs[i], expected[i].bytes + LONG, 16);
        good &= tr_cbc_encrypt_many(jobs, AGAINST) == TR_OK;
    }
    return good;
}

/* Encrypts samples at odd addresses, under one key, two or one each. Some masks overlap their
 * samples. The last mask ends at a guard page. */
static bool masks(const struct tr_backend *b)
{
    static struct tr_aes_key keys[JOBS];
    static uint8_t *page_of_masks;
    struct tr_mask_job jobs[JOBS];
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), count = tap_below(&rng, JOBS + 1);
    const bool mixed = tap_below(&rng, 4) == 0;
    const unsigned sharing = tap_below(&rng, 3);
    const size_t size = key_lengths[tap_below(&rng, 3)];
    if (page_of_masks == NULL)
        page_of_masks = guarded(page);
    for (size_t i = 0; i < count; i++) {
        uint8_t raw[32];
        tap_fill(&rng, raw, sizeof(raw));
        keys[i] = mixed ? random_key(b, true) : key_for(b, raw, size);
        (void)place(i, 64);
        const size_t of[] = {i, i % 2, 0};
        const struct tr_aes_key *key = &keys[of[sharing]];
        uint8_t *sample = in[i].bytes + tap_below(&rng, 16);
        uint8_t *mask = i + 1 == count            ? page_of_masks + page - 16
                        : tap_below(&rng, 2) == 0 ? in[i].bytes + tap_below(&rng, 32)
                                                  : out[i].bytes + tap_below(&rng, 16);
        jobs[i] = (struct tr_mask_job){key, sample, mask};
        if (tr_ecb_encrypt(key, expected[i].bytes, sample, 16) != TR_OK)
            return false;
    }
    if (tr_ecb_masks(jobs, count) != TR_OK)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!tap_same(jobs[i].mask, expected[i].bytes, 16))
            return false;
    }
    return true;
}

/* Seals and opens GCM messages of each length to 530 bytes, and of some longer ones. IVs, AAD, data
 * and tags lie next to guard pages. */
static bool gcm_against_guards(const struct tr_backend *b)
{
    enum { COUNT = 12, PARTS = 5 };
    static uint8_t *pages[COUNT][PARTS];
    static struct tr_gcm_key key;
    struct tr_gcm_job jobs[COUNT];
    uint8_t raw[32], tag[COUNT][16];
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    tap_fill(&rng, raw, sizeof(raw));
    if (tr_gcm_set_key(&key, b, raw, 16) != TR_OK)
        return false;
    bool good = true;
    for (size_t len = 0; good && len <= 2100; len += len < 530 ? 1 : 131) {
        const bool at_end = tap_below(&rng, 2) != 0;
        const size_t aad_len = tap_below(&rng, 40);
        for (size_t i = 0; i < COUNT; i++) {
            const size_t sizes[PARTS] = {12, aad_len, len, len, 16};
            uint8_t *at[PARTS];
            for (size_t k = 0; k < PARTS; k++) {
                if (pages[i][k] == NULL)
                    pages[i][k] = guarded(page);
                at[k] = pages[i][k] + (at_end ? page - sizes[k] : 0);
                tap_fill(&rng, at[k], sizes[k]);
            }
            jobs[i] = (struct tr_gcm_job){&key,  at[0], 12,    at[1], aad_len,     at[2],
                                          at[3], len,   at[4], 16,    TR_ERR_STATE};
            good &= tr_gcm_seal(&key, at[0], 12, at[1], aad_len, expected[i].bytes, at[3], len,
                                tag[i], 16) == TR_OK;
        }
        good &= tr_gcm_seal_many(jobs, COUNT) == TR_OK;
        for (size_t i = 0; i < COUNT; i++) {
            good &=
                tap_same(jobs[i].out, expected[i].bytes, len) && tap_same(jobs[i].tag, tag[i], 16);
            memcpy(expected[i].bytes, jobs[i].in, len);
            jobs[i].in = jobs[i].out;
        }
        good &= tr_gcm_open_many(jobs, COUNT) == TR_OK;
        for (size_t i = 0; i < COUNT; i++)
            good &= tap_same(jobs[i].out, expected[i].bytes, len);
    }
    return good;
}

static void test_backend(const struct tr_backend *b)
{
    const char *name = tr_backend_name(b);
    if (backend_skip(b, 10))
        return;
    tap_ok(all(cbc, b), "%s: multi-buffer CBC equals single calls", name);
    tap_ok(all(cfb, b), "%s: multi-buffer CFB equals single calls", name);
    tap_ok(all(cmac, b), "%s: multi-buffer CMAC equals single calls", name);
    tap_ok(all(ccm, b), "%s: multi-buffer CCM equals single calls", name);
    tap_ok(all(gcm, b), "%s: many GCM messages equal single calls", name);
    tap_ok(all(gcm_streams, b), "%s: the first data of many GCM messages equal single calls", name);
    tap_ok(all(masks, b), "%s: masks of many samples equal single calls", name);
    tap_ok(gcm_against_guards(b), "%s: many GCM messages access no guard page", name);
    tap_ok(counted(b), "%s: each block is counted once", name);
    tap_ok(against_guards(b), "%s: multi-buffer calls access no guard page", name);
}

/* Tests the errors. A call with one bad job among good ones must write no output for any job. The
 * bad job of GCM is the last of GCM_ROWS, after jobs that could run together. */
#define GCM_ROWS 12
static void errors(void)
{
    uint8_t raw[16] = {2}, ivs[3][16] = {{0}}, nonce[13] = {0}, tag[3][16] = {{0}};
    const struct tr_aes_key key = key_for(NULL, raw, 16);
    struct tr_stream jobs[3];
    struct tr_cmac_key cmac_of = {0};
    struct tr_cmac_job cmacs[1] = {{.key = &cmac_of, .data = raw, .len = 16}};
    static struct tr_ccm_key ccms[3];
    struct tr_ccm_job sealed[3];
    static struct tr_gcm_key gcm;
    struct tr_gcm_job rows[GCM_ROWS];
    if (tr_gcm_set_key(&gcm, NULL, raw, 16) != TR_OK)
        tap_diag("tr_gcm_set_key() fails");
    for (size_t i = 0; i < GCM_ROWS; i++)
        rows[i] = (struct tr_gcm_job){&gcm,        nonce, 12,         nonce, 13,   out[i % 2].bytes,
                                      in[2].bytes, 64,    tag[i % 3], 16,    TR_OK};
    for (size_t i = 0; i < 3; i++) {
        (void)place(i, 64);
        jobs[i] = (struct tr_stream){&key, ivs[i], out[i].bytes, in[i].bytes, 64};
        if (tr_ccm_set_key(&ccms[i], NULL, raw, 16) != TR_OK)
            tap_diag("tr_ccm_set_key() fails");
        sealed[i] = (struct tr_ccm_job){.key = &ccms[i],
                                        .nonce = nonce,
                                        .nonce_len = 13,
                                        .out = out[i].bytes,
                                        .in = in[i].bytes,
                                        .len = 64,
                                        .tag = tag[i],
                                        .tag_len = 16};
    }
    tap_ok(tr_cbc_encrypt_many(jobs, 0) == TR_OK && tr_cfb128_encrypt_many(NULL, 0) == TR_OK &&
               tr_cmac_sign_many(NULL, 0) == TR_OK && tr_ccm_seal_many(NULL, 0) == TR_OK &&
               tr_gcm_seal_many(NULL, 0) == TR_OK && tr_gcm_open_many(NULL, 0) == TR_OK &&
               tr_ecb_masks(NULL, 0) == TR_OK,
           "calls without jobs succeed");
    jobs[2].len = 63;
    tap_ok(tr_cbc_encrypt_many(jobs, 3) == TR_ERR_LENGTH,
           "CBC refuses a length that is no multiple of 16");
    jobs[2].len = 64;
    jobs[2].out = in[2].bytes + 16;
    tap_ok(tr_cbc_encrypt_many(jobs, 3) == TR_ERR_OVERLAP,
           "CBC refuses output that begins inside the input");
    tap_ok(tr_cfb128_encrypt_many(jobs, 3) == TR_ERR_OVERLAP,
           "CFB refuses output that begins inside the input");
    tap_ok(tr_cmac_sign_many(cmacs, 1) == TR_ERR_STATE, "CMAC refuses a key that was not set");
    sealed[2].nonce_len = 14;
    tap_ok(tr_ccm_seal_many(sealed, 3) == TR_ERR_IV_LENGTH, "CCM refuses a nonce of 14 bytes");
    sealed[2].nonce_len = 13;
    sealed[2].tag_len = 5;
    tap_ok(tr_ccm_seal_many(sealed, 3) == TR_ERR_TAG_LENGTH, "CCM refuses a tag of 5 bytes");
    sealed[2].tag_len = 16;
    sealed[2].out = in[2].bytes + 1;
    tap_ok(tr_ccm_open_many(sealed, 3) == TR_ERR_OVERLAP,
           "CCM refuses output that begins inside the input");
    struct tr_gcm_job *const bad = &rows[GCM_ROWS - 1];
    bad->iv_len = 0;
    tap_ok(tr_gcm_seal_many(rows, GCM_ROWS) == TR_ERR_IV_LENGTH, "GCM refuses an empty IV");
    bad->iv_len = 12;
    bad->tag_len = 17;
    tap_ok(tr_gcm_open_many(rows, GCM_ROWS) == TR_ERR_TAG_LENGTH, "GCM refuses a tag of 17 bytes");
    bad->tag_len = 16;
    bad->out = in[2].bytes + 1;
    tap_ok(tr_gcm_seal_many(rows, GCM_ROWS) == TR_ERR_OVERLAP,
           "GCM refuses output that begins inside the input");
    tap_ok(is_expected(0, out[0].bytes, "errors") && is_expected(1, out[1].bytes, "errors") &&
               memcmp(ivs, (uint8_t[3][16]){{0}}, sizeof(ivs)) == 0 &&
               memcmp(tag, (uint8_t[3][16]){{0}}, sizeof(tag)) == 0,
           "refused calls write nothing");
}

int main(void)
{
    const unsigned backends = backend_count();
    rng = tap_random(1);
    tap_plan(backends * 10 + 12);
    for (unsigned i = 0; i < backends; i++)
        test_backend(tr_backend_at(i));
    errors();
    return tap_done();
}
