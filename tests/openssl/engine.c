/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the engine with OpenSSL 1.1.1 and 3.x, through calls that both have. The test checks
 * published vectors, and compares random messages and TLS records with libcrypto's ciphers. It also
 * tests copies, threads, fork, loading, unloading, and the engine as the default. The argument is
 * the duration of the comparison in seconds (default 3).
 *
 * The test resets every context before it sets a cipher. If the same cipher is set again without a
 * reset, libcrypto keeps the state of an engine's cipher, but discards the state of libcrypto's
 * ciphers.
 */
#define _GNU_SOURCE
#define OPENSSL_SUPPRESS_DEPRECATED
#include "../core/cases.h"
#include "../core/rsp.h"
#include "counted.h"
#include "tap.h"

#include <openssl/engine.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_DATA 1200

enum { OURS, THEIRS, SIDES };

/* The engines to pass to EVP_CipherInit_ex(): tenrounds for OURS, and NULL for THEIRS, which
 * selects libcrypto's ciphers. */
static ENGINE *engines[SIDES];

static const struct cipher {
    int nid;
    const char *name;
    int key_len;
    char mode;
} ciphers[] = {
    {NID_aes_128_ecb, "AES-128-ECB", 16, 'b'},    {NID_aes_192_ecb, "AES-192-ECB", 24, 'b'},
    {NID_aes_256_ecb, "AES-256-ECB", 32, 'b'},    {NID_aes_128_cbc, "AES-128-CBC", 16, 'b'},
    {NID_aes_192_cbc, "AES-192-CBC", 24, 'b'},    {NID_aes_256_cbc, "AES-256-CBC", 32, 'b'},
    {NID_aes_128_cfb128, "AES-128-CFB", 16, 's'}, {NID_aes_192_cfb128, "AES-192-CFB", 24, 's'},
    {NID_aes_256_cfb128, "AES-256-CFB", 32, 's'}, {NID_aes_128_ofb128, "AES-128-OFB", 16, 's'},
    {NID_aes_192_ofb128, "AES-192-OFB", 24, 's'}, {NID_aes_256_ofb128, "AES-256-OFB", 32, 's'},
    {NID_aes_128_ctr, "AES-128-CTR", 16, 's'},    {NID_aes_192_ctr, "AES-192-CTR", 24, 's'},
    {NID_aes_256_ctr, "AES-256-CTR", 32, 's'},    {NID_aes_128_gcm, "AES-128-GCM", 16, 'g'},
    {NID_aes_192_gcm, "AES-192-GCM", 24, 'g'},    {NID_aes_256_gcm, "AES-256-GCM", 32, 'g'},
    {NID_aes_128_ccm, "AES-128-CCM", 16, 'c'},    {NID_aes_192_ccm, "AES-192-CCM", 24, 'c'},
    {NID_aes_256_ccm, "AES-256-CCM", 32, 'c'},    {NID_aes_128_xts, "AES-128-XTS", 32, 'x'},
    {NID_aes_256_xts, "AES-256-XTS", 64, 'x'},
};
#define CIPHERS (sizeof(ciphers) / sizeof(ciphers[0]))
#define AEADS   6

/* ---- Calls to engine and libcrypto ---------------------------------------------------------- */

struct both {
    const struct cipher *cipher;
    EVP_CIPHER_CTX *ctx[SIDES];
    struct result {
        int ret, len;
        uint8_t out[MAX_DATA + 64];
    } r[SIDES];
};

/* Whether the last call had the same result with the engine and with libcrypto's cipher. */
static bool same(const struct both *b, const char *what)
{
    const struct result *a = &b->r[OURS], *z = &b->r[THEIRS];
    ERR_clear_error();
    if ((a->ret > 0) == (z->ret > 0) && a->len == z->len &&
        (a->len <= 0 || tap_same(a->out, z->out, (size_t)a->len)))
        return true;
    tap_diag("%s, %s: ours %d (%d bytes), libcrypto's %d (%d bytes)", b->cipher->name, what, a->ret,
             a->len, z->ret, z->len);
    return false;
}

static bool init(struct both *b, bool fresh, const uint8_t *key, const uint8_t *iv, int enc)
{
    for (int i = 0; i < SIDES; i++) {
        if (fresh)
            EVP_CIPHER_CTX_reset(b->ctx[i]);
        b->r[i].len = 0;
        b->r[i].ret =
            EVP_CipherInit_ex(b->ctx[i], fresh ? EVP_get_cipherbynid(b->cipher->nid) : NULL,
                              fresh ? engines[i] : NULL, key, iv, enc);
    }
    return same(b, "init");
}

static bool update(struct both *b, const uint8_t *data, size_t len, size_t offset, bool in_place)
{
    static uint8_t in[MAX_DATA + 96], out[MAX_DATA + 96];
    for (int i = 0; i < SIDES; i++) {
        uint8_t *to = in_place ? in + offset : out + offset;
        memcpy(in + offset, data, len);
        b->r[i].len = -1;
        b->r[i].ret = EVP_CipherUpdate(b->ctx[i], to, &b->r[i].len, in + offset, (int)len);
        if (b->r[i].ret <= 0)
            b->r[i].len = 0; /* undefined after a failure */
        memcpy(b->r[i].out, to, (size_t)b->r[i].len);
    }
    return same(b, in_place ? "update in place" : "update");
}

