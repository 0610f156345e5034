/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests CMAC and GMAC with published vectors and with random sequences of EVP calls. The sequences
 * run in a library context that prefers tenrounds, and in a library context without tenrounds. The
 * sequences use AES and other ciphers. A failing sequence is shortened before it is printed. The
 * argument is the duration in seconds (default 5).
 *
 * The sequences leave out calls for which the default provider's state is undefined:
 * - data or a final after a final; in CMAC, tenrounds refuses these calls;
 * - data or a final after a new GMAC key during a message, without a new IV;
 * - data or a final after a failed call with parameters or a key;
 * - a key after a cipher was refused.
 * The sequences also leave out a copy of a CMAC context while a new cipher has no key. tenrounds
 * refuses that copy if an AES key is set and the new cipher is not AES.
 */
#define _GNU_SOURCE
#define MAX_DATA 5000
#include "sequences.h"
#include "steps.h"

#include "../core/cases.h"

#define MAX_STEPS 40

static const struct cipher {
    const char *name;
    size_t key_len;
    bool ours;
} cbc[] = {{"AES-128-CBC", 16, true},   {"aes-192-cbc", 24, true},
           {"AES256", 32, true},        {"2.16.840.1.101.3.4.1.2", 16, true},
           {"DES-EDE3-CBC", 24, false}, {"CAMELLIA-128-CBC", 16, false},
           {"camellia256", 32, false},  {"ARIA-192-CBC", 24, false},
           {"SM4-CBC", 16, false}},
  gcm[] = {{"AES-128-GCM", 16, true},   {"id-aes192-GCM", 24, true},
           {"aes-256-gcm", 32, true},   {"2.16.840.1.101.3.4.1.6", 16, true},
           {"ARIA-128-GCM", 16, false}, {"aria-256-gcm", 32, false}};

static const struct family {
    const char *mac;
    const struct cipher *ciphers;
    size_t count;
} families[] = {{"CMAC", cbc, sizeof(cbc) / sizeof(cbc[0])},
                {"GMAC", gcm, sizeof(gcm) / sizeof(gcm[0])}};
#define FAMILIES 2

/* The state in which both providers must be after the calls so far. */
struct state {
    const struct family *family;
    bool gmac;
    /* `next` is the cipher that CMAC uses after the next key. */
    const struct cipher *now, *next;
    bool key_set, iv_set;
    bool refused; /* the last cipher was refused, or a call with parameters or a key failed since */
    /* The test skips data and final: after a final, and after a failed call with parameters or a
     * key. For GMAC, also after a new key during a message. */
    bool spent;
    bool begun;
    EVP_MAC_CTX *ctx[SIDES];
};

static bool same_errors_expected; /* true with OpenSSL 3.0 */

/* How many tags each family computed: with ciphers other than AES (index 0) and with AES (index
 * 1). */
static unsigned long tags[FAMILIES][2];

/* Whether the results match. The kind of error counts only if same_errors_expected is true. Without
 * a cipher, GMAC's error depends on libcrypto's cipher context, so any two errors match. */
static bool alike(const struct state *s, struct result r[SIDES])
{
    const bool vague = s->gmac && s->now == NULL && r[OURS].error != 0 && r[THEIRS].error != 0;
    if (!same_errors_expected || vague)
        r[OURS].error = r[THEIRS].error;
    return same(r);
}

/* ---- Ciphers, keys and IVs ------------------------------------------------------------------- */

struct values {
    char cipher[64], query[64];
    uint8_t key[40], iv[140];
};

/* The parameters of a call, and flags for the values that they contain. */
struct asked {
    const struct cipher *cipher; /* NULL: no cipher, or one that the MAC must refuse */
    bool cipher_given, key_given, iv_given;
    size_t key_len;
    OSSL_PARAM params[6];
};

static const char *any_query(struct tap_random *random)
{
    static const char *const queries[] = {"",
                                          "provider=default",
                                          "?tenrounds.aes=yes",
                                          "?tenrounds.aes",
                                          "?provider=default",
                                          "provider=no-such"};
    return queries[tap_below(random, sizeof(queries) / sizeof(queries[0]))];
}

static size_t any_key_len(const struct cipher *c, struct tap_random *random)
{
    return c != NULL && tap_below(random, 8) != 0 ? c->key_len : tap_below(random, 40);
}

