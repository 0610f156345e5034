/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests every backend that runs here with published vectors, from files of one case per line
 * (cases.h). Gives one result per file and backend. Checks the number of cases per verdict, so that
 * an empty file cannot pass. Usage: mode_vectors DIRECTORY
 *
 * A valid case must encrypt to its ciphertext and tag, and decrypt to its plaintext. An invalid
 * case must be refused and release no plaintext. Its plaintext, if known, must not encrypt to its
 * ciphertext and tag.
 */
#include "aead.h"
#include "cases.h"

#define UNTOUCHED 0x5a

struct result {
    uint8_t text[CASE_MAX_BYTES + 16], tag[CASE_MAX_BYTES];
    size_t len;
};

/* Writes ciphertext and tag, or decrypts to plaintext. Algorithms that share a function differ in
 * the argument `variant`. */
typedef enum tr_status crypt_fn(const struct tr_backend *b, const struct test_case *c, bool decrypt,
                                int variant, struct result *r);

/* An algorithm: an authenticated mode, or a function. The message of a MAC is the plaintext of the
 * case. */
struct algorithm {
    const char *name;
    const struct aead *aead;
    crypt_fn *crypt;
    int variant;
    bool is_mac;
};

/* ---- Authenticated modes and GMAC ----------------------------------------------------------- */

static enum tr_status aead_crypt(const struct aead *a, const struct tr_backend *b,
                                 const struct test_case *c, bool decrypt, struct result *r)
{
    static struct aead_state s;
    const struct case_bytes *in = decrypt ? &c->ct : &c->pt, *aad = c->aad;
    struct aead_lengths n = {c->key.len, c->iv.len, aad->len, in->len, c->tag.len};
    enum tr_status status = a->set_key(&s, b, c->key.data, c->key.len);
    r->len = in->len;
    if (decrypt)
        memcpy(r->tag, c->tag.data, c->tag.len);
    if (status != TR_OK)
        return status;
    if (!a->aad_in_one_call)
        return a->whole(&s, decrypt, &n, c->iv.data, aad->data, r->text, in->data, r->tag);
    n.iv = 0; /* the nonce, if any, is one of the components */
    status = a->start(&s, c->iv.data, &n);
    for (unsigned i = 0; i < c->parts && status == TR_OK; i++)
        status = a->aad(&s, aad[i].data, aad[i].len);
    return status == TR_OK ? a->crypt(&s, decrypt, r->text, in->data, n.text, r->tag) : status;
}