/* Passes AAD. If `data` is NULL, announces the length of a CCM message. */
static bool aad(struct both *b, const uint8_t *data, size_t len)
{
    for (int i = 0; i < SIDES; i++) {
        int n = -1;
        b->r[i].len = 0;
        b->r[i].ret = EVP_CipherUpdate(b->ctx[i], NULL, &n, data, (int)len);
    }
    return same(b, data != NULL ? "AAD" : "length");
}

static bool final(struct both *b)
{
    for (int i = 0; i < SIDES; i++) {
        b->r[i].len = 0;
        b->r[i].ret = EVP_CipherFinal_ex(b->ctx[i], b->r[i].out, &b->r[i].len);
        if (b->r[i].ret <= 0)
            b->r[i].len = 0;
    }
    return same(b, "final");
}

/* Runs a control in both contexts with a copy of the `arg` bytes at `ptr`, and compares the
 * copies. */
static bool ctrl(struct both *b, int type, int arg, const void *ptr)
{
    uint8_t bytes[SIDES][256] = {{0}};
    for (int i = 0; i < SIDES; i++) {
        if (ptr != NULL && arg > 0)
            memcpy(bytes[i], ptr, (size_t)arg);
        b->r[i].ret = EVP_CIPHER_CTX_ctrl(b->ctx[i], type, arg, ptr != NULL ? bytes[i] : NULL);
        b->r[i].len = b->r[i].ret > 0 && arg > 0 && ptr != NULL ? arg : 0;
        memcpy(b->r[i].out, bytes[i], (size_t)b->r[i].len);
    }
    return same(b, "ctrl");
}

/* Calls EVP_Cipher() in place, as libssl does. */
static bool one_shot(struct both *b, const uint8_t *data, size_t len)
{
    for (int i = 0; i < SIDES; i++) {
        memcpy(b->r[i].out, data, len);
        b->r[i].ret = EVP_Cipher(b->ctx[i], b->r[i].out, b->r[i].out, (unsigned)len);
        b->r[i].len = b->r[i].ret > 0 ? (int)len : 0;
    }
    return same(b, "EVP_Cipher");
}

/* Replaces both contexts with copies and frees the originals. */
static bool copy(struct both *b)
{
    for (int i = 0; i < SIDES; i++) {
        EVP_CIPHER_CTX *to = EVP_CIPHER_CTX_new();
        b->r[i].len = 0;
        b->r[i].ret = EVP_CIPHER_CTX_copy(to, b->ctx[i]);
        EVP_CIPHER_CTX_free(b->ctx[i]);
        b->ctx[i] = to;
    }
    return same(b, "copy");
}

/* ---- Random messages ------------------------------------------------------------------------ */

struct message {
    uint8_t key[64], iv[64], aad[64], text[MAX_DATA], tag[16];
    size_t iv_len, aad_len, len, tag_len;
    int enc;
};

static void draw(struct message *m, struct tap_random *random)
{
    tap_fill(random, m, sizeof(*m));
    m->enc = (int)tap_below(random, 2);
    m->len = tap_below(random, 3) == 0 ? tap_below(random, 40) : tap_below(random, MAX_DATA);
    m->aad_len = tap_below(random, 2) * tap_below(random, 40);
    m->iv_len = 12;
    m->tag_len = 4 + 2 * tap_below(random, 7);
}

static bool in_pieces(struct both *b, const uint8_t *data, size_t len, struct tap_random *random)
{
    for (size_t done = 0, n; done < len; done += n) {
        n = 1 + tap_below(random, len - done);
        if (tap_below(random, 6) == 0 && !copy(b))
            return false;
        if (!update(b, data + done, n, tap_below(random, 17), b->cipher->mode != 'b' && n % 2 == 0))
            return false;
    }
    return true;
}

static bool plain_message(struct both *b, struct message *m, struct tap_random *random)
{
    const bool ecb = strstr(b->cipher->name, "ECB") != NULL, ctr = strstr(b->cipher->name, "CTR");
    const int padding = (int)tap_below(random, 2);
    if (!init(b, true, m->key, m->iv, m->enc))
        return false;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < SIDES; i++)
            EVP_CIPHER_CTX_set_padding(b->ctx[i], padding);
        if (m->len >= 16 && tap_below(random, 2) && !one_shot(b, m->text, m->len / 16 * 16))
            return false;
        if (!in_pieces(b, m->text, m->len, random))
            return false;
        for (int i = 0; i < SIDES && b->cipher->mode == 's'; i++) {
            b->r[i].ret = 1;
            b->r[i].len = -EVP_CIPHER_CTX_num(b->ctx[i]); /* negative: same() compares no bytes */
        }
        if (b->cipher->mode == 's' && !same(b, "minus num"))
            return false;
        if (!final(b))
            return false;
        /* The next message has a new IV or, in CBC, CFB and OFB, perhaps the old IV. The key of the
         * next message may also be new. */
        const bool iv = ctr || ecb || tap_below(random, 2), key = tap_below(random, 2);
        m->iv[0]++;
        m->key[0]++;
        if (!init(b, false, key ? m->key : NULL, iv ? m->iv : NULL, -1))
            return false;
    }
    return true;
}

static bool xts_unit(struct both *b, struct message *m, struct tap_random *random)
{
    const size_t half = (size_t)b->cipher->key_len / 2;
    m->len += m->len == 0; /* OpenSSL 1.1.1 and 3.x disagree on 0 bytes */
    if (tap_below(random, 20) == 0)
        memcpy(m->key + half, m->key, half);
    if (tap_below(random, 2)
            ? !init(b, true, m->key, m->iv, m->enc)
            : !init(b, true, NULL, m->iv, m->enc) || !init(b, false, m->key, NULL, -1))
        return false;
    if (b->r[OURS].ret <= 0)
        return true;
    for (int i = 0; i < 3; i++) {
        m->iv[0]++;
        if ((i > 0 && !init(b, false, NULL, m->iv, -1)) ||
            (tap_below(random, 3) == 0 && !copy(b)) ||
            !update(b, m->text, m->len, tap_below(random, 17), tap_below(random, 2) != 0))
            return false;
    }
    return final(b);
}