static void ask(struct asked *a, struct values *v, const struct state *s, struct tap_random *random)
{
    OSSL_PARAM *p = a->params;
    const struct cipher *c = s->next != NULL ? s->next : s->now;
    memset(a, 0, sizeof(*a));
    memset(v, 0, sizeof(*v));
    tap_fill(random, v->key, sizeof(v->key));
    tap_fill(random, v->iv, sizeof(v->iv));
    if (c == NULL || tap_below(random, 3) == 0) {
        a->cipher_given = true;
        a->cipher = c = &s->family->ciphers[tap_below(random, s->family->count)];
        snprintf(v->cipher, sizeof(v->cipher), "%s", c->name);
        if (tap_below(random, 10) == 0) {
            DIFFERS("cmac-cipher");
            /* CMAC gets no cipher of another mode, because OpenSSL 3.0 would accept it and compute
             * garbage. */
            snprintf(v->cipher, sizeof(v->cipher), "%s", s->gmac ? "AES-128-CBC" : "no-such");
            a->cipher = NULL;
        }
        *p++ = OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, v->cipher, 0);
        if (tap_below(random, 40) == 0)
            p[-1].data_type = OSSL_PARAM_OCTET_STRING;
    }
    if (tap_below(random, 4) == 0) {
        snprintf(v->query, sizeof(v->query), "%s", any_query(random));
        *p++ = OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_PROPERTIES, v->query, 0);
    }
    if (tap_below(random, 3) == 0 && (!s->refused || a->cipher != NULL)) {
        a->key_given = true;
        a->key_len = any_key_len(c, random);
        *p++ = OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, v->key, a->key_len);
        if (tap_below(random, 20) == 0)
            p[-1].data_type = OSSL_PARAM_UTF8_STRING;
    }
    if (s->gmac && tap_below(random, 2) == 0) {
        a->iv_given = true;
        *p++ = OSSL_PARAM_construct_octet_string(
            OSSL_MAC_PARAM_IV, v->iv, tap_below(random, 3) != 0 ? 12 : tap_below(random, 140));
    }
    if (tap_below(random, 8) == 0)
        *p++ = OSSL_PARAM_construct_utf8_string("unknown-to-all", v->cipher, 0);
    *p = OSSL_PARAM_construct_end();
    if (tap_below(random, 2) == 0 && p - a->params >= 2) {
        const OSSL_PARAM first = a->params[0];
        a->params[0] = a->params[1];
        a->params[1] = first;
    }
    for (p = a->params; p->key != NULL; p++)
        tell("  %s, type %u, %zu bytes %s", p->key, p->data_type, p->data_size,
             p->data == v->cipher || p->data == v->query ? (char *)p->data : "");
}

/* Updates the state after a call with a key, which succeeded if `good`. In CMAC, a new cipher takes
 * effect with its key. */
static void key_set(struct state *s, bool good)
{
    if (s->next != NULL)
        s->now = s->next;
    s->next = NULL;
    s->key_set = s->gmac ? s->key_set || good : good;
    DIFFERS("gcm-new-key");
    s->spent = s->gmac && (s->spent || s->begun);
}

/* Updates the state after a call with parameters. If the call failed, assumes the effects that it
 * may have had. */
static void took(struct state *s, const struct asked *a, bool good)
{
    if (a->cipher_given) {
        s->refused = !good || a->cipher == NULL;
        if (s->gmac && (good || a->cipher != NULL)) {
            s->now = a->cipher;
            s->key_set = s->iv_set = s->spent = s->begun = false;
        } else if (!s->gmac) {
            s->next = good ? a->cipher : NULL;
        }
    }
    if (a->key_given)
        key_set(s, good);
    if (a->iv_given) {
        s->iv_set = good;
        s->begun = s->spent = false;
    }
}

/* ---- The steps ------------------------------------------------------------------------------ */

static bool do_set(struct state *s, struct tap_random *random)
{
    struct values v;
    struct asked a;
    struct result r[SIDES] = {0};
    tell("set:");
    ask(&a, &v, s, random);
    for (int i = 0; i < SIDES; i++)
        end_call(&r[i], EVP_MAC_CTX_set_params(s->ctx[i], a.params));
    took(s, &a, r[THEIRS].ret > 0);
    DIFFERS("after-failed-call");
    /* After a failure it is unknown which parameters took effect. */
    if (r[THEIRS].ret <= 0)
        s->refused = s->spent = true;
    return alike(s, r);
}