#define AEAD_ALGORITHM(title, mode, ...)                                                           \
    static const struct algorithm mode = {title, &all_aeads[AEAD_##mode], NULL, 0, false};
AEAD_MODES(AEAD_ALGORITHM)

/* GMAC: GCM with the message as AAD and an empty text (SP 800-38D section 3). */
static enum tr_status gmac(const struct tr_backend *b, const struct test_case *c, bool decrypt,
                           int variant, struct result *r)
{
    (void)decrypt, (void)variant;
    struct tr_gcm_key key;
    struct tr_gcm g;
    enum tr_status status = tr_gcm_set_key(&key, b, c->key.data, c->key.len);
    if (status == TR_OK)
        status = tr_gcm_start(&g, &key, c->iv.data, c->iv.len);
    if (status == TR_OK)
        status = tr_gcm_aad(&g, c->pt.data, c->pt.len);
    return status == TR_OK ? tr_gcm_tag(&g, r->tag, c->tag.len) : status;
}

static const struct algorithm gmac_mac = {"GMAC", NULL, gmac, 0, true};

/* GCM as COPIES equal messages in one call, so that the code for many messages processes most of
 * them. If a copy differs from the first in status, text or tag, returns the opposite status. A
 * valid case and an invalid one then fail. */
#define COPIES 11
static enum tr_status gcm_many(const struct tr_backend *b, const struct test_case *c, bool decrypt,
                               int variant, struct result *r)
{
    (void)variant;
    static struct tr_gcm_key key;
    static struct result copies[COPIES];
    struct tr_gcm_job jobs[COPIES];
    const struct case_bytes *in = decrypt ? &c->ct : &c->pt;
    enum tr_status status = tr_gcm_set_key(&key, b, c->key.data, c->key.len);
    if (status != TR_OK)
        return status;
    r->len = in->len;
    if (decrypt)
        memcpy(r->tag, c->tag.data, c->tag.len);
    for (size_t i = 0; i < COPIES; i++) {
        copies[i] = *r;
        jobs[i] = (struct tr_gcm_job){&key,          c->iv.data,     c->iv.len,   c->aad->data,
                                      c->aad->len,   copies[i].text, in->data,    in->len,
                                      copies[i].tag, c->tag.len,     TR_ERR_STATE};
    }
    status = (decrypt ? tr_gcm_open_many : tr_gcm_seal_many)(jobs, COPIES);
    bool same = true;
    for (size_t i = 0; i < COPIES; i++)
        same &=
            jobs[i].status == (status == TR_OK || status == TR_ERR_TAG ? status : TR_ERR_STATE) &&
            memcmp(&copies[i], &copies[0], sizeof(*copies)) == 0;
    *r = copies[0];
    return same ? status : status == TR_OK ? TR_ERR_STATE : TR_OK;
}

static const struct algorithm many_gcm = {"many GCM", NULL, gcm_many, 0, false};

/* ---- XTS, CBC with padding, CMAC ------------------------------------------------------------ */

static enum tr_status xts_crypt(const struct tr_backend *b, const struct test_case *c, bool decrypt,
                                int variant, struct result *r)
{
    (void)variant;
    struct tr_xts_key x;
    const struct case_bytes *in = decrypt ? &c->ct : &c->pt;
    const enum tr_status status = tr_xts_set_key(&x, b, c->key.data, c->key.len);
    r->len = in->len;
    if (status != TR_OK)
        return status;
    return (decrypt ? tr_xts_decrypt : tr_xts_encrypt)(&x, c->iv.data, r->text, in->data, in->len);
}

/* CBC with padding. Writes r->text only on success: before a padding error, tr_cipher_update() has
 * already output plaintext, which nothing_released() would find. */
static enum tr_status cbc(const struct tr_backend *b, const struct test_case *c, bool decrypt,
                          int variant, struct result *r)
{
    (void)variant;
    const struct case_bytes *in = decrypt ? &c->ct : &c->pt;
    uint8_t text[CASE_MAX_BYTES + 16];
    struct tr_cipher s;
    struct tr_aes_key key;
    size_t len = 0, last = 0;
    enum tr_status status = tr_aes_set_key(&key, b, c->key.data, c->key.len);
    if (status == TR_OK)
        status = tr_cipher_start(&s, &key, TR_CBC, decrypt, 1, c->iv.data);
    if (status == TR_OK)
        status = tr_cipher_update(&s, text, &len, in->data, in->len);
    if (status == TR_OK)
        status = tr_cipher_final(&s, text + len, &last);
    if (status == TR_OK)
        memcpy(r->text, text, r->len = len + last);
    return status;
}

static enum tr_status cmac_sign(const struct tr_backend *b, const struct test_case *c, bool decrypt,
                                int variant, struct result *r)
{
    (void)decrypt, (void)variant;
    struct tr_cmac_key m;
    const enum tr_status status = tr_cmac_set_key(&m, b, c->key.data, c->key.len);
    return status != TR_OK ? status : tr_cmac_sign(&m, c->pt.data, c->pt.len, r->tag, c->tag.len);
}

static const struct algorithm xts = {"XTS", NULL, xts_crypt, 0, false},
                              cbc_pkcs7 = {"CBC with padding", NULL, cbc, 0, false},
                              cmac = {"CMAC", NULL, cmac_sign, 0, true};

/* ---- CBC with ciphertext stealing ----------------------------------------------------------- */

/* Whether `form` swaps the last two blocks of CS1 (SP 800-38A addendum). */
static bool swaps(enum tr_cts form, size_t len)
{
    return form == TR_CS3 || (form == TR_CS2 && len % 16 != 0);
}

/* Converts a ciphertext from CS3 to `form`. CS1 ends with a block that may be partial and then a
 * whole block; CS3 swaps these two. */
static void from_cs3(enum tr_cts form, uint8_t *out, const uint8_t *cs3, size_t len)
{
    const size_t part = len % 16 == 0 ? 16 : len % 16, start = len - 16 - part;
    memcpy(out, cs3, len);
    if (!swaps(form, len)) {
        memcpy(out + start, cs3 + start + 16, part);
        memcpy(out + start + part, cs3 + start, 16);
    }
}

/* Encrypts. The callers compare r->text with the file's ciphertext, which is in the order of CS3.
 * If the result is right for `form`, r->text gets the file's ciphertext, else its complement. */
static enum tr_status cts_seal(const struct tr_backend *b, const struct test_case *c,
                               struct result *r, enum tr_cts form)
{
    struct tr_aes_key key;
    uint8_t iv[16], expected[CASE_MAX_BYTES];
    enum tr_status status = tr_aes_set_key(&key, b, c->key.data, c->key.len);
    memcpy(iv, c->iv.data, 16);
    r->len = c->pt.len;
    if (status == TR_OK)
        status = tr_cbc_cts_encrypt(&key, form, iv, r->text, c->pt.data, c->pt.len);
    from_cs3(form, expected, c->ct.data, c->ct.len);
    const bool good = tap_same(r->text, expected, c->ct.len);
    for (size_t i = 0; i < c->ct.len; i++)
        r->text[i] = good ? c->ct.data[i] : (uint8_t)~c->ct.data[i];
    return status;
}

static enum tr_status cts_open(const struct tr_backend *b, const struct test_case *c,
                               struct result *r, enum tr_cts form)
{
    struct tr_aes_key key;
    uint8_t iv[16], text[CASE_MAX_BYTES];
    const enum tr_status status = tr_aes_set_key(&key, b, c->key.data, c->key.len);
    memcpy(iv, c->iv.data, 16);
    from_cs3(form, text, c->ct.data, c->ct.len);
    r->len = c->ct.len;
    return status != TR_OK ? status : tr_cbc_cts_decrypt(&key, form, iv, r->text, text, c->ct.len);
}

static enum tr_status cts(const struct tr_backend *b, const struct test_case *c, bool decrypt,
                          int form, struct result *r)
{
    return (decrypt ? cts_open : cts_seal)(b, c, r, (enum tr_cts)form);
}

static const struct algorithm cbc_cs1 = {"CBC-CS1", NULL, cts, TR_CS1, false},
                              cbc_cs2 = {"CBC-CS2", NULL, cts, TR_CS2, false},
                              cbc_cs3 = {"CBC-CS3", NULL, cts, TR_CS3, false};

/* ---- Key wrap ------------------------------------------------------------------------------- */

enum { INVERSE = 1, PADDED = 2 };

static enum tr_status wrap(const struct tr_backend *b, const struct test_case *c, bool decrypt,
                           int variant, struct result *r)
{
    const int inverse = variant & INVERSE, padded = variant & PADDED;
    struct tr_aes_key key;
    const enum tr_status status = tr_aes_set_key(&key, b, c->key.data, c->key.len);
    if (!decrypt)
        r->len = (c->pt.len + 7) / 8 * 8 + 8;
    else if (!padded) /* tr_kwp_unwrap() sets the length itself */
        r->len = c->ct.len - 8;
    if (status != TR_OK)
        return status;
    if (!decrypt)
        return (padded ? tr_kwp_wrap : tr_kw_wrap)(&key, inverse, NULL, r->text, c->pt.data,
                                                   c->pt.len);
    return padded ? tr_kwp_unwrap(&key, inverse, NULL, r->text, &r->len, c->ct.data, c->ct.len)
                  : tr_kw_unwrap(&key, inverse, NULL, r->text, c->ct.data, c->ct.len);
}

static const struct algorithm kw = {"KW", NULL, wrap, 0, false},
                              kw_inv = {"KW, inverse", NULL, wrap, INVERSE, false},
                              kwp = {"KWP", NULL, wrap, PADDED, false},
                              kwp_inv = {"KWP, inverse", NULL, wrap, INVERSE | PADDED, false};

/* ---- The files ------------------------------------------------------------------------------ */

static const struct vector_file {
    const struct algorithm *algorithm;
    const char *path; /* a '*' stands for each key size: three files */
    /* The numbers of valid, invalid and skipped cases. A case is skipped if its length is not a
     * whole number of bytes. */
    unsigned expected[3];
} files[] = {
    {&gcm, "cavp/gcm/gcmDecrypt128.txt", {3864, 4011}},
    {&gcm, "cavp/gcm/gcmDecrypt192.txt", {3897, 3978}},
    {&gcm, "cavp/gcm/gcmDecrypt256.txt", {3956, 3919}},
    {&gcm, "cavp/gcm/gcmEncryptExtIV*.txt", {7875}},
    {&gcm, "wycheproof/aes_gcm.txt", {229, 87}},
    {&many_gcm, "cavp/gcm/gcmDecrypt128.txt", {3864, 4011}},
    {&many_gcm, "cavp/gcm/gcmDecrypt192.txt", {3897, 3978}},
    {&many_gcm, "cavp/gcm/gcmDecrypt256.txt", {3956, 3919}},
    {&many_gcm, "cavp/gcm/gcmEncryptExtIV*.txt", {7875}},
    {&many_gcm, "wycheproof/aes_gcm.txt", {229, 87}},
    {&gmac_mac, "wycheproof/aes_gmac.txt", {90, 324}},
    {&ccm, "cavp/ccm/DVPT*.txt", {80, 160}},
    {&ccm, "cavp/ccm/VADT*.txt", {330}},
    {&ccm, "cavp/ccm/VNT*.txt", {70}},
    {&ccm, "cavp/ccm/VPT*.txt", {250}},
    {&ccm, "cavp/ccm/VTT*.txt", {70}},
    {&ccm, "wycheproof/aes_ccm.txt", {405, 147}},
    {&ocb, "rfc7253/appendix-a.txt", {16}},
    {&ocb, "rfc7253/nonce-104.txt", {16}},
    {&ocb, "rfc7253/nonce-112.txt", {16}},
    {&ocb, "rfc7253/nonce-120.txt", {16}},
    {&gcm_siv, "rfc8452/appendix-c.txt", {46}},
    {&gcm_siv, "rfc8452/key-192.txt", {46}},
    {&gcm_siv, "wycheproof/aes_gcm_siv.txt", {136, 66}},
    {&siv, "rfc5297/appendix-a.txt", {4}},
    {&siv, "wycheproof/aes_siv_cmac.txt", {118, 324}},
    {&siv, "wycheproof/aead_aes_siv_cmac.txt", {252, 648}},
    {&xts, "cavp/xts/XTSGenAES128-tweak.txt", {800, 0, 200}},
    {&xts, "cavp/xts/XTSGenAES128-number.txt", {800, 0, 200}},
    {&xts, "cavp/xts/XTSGenAES256-tweak.txt", {600, 0, 400}},
    {&xts, "cavp/xts/XTSGenAES256-number.txt", {600, 0, 400}},
    {&xts, "wycheproof/aes_xts.txt", {82, 41}},
    {&cbc_pkcs7, "wycheproof/aes_cbc_pkcs5.txt", {72, 144}},
    {&cbc_cs1, "rfc3962/cts.txt", {6}},
    {&cbc_cs2, "rfc3962/cts.txt", {6}},
    {&cbc_cs3, "rfc3962/cts.txt", {6}},
    {&cmac, "sp800-38b/cmac-*.txt", {4}},
    {&cmac, "wycheproof/aes_cmac.txt", {63, 248}},
    {&kw, "cavp/kw/KW_AE_*.txt", {500}},
    {&kw, "cavp/kw/KW_AD_*.txt", {400, 100}},
    {&kw_inv, "cavp/kw/KW_AE_*_inv.txt", {500}},
    {&kw_inv, "cavp/kw/KW_AD_*_inv.txt", {400, 100}},
    {&kwp, "cavp/kw/KWP_AE_*.txt", {500}},
    {&kwp, "cavp/kw/KWP_AD_*.txt", {400, 100}},
    {&kwp_inv, "cavp/kw/KWP_AE_*_inv.txt", {500}},
    {&kwp_inv, "cavp/kw/KWP_AD_*_inv.txt", {400, 100}},
    {&kw, "rfc3394/kw.txt", {6}},
    {&kwp, "rfc5649/kwp.txt", {129}},
    {&kw, "wycheproof/aes_wrap.txt", {36, 129}},
    {&kwp, "wycheproof/aes_kwp.txt", {77, 177}},
};
#define FILES (sizeof(files) / sizeof(*files))

/* ---- A case --------------------------------------------------------------------------------- */

static unsigned long operations;
static struct tap_random rng;

static enum tr_status run(const struct algorithm *a, const struct tr_backend *b,
                          const struct test_case *c, bool decrypt, struct result *r)
{
    operations++;
    return a->aead != NULL ? aead_crypt(a->aead, b, c, decrypt, r)
                           : a->crypt(b, c, decrypt, a->variant, r);
}

static bool differs(const struct result *r, const struct test_case *c)
{
    return r->len != c->ct.len || memcmp(r->text, c->ct.data, r->len) != 0 ||
           memcmp(r->tag, c->tag.data, c->tag.len) != 0;
}

static bool run_valid(const struct algorithm *a, const struct tr_backend *b,
                      const struct test_case *c)
{
    static struct result r;
    bool good = true;
    if (c->pt_is_known) {
        r.len = 0;
        good = run(a, b, c, false, &r) == TR_OK && r.len == c->ct.len &&
               tap_same(r.text, c->ct.data, r.len) && tap_same(r.tag, c->tag.data, c->tag.len);
    }
    if (a->is_mac || !good)
        return good;
    return run(a, b, c, true, &r) == TR_OK &&
           (!c->pt_is_known || (r.len == c->pt.len && tap_same(r.text, c->pt.data, r.len)));
}

/* Whether each byte of the text is zero or unchanged. */
static bool nothing_released(const struct result *r)
{
    for (size_t i = 0; i < sizeof(r->text); i++)
        if (r->text[i] != UNTOUCHED && r->text[i] != 0)
            return false;
    return true;
}

static bool run_invalid(const struct algorithm *a, const struct tr_backend *b,
                        const struct test_case *c)
{
    static struct result r;
    bool good = true;
    if (c->pt_is_known) {
        r.len = 0;
        good = run(a, b, c, false, &r) != TR_OK || differs(&r, c);
    }
    if (a->is_mac)
        return good;
    memset(&r, UNTOUCHED, sizeof(r));
    return run(a, b, c, true, &r) != TR_OK && nothing_released(&r) && good;
}

static bool run_case(const struct algorithm *a, const struct tr_backend *b,
                     const struct test_case *c)
{
    const bool good = c->verdict == CASE_BITS ||
                      (c->verdict == CASE_VALID ? run_valid(a, b, c) : run_invalid(a, b, c));
    if (!good)
        tap_diag("case %u (%s) fails", c->id, c->verdict == CASE_VALID ? "valid" : "invalid");
    return good;
}

/* ---- A file --------------------------------------------------------------------------------- */

/* Runs each case, or with TENROUNDS_STRIDE a random choice of them, with every backend that this
 * processor has. */
static void run_file(const struct vector_file *f, const char *path, FILE *in)
{
    static struct test_case c;
    const struct tr_backend *backends[TR_MAX_BACKENDS];
    unsigned count = 0, n[3] = {0}, failed[TR_MAX_BACKENDS] = {0};
    for (unsigned k = 0; k < backend_count(); k++)
        if (!backend_skip(tr_backend_at(k), 1))
            backends[count++] = tr_backend_at(k);
    char error[160];
    size_t left = 0; /* the number of cases to skip */
    while ((left == 0 ? case_read : case_skip)(in, &c, error)) {
        n[c.verdict]++;
        if (left-- != 0)
            continue;
        left = tap_stride(&rng) - 1;
        for (unsigned k = 0; k < count; k++)
            if (failed[k] < 5)
                failed[k] += !run_case(f->algorithm, backends[k], &c);
    }
    if (*error != '\0')
        tap_diag("%s", error);
    for (unsigned k = 0; k < count; k++)
        tap_ok(failed[k] == 0 && *error == '\0' && memcmp(n, f->expected, sizeof(n)) == 0,
               "%s: %s, %s: %u valid, %u invalid, %u skipped (no whole number of bytes); expected "
               "%u, %u, %u",
               tr_backend_name(backends[k]), f->algorithm->name, path, n[0], n[1], n[2],
               f->expected[0], f->expected[1], f->expected[2]);
}

/* ---- The reader itself ---------------------------------------------------------------------- */

static const char *const malformed[] = {
    "1 valid 00 - - - -\n",     "1 valid 00 - - - - -",           "1 valid 00 - - - - - -\n",
    "0 valid 00 - - - - -\n",   "x valid 00 - - - - -\n",         "1 good 00 - - - - -\n",
    "1 valid 0 - - - - -\n",    "1 valid 0G - - - - -\n",         "1 valid 00 - - - - 0A\n",
    "1 valid 00  - - - -\n",    "1 valid ? - - - - -\n",          "1 valid 00 - 00, - - -\n",
    "1 valid 00 - ,00 - - -\n", "1 valid 00 - -,-,-,-,- - - -\n", "\n",
};

static bool reads(const char *text, struct test_case *c)
{
    char error[160];
    FILE *in = tmpfile();
    bool good = in != NULL && fputs(text, in) >= 0;
    if (good)
        rewind(in);
    good = good && case_read(in, c, error) && *error == '\0';
    if (in != NULL)
        fclose(in);
    return good;
}

static void test_reader(void)
{
    static struct test_case c;
    unsigned accepted = 0;
    const size_t n = sizeof(malformed) / sizeof(*malformed);
    for (size_t i = 0; i < n; i++)
        if (reads(malformed[i], &c)) {
            tap_diag("accepted: %s", malformed[i]);
            accepted++;
        }
    tap_ok(accepted == 0, "the reader refuses %zu malformed lines", n);
    tap_ok(reads("# x\n12 invalid 0a - 01ff,- ? 02 -\n", &c) && c.id == 12 &&
               c.verdict == CASE_INVALID && c.key.len == 1 && c.key.data[0] == 10 &&
               c.iv.len == 0 && c.parts == 2 && c.aad[0].len == 2 && c.aad[0].data[1] == 255 &&
               c.aad[1].len == 0 && !c.pt_is_known && c.pt.len == 0 && c.ct.data[0] == 2 &&
               reads("1 bits 00 - none - - -\n", &c) && c.parts == 0 && c.pt_is_known,
           "the reader accepts well-formed lines");
}

static size_t sizes_of(const struct vector_file *f)
{
    return strchr(f->path, '*') != NULL ? 3 : 1;
}

/* Runs the file for one key size, if there is one for each. */
static void open_file(const char *directory, const struct vector_file *f, size_t size)
{
    char path[4096];
    const char *star = strchr(f->path, '*');
    if (star == NULL)
        snprintf(path, sizeof(path), "%s/%s", directory, f->path);
    else
        snprintf(path, sizeof(path), "%s/%.*s%zu%s", directory, (int)(star - f->path), f->path,
                 8 * key_lengths[size], star + 1);
    FILE *in = fopen(path, "r");
    for (unsigned k = 0; in == NULL && k < backend_count(); k++)
        tap_ok(false, "%s cannot be opened", path);
    if (in == NULL)
        return;
    run_file(f, path + strlen(directory) + 1, in);
    fclose(in);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: mode_vectors DIRECTORY\n");
        return 2;
    }
    unsigned n = 0;
    rng = tap_random(0);
    for (size_t i = 0; i < FILES; i++)
        n += (unsigned)sizes_of(&files[i]);
    tap_plan(2 + n * backend_count());
    test_reader();
    for (size_t i = 0; i < FILES; i++) {
        for (size_t size = 0; size < sizes_of(&files[i]); size++)
            open_file(argv[1], &files[i], size);
    }
    tap_diag("%u files, %lu calls", n, operations);
    return tap_done();
}