/* Sets key and IV in one call, or in two calls in either order. */
static bool aead_init(struct both *b, struct message *m, bool ccm, struct tap_random *random)
{
    if (!init(b, true, NULL, NULL, m->enc) ||
        (m->iv_len != 12 && !ctrl(b, EVP_CTRL_AEAD_SET_IVLEN, (int)m->iv_len, NULL)) ||
        (ccm && (!ctrl(b, EVP_CTRL_AEAD_SET_IVLEN, (int)m->iv_len, NULL) ||
                 !ctrl(b, EVP_CTRL_AEAD_SET_TAG, (int)m->tag_len, m->enc ? NULL : m->tag))))
        return false;
    switch (tap_below(random, 3)) {
    case 0:
        return init(b, false, m->key, m->iv, -1);
    case 1:
        return init(b, false, m->key, NULL, -1) && init(b, false, NULL, m->iv, -1);
    default:
        return init(b, false, NULL, m->iv, -1) && init(b, false, m->key, NULL, -1);
    }
}

static bool gcm_crypt(struct both *b, struct message *m, struct tap_random *random)
{
    const size_t cut = tap_below(random, m->aad_len + 1);
    return aead_init(b, m, false, random) && (tap_below(random, 3) != 0 || copy(b)) &&
           (m->aad_len == 0 || cut == 0 || aad(b, m->aad, cut)) &&
           (m->aad_len == cut || aad(b, m->aad + cut, m->aad_len - cut)) &&
           in_pieces(b, m->text, m->len, random) &&
           (m->enc || ctrl(b, EVP_CTRL_AEAD_SET_TAG, (int)m->tag_len, m->tag)) && final(b) &&
           (!m->enc || ctrl(b, EVP_CTRL_AEAD_GET_TAG, (int)m->tag_len, m->tag));
}

static bool ccm_crypt(struct both *b, struct message *m, struct tap_random *random)
{
    return aead_init(b, m, true, random) &&
           (m->aad_len == 0 || (aad(b, NULL, m->len) && aad(b, m->aad, m->aad_len))) &&
           (tap_below(random, 3) != 0 || copy(b)) &&
           update(b, m->text, m->len, tap_below(random, 17), tap_below(random, 2) != 0) &&
           (!m->enc || ctrl(b, EVP_CTRL_AEAD_GET_TAG, (int)m->tag_len, m->tag));
}

/* Seals a message and opens it, sometimes with one bit of the tag flipped. */
static bool aead_message(struct both *b, struct message *m, struct tap_random *random)
{
    const bool ccm = b->cipher->mode == 'c', forged = tap_below(random, 3) == 0;
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    int n = 0, end;
    bool good;
    m->iv_len = ccm                    ? 7 + tap_below(random, 7)
                : tap_below(random, 3) ? 12
                                       : 1 + tap_below(random, 60);
    m->enc = 1;
    /* An empty CCM message becomes 1 byte: only final processes empty ones, and ccm_crypt() makes
     * no final call. */
    m->len += ccm && m->len == 0;
    if (!(ccm ? ccm_crypt : gcm_crypt)(b, m, random))
        return false;
    EVP_EncryptInit_ex(ctx, EVP_get_cipherbynid(b->cipher->nid), NULL, NULL, NULL);
    EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IVLEN, (int)m->iv_len, NULL);
    if (ccm)
        EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, (int)m->tag_len, NULL);
    EVP_EncryptInit_ex(ctx, NULL, NULL, m->key, m->iv);
    if (ccm && m->aad_len > 0)
        EVP_EncryptUpdate(ctx, NULL, &n, NULL, (int)m->len);
    if (m->aad_len > 0)
        EVP_EncryptUpdate(ctx, NULL, &n, m->aad, (int)m->aad_len);
    EVP_EncryptUpdate(ctx, m->text, &n, m->text, (int)m->len);
    EVP_EncryptFinal_ex(ctx, m->text + n, &end);
    EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, (int)m->tag_len, m->tag);
    EVP_CIPHER_CTX_free(ctx);
    m->enc = 0;
    if (forged)
        m->tag[tap_below(random, m->tag_len)] ^= 1;
    good = (ccm ? ccm_crypt : gcm_crypt)(b, m, random);
    if (good && (b->r[OURS].ret > 0) == forged) {
        tap_diag("%s: %s", b->cipher->name,
                 forged ? "a wrong tag is accepted" : "the right tag is refused");
        return false;
    }
    return good;
}