static bool do_init(struct state *s, struct tap_random *random)
{
    struct values v;
    uint8_t key[40];
    struct asked a = {0};
    struct result r[SIDES] = {0};
    const bool with_params = tap_below(random, 2) == 0, with_key = tap_below(random, 3) != 0;
    tell("init%s:", with_params ? " with parameters" : "");
    if (with_params)
        ask(&a, &v, s, random);
    tap_fill(random, key, sizeof(key));
    const struct cipher *c = a.cipher != NULL ? a.cipher : s->next != NULL ? s->next : s->now;
    const size_t key_len = with_key ? any_key_len(c, random) : 0;
    tell("  %s of %zu bytes", with_key ? "a key" : "no key", key_len);
    if (with_key && (s->refused || a.cipher_given) && a.cipher == NULL)
        return true;
    for (int i = 0; i < SIDES; i++)
        end_call(&r[i], EVP_MAC_init(s->ctx[i], with_key ? key : NULL, key_len,
                                     with_params ? a.params : NULL));
    const bool good = r[THEIRS].ret > 0;
    took(s, &a, good);
    if (with_key) {
        /* An IV in the same call belongs to this key, so the message is not spent. */
        const bool spent = s->spent;
        key_set(s, good);
        if (a.iv_given)
            s->spent = spent;
    }
    if (good && !s->gmac)
        s->spent = false;
    if (!good && (with_params || with_key))
        s->refused = s->spent = true;
    s->begun = s->gmac && s->begun && !a.iv_given;
    return alike(s, r);
}

static bool ready(const struct state *s)
{
    return !s->spent && (!s->gmac || s->iv_set || !s->key_set);
}

static bool do_update(struct state *s, struct tap_random *random)
{
    static uint8_t data[MAX_DATA];
    struct result r[SIDES] = {0};
    static const size_t limits[] = {18, 100, 600, MAX_DATA};
    const size_t len = tap_below(random, limits[tap_below(random, 4)]);
    tap_fill(random, data, len);
    if (!ready(s))
        return true;
    tell("update: %zu bytes", len);
    for (int i = 0; i < SIDES; i++)
        end_call(&r[i], EVP_MAC_update(s->ctx[i], data, len));
    s->begun = true;
    return alike(s, r);
}

static bool do_final(struct state *s, struct tap_random *random)
{
    DIFFERS("cmac-after-final");
    static struct result r[SIDES];
    const size_t room = tap_below(random, 6) == 0 ? tap_below(random, 20) : 64;
    const bool ask_size = tap_below(random, 6) == 0;
    if (!ready(s))
        return true;
    tell("final%s, room for %zu", ask_size ? ", NULL" : "", room);
    for (int i = 0; i < SIDES; i++) {
        size_t len = 0;
        memset(r[i].out, 0, 64);
        end_call(&r[i], EVP_MAC_final(s->ctx[i], ask_size ? NULL : r[i].out, &len, room));
        r[i].len = r[i].ret > 0 ? (int)len : 0;
    }
    if (!ask_size && r[THEIRS].ret > 0) {
        s->spent = true;
        tags[s->gmac][s->now != NULL && s->now->ours]++;
    }
    return alike(s, r);
}

static bool do_get(struct state *s, struct tap_random *random)
{
    static const char *const keys[] = {OSSL_MAC_PARAM_SIZE, OSSL_MAC_PARAM_BLOCK_SIZE, "other"};
    struct result r[SIDES] = {0};
    uint8_t value[SIDES][16];
    const char *const key = keys[tap_below(random, 3)];
    static const unsigned types[] = {OSSL_PARAM_INTEGER, OSSL_PARAM_UNSIGNED_INTEGER,
                                     OSSL_PARAM_OCTET_STRING, OSSL_PARAM_UTF8_STRING};
    const unsigned type = types[tap_below(random, 4)];
    const size_t size = 1 + tap_below(random, 10);
    memset(value, 0xa5, sizeof(value));
    tell("get %s as type %u of %zu bytes", key, type, size);
    for (int i = 0; i < SIDES; i++) {
        OSSL_PARAM params[] = {{key, type, value[i], size, OSSL_PARAM_UNMODIFIED}, OSSL_PARAM_END};
        end_call(&r[i], EVP_MAC_CTX_get_params(s->ctx[i], params));
        r[i].error = 0;
        if (r[i].ret > 0)
            memcpy(r[i].out, value[i], 16);
        r[i].len = r[i].ret > 0 ? 16 : 0;
    }
    return alike(s, r) &&
           EVP_MAC_CTX_get_mac_size(s->ctx[OURS]) == EVP_MAC_CTX_get_mac_size(s->ctx[THEIRS]) &&
           EVP_MAC_CTX_get_block_size(s->ctx[OURS]) == EVP_MAC_CTX_get_block_size(s->ctx[THEIRS]);
}

/* Copies the contexts. Uses and frees either the originals or the copies, and continues with the
 * others. */
