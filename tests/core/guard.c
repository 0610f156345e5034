/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that no backend accesses a byte outside its buffers. Covers every valid length up to 600
 * bytes (CFB1: 64, CFB8: 200, key wrap and CMAC: 584), and some longer ones. Input, output, IV, AAD
 * and tag first lie directly after a guard page, then directly before one. With TENROUNDS_STRIDE
 * (tap.h), covers a random part of the lengths. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "aead.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONGEST 600  /* bytes: the test covers every length up to this one in most modes */
#define LONGER  6415 /* the longest of some lengths that reach the loops of long calls */

static const size_t longer[] = {768, 1152, 1350, 1551, 2048, 2320, 4111, LONGER};
#define LONGERS (sizeof(longer) / sizeof(*longer))

static struct tap_random rng;
static unsigned long calls;
static char doing[128]; /* description of the current call, for on_fault() */

/* Memory between two guard pages. */
struct guarded {
    uint8_t *begin, *end;
};

static struct guarded guarded(size_t len)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), inner = (len + page - 1) / page * page;
    uint8_t *p = mmap(NULL, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p + page, inner, PROT_READ | PROT_WRITE) != 0) {
        tap_ok(false, "guard pages cannot be mapped");
        exit(2);
    }
    return (struct guarded){p + page, p + page + inner};
}

/* Returns the address of len bytes just before the upper guard page, or just after the lower
 * one. */
static uint8_t *place(const struct guarded *g, size_t len, bool at_end)
{
    return at_end ? g->end - len : g->begin;
}

static void on_fault(int signal)
{
    static const char text[] = "not ok - touched a guard page: ";
    (void)signal;
    if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0 ||
        write(STDOUT_FILENO, doing, strlen(doing)) < 0)
        _exit(2);
    _exit(1);
}

struct area {
    struct guarded in, out, iv, keystream, aad, tag;
};

/* Tests one length in place and out of place, against both guard pages. The output must equal the
 * output in ordinary memory. */
static bool one_length(const struct area *area, const struct tr_aes_key *key, enum tr_mode mode,
                       bool decrypt, size_t len)
{
    static uint8_t message[LONGER], expected[LONGER];
    uint8_t iv[16];
    bool good = true;
    random_iv(&rng, mode, iv);
    tap_fill(&rng, message, len);
    struct position p = position_at(iv);
    good &= mode_run(key, mode, decrypt, &p, expected, message, len) == TR_OK;
    for (int way = 0; way < 4; way++) {
        const bool at_end = way & 1, in_place = way & 2;
        uint8_t *in = place(&area->in, len, at_end);
        uint8_t *out = in_place ? in : place(&area->out, len, at_end);
        uint8_t *guarded_iv = place(&area->iv, 16, at_end);
        uint8_t *keystream = place(&area->keystream, 16, at_end);
        unsigned used = 0;
        memcpy(in, message, len);
        memcpy(guarded_iv, iv, 16);
        snprintf(doing, sizeof(doing), "%s %s%s %zu bytes, %s, %s\n", tr_backend_name(key->backend),
                 mode_name(mode), decrypt ? " decryption" : "", len,
                 in_place ? "in place" : "out of place",
                 at_end ? "at the end" : "at the beginning");
        (void)mode_call(key, mode, decrypt, guarded_iv, keystream, &used, out, in, len);
        good &= tap_same(out, expected, len);
        calls++;
    }
    return good;
}

static void all_lengths(const struct area *area, const struct tr_backend *b, enum tr_mode mode,
                        bool decrypt)
{
    const size_t unit = mode_is_blocks(mode) ? 16 : 1;
    unsigned n = 0, good = 0;
    for (size_t i = 0; i < 3; i++) {
        uint8_t raw[32];
        tap_fill(&rng, raw, sizeof(raw));
        const struct tr_aes_key key = key_for(b, raw, key_lengths[i]);
        const size_t longest = mode_longest(mode, LONGEST);
        for (size_t len = mode_shortest(mode); len <= longest; len += unit * tap_stride(&rng), n++)
            good += one_length(area, &key, mode, decrypt, len);
        for (size_t j = 0; j < LONGERS; j++) {
            if (longer[j] > mode_longest(mode, LONGER) || longer[j] % unit != 0)
                continue;
            good += one_length(area, &key, mode, decrypt, longer[j]);
            n++;
        }
    }
    tap_ok(good == n, "%s: %s %s stays within its buffers at %u of %u key and message lengths",
           tr_backend_name(b), mode_name(mode), decrypt ? "decryption" : "encryption", good, n);
}

/* ---- Authenticated modes, CMAC and key wrap ------------------------------------------------- */

struct sealed {
    const struct aead *aead;
    struct aead_lengths n;
    uint8_t iv[128], aad[LONGEST], in[LONGER], out[LONGER], tag[16];
};