/* Seals two TLS 1.2 records in both contexts, like libssl. Then opens the second record in both. */
static bool records(struct both *b, struct message *m, struct tap_random *random)
{
    const bool ccm = b->cipher->mode == 'c', forged = tap_below(random, 4) == 0;
    uint8_t record[MAX_DATA + 24], header[13];
    const size_t tag_len = ccm && tap_below(random, 2) ? 8 : 16,
                 len = tap_below(random, MAX_DATA - 24);
    const size_t total = 8 + len + tag_len;
    memcpy(header, m->aad, sizeof(header));
    memcpy(record, m->text, sizeof(m->text));
    for (int enc = 1; enc >= 0; enc--) {
        if (!init(b, true, NULL, NULL, enc) ||
            (ccm && (!ctrl(b, EVP_CTRL_AEAD_SET_IVLEN, 12, NULL) ||
                     !ctrl(b, EVP_CTRL_AEAD_SET_TAG, (int)tag_len, NULL))) ||
            !init(b, false, m->key, NULL, -1))
            return false;
        for (int i = 0; i < SIDES; i++) /* GCM: the whole IV, without a random part */
            b->r[i].ret =
                EVP_CIPHER_CTX_ctrl(b->ctx[i], EVP_CTRL_AEAD_SET_IV_FIXED, ccm ? 4 : -1, m->iv);
        if (!same(b, "fixed IV"))
            return false;
        for (int n = 0; n < 2; n++) {
            const size_t announced = enc ? 8 + len : total;
            header[11] = (uint8_t)(announced >> 8);
            header[12] = (uint8_t)announced;
            for (int i = 0; i < SIDES; i++)
                b->r[i].ret = EVP_CIPHER_CTX_ctrl(b->ctx[i], EVP_CTRL_AEAD_TLS1_AAD, 13, header);
            if (b->r[OURS].ret != b->r[THEIRS].ret || !same(b, "AAD of a record"))
                return false;
            for (int i = 0; i < SIDES; i++) {
                memcpy(b->r[i].out, record, total);
                const int done = EVP_Cipher(b->ctx[i], b->r[i].out, b->r[i].out, (unsigned)total);
                /* The default provider of OpenSSL 3.x returns the length of the input, not of the
                 * output. */
                b->r[i].ret = done >= 0;
                b->r[i].len = done < 0 ? 0 : (int)(enc ? total : 8 + len);
                if (done >= 0 && done != (int)total && done != (int)len)
                    return tap_diag("EVP_Cipher() returned %d bytes for a record", done), false;
            }
            if (!same(b, enc ? "sealing" : "opening"))
                return false;
            if (!enc || n == 1)
                break; /* opens only the second record, which contains its IV */
        }
        if (enc) {
            memcpy(record, b->r[OURS].out, total);
            if (forged)
                record[8 + tap_below(random, len + tag_len)] ^= 1;
        }
    }
    return (b->r[OURS].ret > 0) != forged;
}

static bool message(struct both *b, struct tap_random *random)
{
    static struct message m;
    draw(&m, random);
    switch (b->cipher->mode) {
    case 'x':
        return xts_unit(b, &m, random);
    case 'g':
    case 'c':
        return tap_below(random, 3) == 0 ? records(b, &m, random) : aead_message(b, &m, random);
    default:
        return plain_message(b, &m, random);
    }
}

static void differential(time_t seconds)
{
    static struct both b[CIPHERS];
    struct tap_random random = tap_random(0);
    bool good[CIPHERS];
    unsigned long count = 0;
    const time_t end = time(NULL) + seconds;
    for (unsigned c = 0; c < CIPHERS; c++) {
        b[c].cipher = &ciphers[c];
        b[c].ctx[OURS] = EVP_CIPHER_CTX_new();
        b[c].ctx[THEIRS] = EVP_CIPHER_CTX_new();
        good[c] = true;
    }
    do {
        for (unsigned c = 0; c < CIPHERS; c++)
            good[c] = good[c] && message(&b[c], &random);
        count++;
    } while (time(NULL) < end);
    for (unsigned c = 0; c < CIPHERS; c++) {
        EVP_CIPHER_CTX_free(b[c].ctx[OURS]);
        EVP_CIPHER_CTX_free(b[c].ctx[THEIRS]);
        tap_ok(good[c], "%s: %lu random messages match libcrypto's cipher", ciphers[c].name, count);
    }
}

/* ---- Published vectors ---------------------------------------------------------------------- */

static int nid_of(const char *mode, size_t key_len)
{
    char name[32];
    const size_t bits = 8 * key_len / (strcmp(mode, "XTS") == 0 ? 2 : 1);
    for (unsigned i = 0; i < CIPHERS; i++) {
        snprintf(name, sizeof(name), "AES-%zu-%s", bits, mode);
        if (strcmp(name, ciphers[i].name) == 0)
            return ciphers[i].nid;
    }
    return 0;
}

/* Checks that a new IV length invalidates the IV, before and during a message. Data and AAD must
 * fail until the next IV. Otherwise, two IVs with a common prefix could give the same nonce. Tests
 * only the engine, because libcrypto 1.1.1 accepts the data. */