static bool do_copy(struct state *s, struct tap_random *random)
{
    DIFFERS("cmac-copy");
    EVP_MAC_CTX *copy[SIDES];
    struct result r[SIDES] = {0};
    const bool keep = tap_below(random, 2) == 0;
    if (!s->gmac && (s->refused || s->next != NULL))
        return true;
    tell("copy, continue with the %s", keep ? "copy" : "original");
    for (int i = 0; i < SIDES; i++) {
        copy[i] = EVP_MAC_CTX_dup(s->ctx[i]);
        end_call(&r[i], copy[i] != NULL);
    }
    const bool both = r[OURS].ret > 0 && r[THEIRS].ret > 0;
    for (int i = 0; i < SIDES; i++) {
        uint8_t junk[64] = {0};
        if (keep && both) {
            EVP_MAC_CTX *const original = s->ctx[i];
            s->ctx[i] = copy[i];
            copy[i] = original;
        }
        if (both && ready(s))
            EVP_MAC_update(copy[i], junk, 33);
        EVP_MAC_CTX_free(copy[i]);
    }
    ERR_clear_error();
    return alike(s, r);
}

static bool (*const whats[])(struct state *, struct tap_random *) = {
    do_set,    do_init,   do_init,  do_init, do_update, do_update,
    do_update, do_update, do_final, do_get,  do_copy,   do_final};
#define WHATS (sizeof(whats) / sizeof(whats[0]))

/* ---- Sequences ------------------------------------------------------------------------------ */

static EVP_MAC_CTX *new_context(const struct evp_side *side, const char *name)
{
    EVP_MAC *mac = EVP_MAC_fetch(side->libctx, name, NULL);
    EVP_MAC_CTX *ctx = mac == NULL ? NULL : EVP_MAC_CTX_new(mac);
    if (ctx == NULL || EVP_MAC_get0_provider(mac) != side->provider) {
        ERR_print_errors_fp(stderr);
        fprintf(stderr, "no MAC %s in the provider %s\n", name,
                OSSL_PROVIDER_get0_name(side->provider));
        exit(2);
    }
    EVP_MAC_free(mac);
    return ctx;
}

static bool run(const void *subject, const struct step *steps, unsigned n, bool print)
{
    const struct family *family = subject;
    struct state s = {.family = family, .gmac = family == &families[1]};
    bool good = true;
    printing = print;
    for (int i = 0; i < SIDES; i++)
        s.ctx[i] = new_context(&sides[i], family->mac);
    for (unsigned i = 0; good && i < n; i++) {
        struct tap_random random = tap_random(steps[i].seed);
        good = whats[steps[i].what](&s, &random);
    }
    for (int i = 0; i < SIDES; i++)
        EVP_MAC_CTX_free(s.ctx[i]);
    return good;
}

/* ---- Vectors -------------------------------------------------------------------------------- */

static const struct file {
    const char *mac, *path;
    unsigned valid, invalid;
} files[] = {{"CMAC", "sp800-38b/cmac-128.txt", 4, 0},
             {"CMAC", "sp800-38b/cmac-192.txt", 4, 0},
             {"CMAC", "sp800-38b/cmac-256.txt", 4, 0},
             {"CMAC", "wycheproof/aes_cmac.txt", 63, 248},
             {"GMAC", "wycheproof/aes_gmac.txt", 90, 324}};
#define FILES (sizeof(files) / sizeof(files[0]))

/* Computes the tag of a case in a library context that has only tenrounds. */
static bool tag_of(const struct evp_side *alone, const struct file *f, const struct test_case *c,
                   uint8_t tag[16])
{
    char name[32];
    size_t len = 0;
    snprintf(name, sizeof(name), "AES-%zu-%s", 8 * c->key.len, *f->mac == 'C' ? "CBC" : "GCM");
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, name, 0),
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_IV, (void *)c->iv.data, c->iv.len),
        OSSL_PARAM_END};
    if (*f->mac == 'C')
        params[1] = OSSL_PARAM_construct_end();
    EVP_MAC_CTX *ctx = new_context(alone, f->mac);
    const bool good = EVP_MAC_init(ctx, c->key.data, c->key.len, params) &&
                      EVP_MAC_update(ctx, c->pt.data, c->pt.len) &&
                      EVP_MAC_final(ctx, tag, &len, 16) && len == 16;
    EVP_MAC_CTX_free(ctx);
    ERR_clear_error();
    return good;
}

/* Checks the cases of a file. For a valid case, the tag must equal the tag in the file. For an
 * invalid case, the tag must differ, or tenrounds must refuse the key or IV. */