/* Tests one message. The bits of `way` choose the guard page, in place or out of place, the
 * direction, and one-shot or streaming. */
static bool one_aead(const struct area *area, struct aead_state *s, const struct sealed *m,
                     unsigned way)
{
    const struct aead *a = m->aead;
    const bool at_end = way & 1, in_place = way & 2, decrypt = way & 4, stream = way & 8;
    uint8_t *in = place(&area->in, m->n.text, at_end), *aad = place(&area->aad, m->n.aad, at_end);
    uint8_t *out = in_place ? in : place(&area->out, m->n.text, at_end);
    uint8_t *iv = place(&area->iv, m->n.iv, at_end), *tag = place(&area->tag, m->n.tag, at_end);
    snprintf(doing, sizeof(doing), "%s, IV %zu, AAD %zu, text %zu, tag %zu bytes, way %u\n",
             a->name, m->n.iv, m->n.aad, m->n.text, m->n.tag, way);
    memcpy(in, decrypt ? m->out : m->in, m->n.text);
    memcpy(aad, m->aad, m->n.aad);
    memcpy(iv, m->iv, m->n.iv);
    if (decrypt)
        memcpy(tag, m->tag, m->n.tag);
    enum tr_status status;
    if (!stream) {
        status = a->whole(s, decrypt, &m->n, iv, aad, out, in, tag);
    } else {
        status = a->start(s, iv, &m->n);
        if (status == TR_OK && m->n.aad > 0)
            status = a->aad(s, aad, m->n.aad);
        if (status == TR_OK)
            status = a->crypt(s, decrypt, out, in, m->n.text, tag);
        if (status == TR_OK && a->end != NULL)
            status = a->end(s, decrypt, tag, m->n.tag);
    }
    calls++;
    return status == TR_OK && tap_same(out, decrypt ? m->in : m->out, m->n.text) &&
           tap_same(tag, m->tag, m->n.tag);
}

/* Tests one length in all ways. If `usual`, uses 13 bytes of AAD, as in TLS 1.2, and a 12-byte IV
 * if the mode allows it. GCM has separate code for such short AAD and IVs. */
static bool one_aead_length(const struct area *area, const struct tr_backend *b,
                            const struct aead *a, size_t len, bool usual)
{
    static struct sealed m;
    struct aead_state s;
    uint8_t raw[64];
    tap_fill(&rng, &m, sizeof(m));
    tap_fill(&rng, raw, sizeof(raw));
    m.aead = a;
    m.n = aead_random_lengths(&rng, a, len);
    m.n.aad %= LONGEST;
    if (usual) {
        m.n.aad = 13;
        m.n.iv = a->iv.min <= 12 && 12 <= a->iv.max ? 12 : m.n.iv;
    }
    bool right = a->set_key(&s, b, raw, m.n.key) == TR_OK &&
                 a->whole(&s, false, &m.n, m.iv, m.aad, m.out, m.in, m.tag) == TR_OK;
    for (unsigned way = 0; way < 16 && right; way++)
        right = one_aead(area, &s, &m, way);
    return right;
}

static void aeads(const struct area *area, const struct tr_backend *b, const struct aead *a)
{
    unsigned good = 0, n = 0;
    for (size_t len = 0; len <= LONGEST; len += tap_stride(&rng), n++)
        good += one_aead_length(area, b, a, len, len % 2 == 0);
    for (size_t i = 0; i < 2 * LONGERS; i++, n++)
        good += one_aead_length(area, b, a, longer[i / 2], i % 2 == 0);
    tap_ok(good == n, "%s: %s stays within its buffers at %u of %u lengths", tr_backend_name(b),
           a->name, good, n);
}

static bool one_wrap(const struct area *area, const struct tr_aes_key *key, size_t len, bool at_end)
{
    const size_t wrapped_len = (len + 7) / 8 * 8 + 8;
    uint8_t message[LONGEST];
    bool good = true;
    tap_fill(&rng, message, len);
    for (int padded = 0; padded < 2; padded++) {
        if (!padded && (len < 16 || len % 8 != 0))
            continue;
        uint8_t *in = place(&area->in, len, at_end),
                *wrapped = place(&area->out, wrapped_len, at_end);
        uint8_t *back = place(&area->aad, wrapped_len - 8, at_end);
        size_t back_len = len;
        memcpy(in, message, len);
        snprintf(doing, sizeof(doing), "key wrap%s, %zu bytes\n", padded ? " with padding" : "",
                 len);
        good &= (padded ? tr_kwp_wrap : tr_kw_wrap)(key, 0, NULL, wrapped, in, len) == TR_OK;
        good &= (padded ? tr_kwp_unwrap(key, 0, NULL, back, &back_len, wrapped, wrapped_len)
                        : tr_kw_unwrap(key, 0, NULL, back, wrapped, wrapped_len)) == TR_OK;
        good &= back_len == len && tap_same(back, message, len);
        calls += 2;
    }
    return good;
}