static bool iv_of_another_length(const struct cipher *c, struct tap_random *random)
{
    static const uint8_t iv[64] = {1, 2, 3};
    uint8_t key[64], text[64] = {0};
    const bool ccm = c->mode == 'c';
    bool good = true;
    tap_fill(random, key, sizeof(key));
    for (unsigned i = 0; good && i < 32; i++) {
        const bool begun = i & 1, enc = i & 2, new_key = i & 4, back = i & 8;
        /* Replacing a long IV (GCM: above 16 bytes) must not leak its memory. */
        const int other = ccm ? 13 : 64;
        const int first = ccm ? 7 : 12;
        int n, len = (ccm ? 8 : 1) + (int)tap_below(random, ccm ? 6 : 40);
        len += len == first;
        EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
        good =
            EVP_CipherInit_ex(ctx, EVP_get_cipherbynid(c->nid), engines[OURS], key, iv, enc) > 0 &&
            (enc || EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 12, text) > 0);
        if (begun)
            good = good && (!ccm || EVP_CipherUpdate(ctx, NULL, &n, NULL, 32) > 0) &&
                   EVP_CipherUpdate(ctx, NULL, &n, text, 20) > 0;
        good = good && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IVLEN, other, NULL) > 0 &&
               EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IVLEN, len, NULL) > 0 &&
               (!back || EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IVLEN, first, NULL) > 0) &&
               (!new_key || EVP_CipherInit_ex(ctx, NULL, NULL, key, NULL, -1) > 0) &&
               EVP_CipherUpdate(ctx, NULL, &n, ccm ? NULL : text, 32) <= 0 &&
               EVP_CipherUpdate(ctx, text, &n, text, 32) <= 0 &&
               /* With the IV set again, AAD (GCM) or the length (CCM) is accepted again. */
               EVP_CipherInit_ex(ctx, NULL, NULL, key, iv, -1) > 0 &&
               EVP_CipherUpdate(ctx, NULL, &n, ccm ? NULL : text, 32) > 0;
        EVP_CIPHER_CTX_free(ctx);
        if (!good)
            tap_diag("%s, %s, length %d%s%s%s", c->name, enc ? "encrypting" : "decrypting", len,
                     begun ? ", in mid-message" : "", back ? " and back" : "",
                     new_key ? ", and a new key" : "");
    }
    ERR_clear_error();
    return good;
}

/* Checks that CCM encryption refuses an IV that is longer than the nonce. Setting the key fixes the
 * nonce length. The key is set before the IV length here, so the default of 7 bytes applies. */
static bool cut_nonce(const struct cipher *c)
{
    static const uint8_t key[32], iv[13];
    uint8_t text[32] = {0};
    int n;
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    const bool good =
        c->mode != 'c' ||
        (EVP_CipherInit_ex(ctx, EVP_get_cipherbynid(c->nid), engines[OURS], key, NULL, 1) > 0 &&
         EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IVLEN, 13, NULL) > 0 &&
         EVP_CipherInit_ex(ctx, NULL, NULL, NULL, iv, -1) > 0 &&
         EVP_CipherUpdate(ctx, NULL, &n, NULL, 32) <= 0 &&
         EVP_CipherUpdate(ctx, text, &n, text, 32) <= 0 && EVP_Cipher(ctx, text, text, 32) == -1 &&
         text[0] == 0);
    EVP_CIPHER_CTX_free(ctx);
    ERR_clear_error();
    return good;
}

/* Checks that a GCM message cannot begin with the IV of an ended message, under the same or another
 * key. */
static bool spent_iv(const struct cipher *c)
{
    static const uint8_t key[2][32] = {{1}, {2}}, iv[16] = {3};
    uint8_t text[32] = {0};
    int n;
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    const bool good =
        c->mode != 'g' ||
        (EVP_CipherInit_ex(ctx, EVP_get_cipherbynid(c->nid), engines[OURS], key[0], iv, 1) > 0 &&
         EVP_CipherUpdate(ctx, text, &n, text, 32) > 0 && EVP_CipherFinal_ex(ctx, text, &n) > 0 &&
         EVP_CipherUpdate(ctx, text, &n, text, 32) <= 0 &&
         EVP_CipherInit_ex(ctx, NULL, NULL, key[1], NULL, 1) > 0 &&
         EVP_CipherUpdate(ctx, text, &n, text, 32) <= 0);
    EVP_CIPHER_CTX_free(ctx);
    ERR_clear_error();
    return good;
}

/* Checks that the output is all zeros after a CCM message with a wrong tag. */
static bool forgery_leaves_nothing(const struct cipher *c)
{
    static const uint8_t key[32] = {1}, iv[16] = {2}, zeros[100];
    bool good = true;
    for (int len = 1; good && c->mode == 'c' && len <= 100; len++) {
        uint8_t text[100] = {3}, out[100], tag[12] = {0};
        int n;
        EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
        memset(out, 0x5a, sizeof(out));
        good = EVP_CipherInit_ex(ctx, EVP_get_cipherbynid(c->nid), engines[OURS], key, iv, 0) > 0 &&
               EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 12, tag) > 0 &&
               EVP_CipherUpdate(ctx, out, &n, text, len) <= 0 && tap_same(out, zeros, (size_t)len);
        EVP_CIPHER_CTX_free(ctx);
        ERR_clear_error();
    }
    return good;
}

/* Encrypts or decrypts a test case with the engine. The output replaces the text in `c`. When
 * encrypting, the computed tag also replaces the tag. */
static bool crypt_case(const char *mode, struct test_case *c, int enc)
{
    struct case_bytes *text = enc ? &c->pt : &c->ct;
    const bool aead = mode[0] == 'G' || strcmp(mode, "CCM") == 0, ccm = aead && mode[0] == 'C';
    uint8_t out[CASE_MAX_BYTES + 16];
    int n = 0, end = 0;
    const EVP_CIPHER *cipher = EVP_get_cipherbynid(nid_of(mode, c->key.len));
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    bool good =
        cipher != NULL && EVP_CipherInit_ex(ctx, cipher, engines[OURS], NULL, NULL, enc) > 0;
    if (aead)
        good = good &&
               EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IVLEN, (int)c->iv.len, NULL) > 0 &&
               ((enc && !ccm) || EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, (int)c->tag.len,
                                                     enc ? NULL : c->tag.data) > 0);
    good = good && EVP_CipherInit_ex(ctx, NULL, NULL, c->key.data, c->iv.data, -1) > 0 &&
           (!ccm || EVP_CipherUpdate(ctx, NULL, &n, NULL, (int)text->len) > 0) &&
           (c->aad[0].len == 0 ||
            EVP_CipherUpdate(ctx, NULL, &n, c->aad[0].data, (int)c->aad[0].len) > 0);
    good = good && ((text->len == 0 && !ccm) ||
                    EVP_CipherUpdate(ctx, out, &n, text->data, (int)text->len) > 0);
    good = good && EVP_CipherFinal_ex(ctx, out + text->len, &end) > 0 && end == 0;
    if (good && aead && enc)
        good = EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, (int)c->tag.len, c->tag.data) > 0;
    EVP_CIPHER_CTX_free(ctx);
    ERR_clear_error();
    memcpy(text->data, out, text->len);
    return good;
}