static bool vectors(const struct evp_side *alone, const struct file *f)
{
    static struct test_case c;
    char path[512], error[160] = "";
    unsigned valid = 0, invalid = 0;
    bool good = true;
    snprintf(path, sizeof(path), VECTORS "/%s", f->path);
    FILE *in = fopen(path, "r");
    if (in == NULL) {
        tap_diag("cannot open %s", path);
        return false;
    }
    while (good && case_read(in, &c, error)) {
        uint8_t tag[16] = {0};
        const bool have = tag_of(alone, f, &c, tag);
        const bool same_tag = have && memcmp(tag, c.tag.data, c.tag.len) == 0;
        good = same_tag == (c.verdict == CASE_VALID);
        valid += c.verdict == CASE_VALID;
        invalid += c.verdict == CASE_INVALID;
        if (!good)
            tap_diag("case %u", c.id);
    }
    fclose(in);
    if (*error != '\0' || valid != f->valid || invalid != f->invalid)
        tap_diag("%u valid cases, %u invalid; %s", valid, invalid, error);
    return good && *error == '\0' && valid == f->valid && invalid == f->invalid;
}

/* Whether CMAC's init succeeds with an empty property query, and with each form of query that
 * prefers or demands tenrounds. No other provider is loaded that could compute the CMAC instead. */
static bool alone(const struct evp_side *side)
{
    static const char *const queries[] = {"",
                                          "provider=tenrounds",
                                          "?provider=tenrounds",
                                          "tenrounds.aes=yes",
                                          "?tenrounds.aes=yes",
                                          "tenrounds.aes",
                                          "?tenrounds.aes"};
    static const unsigned char key[16] = {1};
    char name[] = "AES-128-CBC", query[64];
    bool good = true;
    EVP_MAC *mac = EVP_MAC_fetch(side->libctx, "CMAC", NULL);
    for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
        snprintf(query, sizeof(query), "%s", queries[i]);
        const OSSL_PARAM params[] = {
            OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_CIPHER, name, 0),
            OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_PROPERTIES, query, 0),
            OSSL_PARAM_construct_end()};
        EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(mac);
        const bool is_ours = EVP_MAC_init(ctx, key, sizeof(key), params) > 0;
        if (!is_ours)
            tap_diag("tenrounds did not accept the query '%s'", query);
        good &= is_ours;
        EVP_MAC_CTX_free(ctx);
        ERR_clear_error();
    }
    EVP_MAC_free(mac);
    return good;
}

/* Whether enough tags of each kind were compared. A busy machine compares few in a given time. */
static bool enough(unsigned f)
{
    return tags[f][0] > 100 && tags[f][1] > 100;
}

int main(int argc, char **argv)
{
    const time_t seconds = argc > 1 ? atoi(argv[1]) : 5;
    unsigned count[FAMILIES] = {0};
    bool good[FAMILIES] = {true, true};
    tap_plan(FAMILIES + FILES + 1);
    sides[OURS] = evp_open("tenrounds");
    sides[THEIRS] = evp_open("default");
    for (unsigned i = 0; i < FILES; i++)
        tap_ok(vectors(&sides[OURS], &files[i]), "%s: all cases are right", files[i].path);
    tap_ok(alone(&sides[OURS]),
           "tenrounds computes CMAC for each form of a preference for tenrounds");

    OSSL_PROVIDER *const also = OSSL_PROVIDER_load(sides[OURS].libctx, "default");
    EVP_set_default_properties(sides[OURS].libctx, "?provider=tenrounds");
    same_errors_expected = OPENSSL_version_major() == 3 && OPENSSL_version_minor() == 0;
    tap_diag("backend: %s", evp_provider_text(sides[OURS].provider, "selected-backend"));
    struct tap_random random = tap_random(0);
    const time_t end = time(NULL) + seconds, last = end + 100;
    do {
        for (unsigned f = 0; f < FAMILIES; f++) {
            if (good[f])
                good[f] = sequence_drawn(run, &families[f], families[f].mac, MAX_STEPS, WHATS, NULL,
                                         0, &random);
            count[f] += good[f];
        }
    } while (time(NULL) < end ||
             (time(NULL) < last && ((good[0] && !enough(0)) || (good[1] && !enough(1)))));
    for (unsigned f = 0; f < FAMILIES; f++)
        tap_ok(good[f] && enough(f),
               "%s: %u sequences match; %lu tags with AES, %lu tags with other ciphers",
               families[f].mac, count[f], tags[f][1], tags[f][0]);
    OSSL_PROVIDER_unload(also);
    evp_close(&sides[OURS]);
    evp_close(&sides[THEIRS]);
    return tap_done();
}