static void wraps_and_macs(const struct area *area, const struct tr_backend *b)
{
    uint8_t raw[32], tags[2][16];
    struct tr_cmac_key m;
    unsigned good = 0, n = 0;
    tap_fill(&rng, raw, sizeof(raw));
    const struct tr_aes_key key = key_for(b, raw, 32);
    bool keyed = tr_cmac_set_key(&m, b, raw, 32) == TR_OK;
    for (size_t len = 1; len <= LONGEST - 16; len += tap_stride(&rng), n++) {
        bool right = keyed;
        for (int at_end = 0; at_end < 2; at_end++) {
            right &= one_wrap(area, &key, len, at_end);
            uint8_t *in = place(&area->in, len, at_end);
            memset(in, 0x44, len);
            snprintf(doing, sizeof(doing), "CMAC, %zu bytes\n", len);
            right &= tr_cmac_sign(&m, in, len, tags[at_end], 16) == TR_OK;
        }
        good += right && memcmp(tags[0], tags[1], 16) == 0;
    }
    tap_ok(good == n, "%s: key wrap and CMAC stay within their buffers at %u of %u lengths",
           tr_backend_name(b), good, n);
}

/* Tests that key expansion accesses no byte outside the raw key. */
static void keys(const struct area *area, const struct tr_backend *b)
{
    bool good = true;
    for (size_t i = 0; i < 3; i++) {
        uint8_t raw[32];
        tap_fill(&rng, raw, sizeof(raw));
        const struct tr_aes_key expected = key_for(b, raw, key_lengths[i]);
        for (int at_end = 0; at_end < 2; at_end++) {
            uint8_t *p = place(&area->in, key_lengths[i], at_end);
            memcpy(p, raw, key_lengths[i]);
            snprintf(doing, sizeof(doing), "%s key of %zu bytes\n", tr_backend_name(b),
                     key_lengths[i]);
            const struct tr_aes_key key = key_for(b, p, key_lengths[i]);
            good &= tap_same(key.enc, expected.enc, 16 * (key.rounds + 1));
            if (b != &tr_bitslice) /* bitslice needs no decryption schedule */
                good &= tap_same(key.dec, expected.dec, 16 * (key.rounds + 1));
        }
    }
    tap_ok(good, "%s: key expansion stays within the raw key", tr_backend_name(b));
}

/* Shows that an access to a guard page is detected. */
static void touch_guard(const struct area *area)
{
    const pid_t child = fork();
    if (child == 0) {
        if (freopen("/dev/null", "w", stdout) == NULL)
            _exit(3);
        *(volatile uint8_t *)area->out.end = 1;
        _exit(0);
    }
    int status = 0;
    const bool waited = child > 0 && waitpid(child, &status, 0) == child;
    tap_ok(waited && WIFEXITED(status) && WEXITSTATUS(status) == 1,
           "an access to a guard page is detected");
}

/* Usage: guard [MODE... | GCM]. With modes, covers only these modes. With GCM, covers only the AEAD
 * GCM. Without arguments, covers all modes, AEADs, key wrap, CMAC and key expansion. */
int main(int argc, char **argv)
{
    const struct area area = {guarded(LONGER), guarded(LONGER),  guarded(16),
                              guarded(16),     guarded(LONGEST), guarded(16)};
    const struct tr_backend *b;
    const bool all = argc == 1, gcm = argc == 2 && strcmp(argv[1], "GCM") == 0;
    const unsigned modes = gcm ? 0 : modes_wanted(argc, argv);
    const unsigned each = (all ? 2 + AEADS : gcm ? 1 : 0) + 2 * modes;
    tap_plan(1 + backend_count() * each);
    rng = tap_random(0);
    signal(SIGSEGV, on_fault);
    signal(SIGBUS, on_fault);
    touch_guard(&area);
    for (unsigned i = 0; (b = tr_backend_at(i)) != NULL; i++) {
        if (backend_skip(b, each))
            continue;
        if (all) {
            keys(&area, b);
            wraps_and_macs(&area, b);
        }
        for (size_t k = 0; k < (all ? AEADS : gcm); k++)
            aeads(&area, b, &all_aeads[k]);
        for (int m = 0; m < ALL_MODES && modes != 0; m++)
            for (int decrypt = 0; decrypt < 2 && mode_wanted(all_modes[m], argv); decrypt++)
                all_lengths(&area, b, all_modes[m], decrypt);
    }
    tap_diag("%lu calls", calls);
    return tap_done();
}