static bool case_is_right(const char *mode, const struct test_case *c)
{
    static struct test_case mine;
    const bool aead = mode[0] == 'G' || strcmp(mode, "CCM") == 0;
    mine = *c;
    if (crypt_case(mode, &mine, 0) != (c->verdict == CASE_VALID))
        return false;
    if (c->verdict != CASE_VALID)
        return true;
    if (!tap_same(mine.ct.data, c->pt.data, c->pt.len))
        return false;
    mine = *c;
    return crypt_case(mode, &mine, 1) && tap_same(mine.pt.data, c->ct.data, c->ct.len) &&
           (!aead || tap_same(mine.tag.data, c->tag.data, c->tag.len));
}

static void cases(const char *mode, const char *file)
{
    static struct test_case c;
    char path[512], error[160] = "";
    unsigned valid = 0, invalid = 0;
    bool good = true;
    snprintf(path, sizeof(path), "%s/%s", VECTORS, file);
    FILE *in = fopen(path, "r");
    while (in != NULL && good && case_read(in, &c, error)) {
        if (c.verdict == CASE_BITS || c.parts > 1)
            continue;
        good = case_is_right(mode, &c);
        valid += c.verdict == CASE_VALID;
        invalid += c.verdict == CASE_INVALID;
        if (!good)
            tap_diag("%s: case %u", file, c.id);
    }
    if (in != NULL)
        fclose(in);
    tap_ok(good && in != NULL && error[0] == '\0' && valid > 0,
           "%s: %u valid and %u invalid cases are right %s", file, valid, invalid, error);
}

static bool record_is_right(const char *mode, const struct rsp_record *record)
{
    static struct test_case c;
    c.key.len = record->field[RSP_KEY].len;
    c.iv.len = record->field[RSP_IV].len;
    c.pt.len = c.ct.len = record->field[RSP_PLAINTEXT].len;
    memcpy(c.key.data, record->field[RSP_KEY].data, c.key.len);
    memcpy(c.iv.data, record->field[RSP_IV].data, c.iv.len);
    memcpy(c.pt.data, record->field[RSP_PLAINTEXT].data, c.pt.len);
    memcpy(c.ct.data, record->field[RSP_CIPHERTEXT].data, c.pt.len);
    c.verdict = CASE_VALID;
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    bool good = true;
    for (int enc = 0; good && enc < 2; enc++) {
        uint8_t out[RSP_MAX_BYTES + 32];
        int n = 0, end = 0;
        EVP_CIPHER_CTX_reset(ctx);
        good = EVP_CipherInit_ex(ctx, EVP_get_cipherbynid(nid_of(mode, c.key.len)), engines[OURS],
                                 c.key.data, c.iv.data, enc) > 0 &&
               EVP_CIPHER_CTX_set_padding(ctx, 0) > 0 &&
               EVP_CipherUpdate(ctx, out, &n, enc ? c.pt.data : c.ct.data, (int)c.pt.len) > 0 &&
               EVP_CipherFinal_ex(ctx, out + n, &end) > 0 && n + end == (int)c.pt.len &&
               tap_same(out, enc ? c.ct.data : c.pt.data, c.pt.len);
    }
    EVP_CIPHER_CTX_free(ctx);
    return good;
}

static void response_file(const char *mode, const char *format, unsigned bits)
{
    struct rsp_file file = {NULL, 0, ""};
    char name[64], path[512];
    bool good = false;
    snprintf(name, sizeof(name), format, bits);
    snprintf(path, sizeof(path), "%s/%s", VECTORS, name);
    FILE *in = fopen(path, "r");
    if (in != NULL && rsp_read(in, &file, false)) {
        good = file.n > 0;
        for (size_t i = 0; good && i < file.n; i++)
            good = record_is_right(mode, &file.records[i]);
    }
    if (in != NULL)
        fclose(in);
    tap_ok(good, "%s: %zu records are right %s", name, file.n, file.error);
    rsp_free(&file);
}

static const struct {
    const char *mode, *file; /* `file` is a format with %u for the key size in bits */
} vectors[] = {
    {"ECB", "sp800-38a/ECB%u.rsp"},
    {"CBC", "sp800-38a/CBC%u.rsp"},
    {"CFB", "sp800-38a/CFB128%u.rsp"},
    {"OFB", "sp800-38a/OFB%u.rsp"},
    {"CTR", "sp800-38a/CTR%u.rsp"},
    {"ECB", "cavp/ECBMMT%u.rsp"},
    {"CBC", "cavp/CBCMMT%u.rsp"},
    {"CFB", "cavp/CFB128MMT%u.rsp"},
    {"OFB", "cavp/OFBMMT%u.rsp"},
    {"GCM", "cavp/gcm/gcmDecrypt%u.txt"},
    {"GCM", "cavp/gcm/gcmEncryptExtIV%u.txt"},
    {"CCM", "cavp/ccm/DVPT%u.txt"},
    {"CCM", "cavp/ccm/VADT%u.txt"},
    {"CCM", "cavp/ccm/VNT%u.txt"},
    {"CCM", "cavp/ccm/VPT%u.txt"},
    {"CCM", "cavp/ccm/VTT%u.txt"},
};
static const struct {
    const char *mode, *file;
} single_vectors[] = {
    {"GCM", "wycheproof/aes_gcm.txt"},          {"CCM", "wycheproof/aes_ccm.txt"},
    {"XTS", "cavp/xts/XTSGenAES128-tweak.txt"}, {"XTS", "cavp/xts/XTSGenAES256-tweak.txt"},
    {"XTS", "wycheproof/aes_xts.txt"},
};
#define VECTORS_BY_SIZE (sizeof(vectors) / sizeof(vectors[0]))
#define VECTORS_SINGLE  (sizeof(single_vectors) / sizeof(single_vectors[0]))

static void published(void)
{
    for (unsigned i = 0; i < VECTORS_BY_SIZE; i++) {
        for (unsigned bits = 128; bits <= 256; bits += 64) {
            char file[64];
            if (strstr(vectors[i].file, ".rsp") != NULL) {
                response_file(vectors[i].mode, vectors[i].file, bits);
            } else {
                snprintf(file, sizeof(file), vectors[i].file, bits);
                cases(vectors[i].mode, file);
            }
        }
    }
    for (unsigned i = 0; i < VECTORS_SINGLE; i++)
        cases(single_vectors[i].mode, single_vectors[i].file);
}

/* ---- In a busy program ---------------------------------------------------------------------- */

/* Encrypts a fixed message with CTR, GCM and CBC. Returns a hash of the outputs. */
static uint64_t fixed_messages(ENGINE *engine)
{
    static const int nids[] = {NID_aes_128_ctr, NID_aes_256_gcm, NID_aes_192_cbc};
    static const uint8_t key[32] = "a key that is 32 bytes long, no", iv[16] = "sixteen bytes..";
    uint8_t in[999], out[1024];
    uint64_t sum = 0;
    memset(in, 7, sizeof(in));
    for (unsigned i = 0; i < 3; i++) {
        int n = 0, end = 0;
        EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
        if (EVP_EncryptInit_ex(ctx, EVP_get_cipherbynid(nids[i]), engine, key, iv) > 0 &&
            EVP_EncryptUpdate(ctx, out, &n, in, sizeof(in)) > 0)
            EVP_EncryptFinal_ex(ctx, out + n, &end);
        EVP_CIPHER_CTX_free(ctx);
        for (int j = 0; j < n + end; j++)
            sum = sum * 31 + out[j];
    }
    return sum;
}

static uint64_t expected;

static void *thread(void *result)
{
    bool good = true;
    for (int i = 0; good && i < 200; i++)
        good = fixed_messages(engines[OURS]) == expected;
    *(bool *)result = good;
    return NULL;
}

static int fill_with_55(unsigned char *out, int len)
{
    memset(out, 0x55, (size_t)len);
    return 1;
}

static int cannot(unsigned char *out, int len)
{
    (void)out;
    (void)len;
    return 0;
}

static int ready(void)
{
    return 1;
}

/* Checks that generated IVs come from libcrypto's generator. If the generator fails, the control
 * that sets the IV's fixed part must also fail. */
static bool ivs_from_generator(void)
{
    static const RAND_METHOD fills = {NULL, fill_with_55, NULL, NULL, fill_with_55, ready};
    static const RAND_METHOD fails = {NULL, cannot, NULL, NULL, cannot, ready};
    static const uint8_t key[16] = {1};
    uint8_t fixed[4] = {0x33, 0x33, 0x33, 0x33}, iv[8] = {0}, expected_iv[8];
    const RAND_METHOD *const usual = RAND_get_rand_method();
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    memset(expected_iv, 0x55, sizeof(expected_iv));
    bool good = RAND_set_rand_method(&fills) == 1 &&
                EVP_EncryptInit_ex(ctx, EVP_aes_128_gcm(), engines[OURS], key, NULL) > 0 &&
                EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_IV_FIXED, sizeof(fixed), fixed) > 0 &&
                EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_IV_GEN, sizeof(iv), iv) > 0 &&
                memcmp(iv, expected_iv, sizeof(iv)) == 0 && RAND_set_rand_method(&fails) == 1 &&
                EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_IV_FIXED, sizeof(fixed), fixed) <= 0;
    RAND_set_rand_method(usual);
    EVP_CIPHER_CTX_free(ctx);
    return good;
}

static bool in_threads(void)
{
    pthread_t threads[8];
    bool good[8] = {false}, all = true;
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, thread, &good[i]);
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        all = all && good[i];
    }
    return all;
}

static bool in_children(void)
{
    int status = 1;
    bool good = true;
    for (int i = 0; i < 4; i++) {
        const pid_t child = fork();
        if (child == 0)
            _exit(fixed_messages(engines[OURS]) != expected);
        good = waitpid(child, &status, 0) == child && status == 0 && good;
    }
    return good;
}

/* Loads an engine from a file without adding it to libcrypto's list, so that unload() frees it. */
static ENGINE *load_file(const char *directory, const char *name)
{
    char path[512];
    ENGINE *e = ENGINE_by_id("dynamic");
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    if (e != NULL && ENGINE_ctrl_cmd_string(e, "SO_PATH", path, 0) &&
        ENGINE_ctrl_cmd_string(e, "LOAD", NULL, 0) && ENGINE_init(e))
        return e;
    ENGINE_free(e);
    return NULL;
}

static ENGINE *load(void)
{
    return load_file(getenv("OPENSSL_ENGINES"), "tenrounds.so");
}

/* Loads the module that TENROUNDS_SABOTAGE can make fail (see sabotage_all()). */
static ENGINE *load_faulty(void)
{
    return load_file(getenv("FAULTY_MODULES"), "tenrounds-engine.so");
}

static void unload(ENGINE *e)
{
    ENGINE_finish(e);
    ENGINE_free(e);
}

/* The bytes that all backends have processed in CTR. */
static uint64_t ctr_bytes(const struct trossl_counters_file *file)
{
    uint64_t bytes = 0;
    for (unsigned b = 0; b < file->backends; b++)
        bytes += file->counters.bulk[b][TR_OP_CTR].bytes;
    return bytes;
}

/* Uses the counters to check that calls without an engine run in tenrounds while tenrounds is the
 * default. */
static bool by_default(const struct trossl_counters_file *file)
{
    const uint64_t before = ctr_bytes(file);
    ENGINE_set_default_ciphers(engines[OURS]);
    const bool right = fixed_messages(NULL) == expected;
    ENGINE_unregister_ciphers(engines[OURS]);
    return right && ctr_bytes(file) > before;
}

/* Loads the engine, and unloads it while a context uses it, 20 times. The context must keep the
 * engine's code mapped. */
static bool again_and_again(void)
{
    static const uint8_t key[16], iv[16];
    /* AES-128 of a zero block under a zero key: H in test case 1 of the GCM specification (McGrew
     * and Viega, 2005, appendix B). */
    static const uint8_t first[] = {0x66, 0xe9, 0x4b, 0xd4, 0xef, 0x8a, 0x2c, 0x3b,
                                    0x88, 0x4c, 0xfa, 0x59, 0xca, 0x34, 0x2b, 0x2e};
    bool good = true;
    for (int i = 0; good && i < 20; i++) {
        uint8_t out[16];
        int n = 0;
        ENGINE *e = load();
        EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
        good = e != NULL && fixed_messages(e) == expected &&
               EVP_EncryptInit_ex(ctx, EVP_aes_128_ctr(), e, key, iv) > 0;
        unload(e);
        good = good && EVP_EncryptUpdate(ctx, out, &n, iv, 16) > 0 && tap_same(out, first, 16);
        EVP_CIPHER_CTX_free(ctx);
    }
    return good;
}

/* Makes the known-answer tests of every backend fail. */
static void sabotage_all(void)
{
    char names[256] = "";
    for (unsigned i = 0; tr_backend_at(i) != NULL; i++) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof(names) - used, "%s%s", i > 0 ? "," : "",
                 tr_backend_name(tr_backend_at(i)));
    }
    setenv("TENROUNDS_SABOTAGE", names, 1);
}

int main(int argc, char **argv)
{
    const struct counting counting = counting_new();
    setenv("TENROUNDS_COUNTERS", counting.path, 1);
    tap_plan(CIPHERS + 3 * VECTORS_BY_SIZE + VECTORS_SINGLE + 8 + AEADS);
    OPENSSL_init_crypto(OPENSSL_INIT_ENGINE_DYNAMIC | OPENSSL_INIT_ADD_ALL_CIPHERS, NULL);
    engines[OURS] = load();
    struct trossl_counters_file *file = trossl_counters_open(counting.path, TROSSL_HOST_ENGINE);
    if (engines[OURS] == NULL || file == NULL) {
        ERR_print_errors_fp(stderr);
        tap_ok(false, "the engine loads");
        return tap_done();
    }
    tap_diag("%s; %s", OpenSSL_version(OPENSSL_VERSION), ENGINE_get_name(engines[OURS]));
    published();
    differential(argc > 1 ? atoi(argv[1]) : 3);
    struct tap_random random = tap_random(0);
    for (unsigned c = 0; c < CIPHERS; c++) {
        if (ciphers[c].mode == 'g' || ciphers[c].mode == 'c')
            tap_ok(iv_of_another_length(&ciphers[c], &random) && cut_nonce(&ciphers[c]) &&
                       spent_iv(&ciphers[c]) && forgery_leaves_nothing(&ciphers[c]),
                   "%s: refuses stale, cut and spent IVs, and a forgery leaves no plaintext",
                   ciphers[c].name);
    }
    expected = fixed_messages(NULL);
    tap_ok(fixed_messages(engines[OURS]) == expected,
           "three fixed messages match libcrypto's ciphers");
    tap_ok(ivs_from_generator(), "generated IVs come from libcrypto's generator");
    tap_ok(in_threads(), "eight threads get the right output");
    tap_ok(in_children(), "children of fork get the right output");
    tap_ok(by_default(file), "calls without an engine use tenrounds while it is the default");

    unload(engines[OURS]);
    tap_ok(again_and_again(), "a context still works after its engine was unloaded");
    ENGINE *const faulty = load_faulty();
    tap_ok(faulty != NULL, "the module with the fault switch loads");
    unload(faulty);
    sabotage_all();
    tap_ok(load_faulty() == NULL,
           "the engine does not load if every backend fails its known-answer tests");
    ERR_clear_error();
    trossl_counters_close(file);
    return tap_done();
}
