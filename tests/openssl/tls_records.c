/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares CBC records of SSL 3.0, TLS 1.0 to 1.2 and DTLS, as libssl passes them to a provider
 * (RFC 5246 section 6.2.3.2). The default provider and tenrounds seal records, and open valid and
 * invalid records with every MAC length that libssl uses. If the padding is wrong, the provider
 * must return another MAC, which differs between records and from the MAC in the record.
 */
#include "sides.h"

#include <openssl/prov_ssl.h>

#define MAX_RECORD 1024

enum { OURS, THEIRS, SIDES };

static struct evp_side sides[SIDES];

static const struct {
    unsigned version;
    const char *name;
    size_t explicit_iv;
} versions[] = {
    {SSL3_VERSION, "SSL 3.0", 0},    {TLS1_VERSION, "TLS 1.0", 0},
    {TLS1_1_VERSION, "TLS 1.1", 16}, {TLS1_2_VERSION, "TLS 1.2", 16},
    {DTLS1_VERSION, "DTLS 1.0", 16}, {DTLS1_2_VERSION, "DTLS 1.2", 16},
    {DTLS1_BAD_VER, "DTLS 0.9", 16},
};
#define VERSIONS (sizeof(versions) / sizeof(versions[0]))

static const size_t mac_sizes[] = {0, 16, 20, 32, 48, 64};
#define MAC_SIZES (sizeof(mac_sizes) / sizeof(mac_sizes[0]))

static EVP_CIPHER_CTX *start(int side, const char *name, const uint8_t *key, const uint8_t *iv,
                             int encrypt, unsigned version, size_t mac_size)
{
    EVP_CIPHER *cipher = evp_fetch(&sides[side], name);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_uint(OSSL_CIPHER_PARAM_TLS_VERSION, &version),
        OSSL_PARAM_construct_size_t(OSSL_CIPHER_PARAM_TLS_MAC_SIZE, &mac_size), OSSL_PARAM_END};
    if (EVP_CipherInit_ex2(ctx, cipher, key, iv, encrypt, NULL) <= 0 ||
        EVP_CIPHER_CTX_set_params(ctx, params) <= 0)
        tap_ok(false, "%s: cannot start with TLS parameters", name);
    EVP_CIPHER_free(cipher);
    return ctx;
}

/* The result of opening a record. */
struct opened {
    int ret, len;
    unsigned long error;
    uint8_t data[MAX_RECORD + 64];
    size_t mac_len;
    bool has_mac;
    uint8_t mac[64];
};

static void open_record(EVP_CIPHER_CTX *ctx, const uint8_t *record, size_t len, struct opened *o)
{
    void *mac = NULL;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_octet_ptr(OSSL_CIPHER_PARAM_TLS_MAC, &mac, 0),
                           OSSL_PARAM_END};
    memset(o, 0, sizeof(*o));
    memcpy(o->data, record, len);
    o->len = -1;
    o->ret = EVP_CipherUpdate(ctx, o->data, &o->len, o->data, (int)len);
    const unsigned long e = ERR_peek_last_error();
    o->error = o->ret > 0 ? 0 : ERR_PACK(ERR_GET_LIB(e), 0, ERR_GET_REASON(e));
    ERR_clear_error();
    EVP_CIPHER_CTX_get_params(ctx, params);
    o->mac_len = params->return_size;
    o->has_mac = mac != NULL;
    if (mac != NULL)
        memcpy(o->mac, mac, o->mac_len);
}

/* Writes the plaintext of a random record, with MAC and padding. Returns its length. */
static size_t compose(struct tap_random *random, unsigned v, size_t mac_size, uint8_t *plain)
{
    const size_t payload =
        tap_below(random, 4) == 0 ? tap_below(random, 20) : tap_below(random, MAX_RECORD - 512);
    const size_t body = versions[v].explicit_iv + payload + mac_size;
    const bool minimal = versions[v].version == SSL3_VERSION || tap_below(random, 2) == 0;
    size_t padding = 16 - body % 16;
    if (!minimal)
        padding += 16 * tap_below(random, (256 - padding) / 16 + 1);
    tap_fill(random, plain, body);
    memset(plain + body, (int)padding - 1, padding);
    if (versions[v].version == SSL3_VERSION)
        tap_fill(random, plain + body, padding - 1);
    return body + padding;
}

enum fault { NONE, LAST_BYTE, ONE_PADDING_BYTE, ALL_RANDOM, TOO_LONG, TOO_SHORT_RECORD, FAULTS };
static const char *const fault_names[FAULTS] = {"valid records",
                                                "random last bytes",
                                                "one changed byte of padding",
                                                "random bytes",
                                                "padding longer than the record",
                                                "short records"};

/* Changes the record and returns its length. The padding may still be valid (see
 * padding_is_right()). */
static size_t spoil(struct tap_random *random, enum fault fault, uint8_t *plain, size_t len,
                    size_t explicit_iv)
{
    const size_t padding = plain[len - 1] + (size_t)1;
    switch (fault) {
    case LAST_BYTE:
        plain[len - 1] = (uint8_t)tap_next(random);
        break;
    case ONE_PADDING_BYTE:
        plain[len - 1 - tap_below(random, padding)] ^= (uint8_t)(1u << tap_below(random, 8));
        break;
    case ALL_RANDOM:
        tap_fill(random, plain + explicit_iv, len - explicit_iv);
        break;
    case TOO_LONG:
        memset(plain, 255, len);
        break;
    case TOO_SHORT_RECORD:
        len = explicit_iv + 16 * tap_below(random, 4);
        return len > 0 ? len : 16;
    default:
        break;
    }
    return len;
}

/* Whether the padding is right, by RFC 5246 and, for SSL 3.0, RFC 6101 section 5.2.3.2. */
static bool padding_is_right(unsigned version, const uint8_t *record, size_t len, size_t mac_size)
{
    const size_t last = record[len - 1];
    if (last + 1 + mac_size > len)
        return false;
    if (version == SSL3_VERSION)
        return last < 16;
    for (size_t i = 0; i <= last; i++) {
        if (record[len - 1 - i] != last)
            return false;
    }
    return true;
}

static void encrypt_raw(const char *name, const uint8_t *key, const uint8_t *iv, uint8_t *data,
                        size_t len)
{
    int n;
    EVP_CIPHER_CTX *ctx = start(THEIRS, name, key, iv, 1, 0, 0);
    EVP_CIPHER_CTX_set_padding(ctx, 0);
    EVP_CipherUpdate(ctx, data, &n, data, (int)len);
    EVP_CIPHER_CTX_free(ctx);
}

/* Whether both providers return the same result for a record. If the padding is wrong, the MAC from
 * tenrounds must instead differ from the default provider's MAC and from the MAC in the record. It
 * must also differ from the MAC in `again`, the result for the same record in the same context. */
static bool same_record(struct opened o[SIDES], size_t explicit_iv, bool right,
                        const struct opened *again)
{
    const struct opened *a = &o[OURS], *b = &o[THEIRS];
    if (a->ret != b->ret || a->len != b->len || a->error != b->error || a->has_mac != b->has_mac ||
        a->mac_len != b->mac_len) {
        tap_diag("ours: returned %d, %d bytes, error %lx, has MAC %d, %zu bytes; default: %d, %d, "
                 "%lx, %d, %zu",
                 a->ret, a->len, a->error, a->has_mac, a->mac_len, b->ret, b->len, b->error,
                 b->has_mac, b->mac_len);
        return false;
    }
    /* The explicit IV comes first, then the payload, then the MAC. */
    const size_t end = explicit_iv + (size_t)a->len;
    if (a->ret > 0 && !tap_same(a->data + explicit_iv, b->data + explicit_iv, (size_t)a->len))
        return false;
    if (!a->has_mac)
        return true;
    if (right)
        return tap_same(a->mac, b->mac, a->mac_len);
    return memcmp(a->mac, b->mac, a->mac_len) != 0 && memcmp(a->mac, again->mac, a->mac_len) != 0 &&
           memcmp(a->mac, a->data + end, a->mac_len) != 0;
}

/* Opens a record with both providers, and with tenrounds again, in the same context. */
static void open_with_both(const char *name, const uint8_t *key, const uint8_t *iv,
                           unsigned version, size_t mac_size, const uint8_t *record, size_t len,
                           struct opened o[SIDES], struct opened *again)
{
    for (int i = 0; i < SIDES; i++) {
        EVP_CIPHER_CTX *ctx = start(i, name, key, iv, 0, version, mac_size);
        open_record(ctx, record, len, &o[i]);
        if (i == OURS)
            open_record(ctx, record, len, again);
        EVP_CIPHER_CTX_free(ctx);
    }
}

static bool one_record(struct tap_random *random, const char *name, unsigned v, size_t mac_size,
                       enum fault fault)
{
    static uint8_t record[MAX_RECORD + 64];
    static struct opened o[SIDES], again;
    uint8_t key[32], iv[16];
    tap_fill(random, key, sizeof(key));
    tap_fill(random, iv, sizeof(iv));
    const size_t skip = versions[v].explicit_iv;
    size_t len = spoil(random, fault, record, compose(random, v, mac_size, record), skip);
    const bool right =
        len > skip && padding_is_right(versions[v].version, record + skip, len - skip, mac_size);
    encrypt_raw(name, key, iv, record, len);

    open_with_both(name, key, iv, versions[v].version, mac_size, record, len, o, &again);
    return same_record(o, skip, right, &again);
}

static bool open_all(unsigned v, enum fault fault)
{
    struct tap_random random = tap_random(100 * v + fault);
    for (unsigned i = 0; i < 600; i++) {
        const char *name = evp_cipher_name(3 + (unsigned)tap_below(&random, 3));
        const size_t mac_size = mac_sizes[tap_below(&random, MAC_SIZES)];
        if (!one_record(&random, name, v, mac_size, fault)) {
            tap_diag("record %u, %s, MAC of %zu bytes", i, name, mac_size);
            return false;
        }
    }
    return true;
}

/* Seals a chain of records in place, as one connection sends them. */
static bool seal_all(unsigned v)
{
    static uint8_t data[SIDES][MAX_RECORD + 64];
    struct tap_random random = tap_random(1000 + v);
    uint8_t key[32], iv[16];
    EVP_CIPHER_CTX *ctx[SIDES];
    const char *name = evp_cipher_name(3 + (unsigned)tap_below(&random, 3));
    bool good = true;
    tap_fill(&random, key, sizeof(key));
    tap_fill(&random, iv, sizeof(iv));
    for (int i = 0; i < SIDES; i++)
        ctx[i] = start(i, name, key, iv, 1, versions[v].version, 20);
    for (size_t len = 0; good && len < MAX_RECORD; len += 1 + tap_below(&random, 3)) {
        int n[SIDES] = {-1, -1};
        tap_fill(&random, data[OURS], len);
        memcpy(data[THEIRS], data[OURS], len);
        for (int i = 0; i < SIDES; i++)
            good &= EVP_CipherUpdate(ctx[i], data[i], &n[i], data[i], (int)len) > 0;
        good = good && n[OURS] == n[THEIRS] && n[OURS] % 16 == 0 &&
               tap_same(data[OURS], data[THEIRS], (size_t)n[OURS]);
    }
    for (int i = 0; i < SIDES; i++) {
        uint8_t out[32];
        int n;
        good = good && EVP_CipherFinal_ex(ctx[i], out, &n) <= 0;
        EVP_CIPHER_CTX_free(ctx[i]);
    }
    ERR_clear_error();
    return good;
}

/*
 * Checks that the MAC in a copied context stays valid when the original continues and is freed.
 * Tests only tenrounds, because the default provider of OpenSSL 3.0 shares the memory of the MAC
 * and frees it twice.
 */
static bool copy_keeps_mac(void)
{
    struct tap_random random = tap_random(2000);
    static uint8_t record[MAX_RECORD + 64];
    static struct opened o;
    uint8_t key[16] = {1}, iv[16] = {2}, first_mac[20];
    void *mac = NULL;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_octet_ptr(OSSL_CIPHER_PARAM_TLS_MAC, &mac, 0),
                           OSSL_PARAM_END};
    EVP_CIPHER_CTX *ctx = start(OURS, "AES-128-CBC", key, iv, 0, TLS1_2_VERSION, 20);
    EVP_CIPHER_CTX *copy = EVP_CIPHER_CTX_new();
    size_t len = compose(&random, 3, 20, record);
    encrypt_raw("AES-128-CBC", key, iv, record, len);
    open_record(ctx, record, len, &o);
    bool good = o.ret > 0 && o.has_mac && EVP_CIPHER_CTX_copy(copy, ctx) > 0;
    memcpy(first_mac, o.mac, 20);
    open_record(ctx, record, len, &o); /* the IV has changed, and with it the first block */
    EVP_CIPHER_CTX_free(ctx);
    good = good && EVP_CIPHER_CTX_get_params(copy, params) > 0 && mac != NULL &&
           memcmp(mac, first_mac, 20) == 0;
    EVP_CIPHER_CTX_free(copy);
    ERR_clear_error();
    return good;
}

/* Opens short and valid records in turn. No record may return data of the previous record. */
static bool one_after_the_other(void)
{
    struct tap_random random = tap_random(3000);
    static uint8_t record[MAX_RECORD + 64];
    static struct opened o[SIDES];
    uint8_t key[24] = {7}, iv[16] = {8};
    EVP_CIPHER_CTX *ctx[SIDES];
    bool good = true;
    for (int i = 0; i < SIDES; i++)
        ctx[i] = start(i, "AES-192-CBC", key, iv, 0, TLS1_2_VERSION, 32);
    for (unsigned n = 0; good && n < 400; n++) {
        size_t len = compose(&random, 3, 32, record);
        len = spoil(&random, n % 2 ? NONE : TOO_SHORT_RECORD, record, len, 16);
        /* Encrypts every record from the same IV, although the contexts chain records. This changes
         * only the plaintext of the first block, which is the explicit IV. */
        encrypt_raw("AES-192-CBC", key, iv, record, len);
        for (int i = 0; i < SIDES; i++)
            open_record(ctx[i], record, len, &o[i]);
        good = n % 2 ? same_record(o, 16, true, NULL)
                     : o[OURS].ret == o[THEIRS].ret && o[OURS].has_mac == o[THEIRS].has_mac;
    }
    for (int i = 0; i < SIDES; i++)
        EVP_CIPHER_CTX_free(ctx[i]);
    return good;
}

/* Opens a record for each combination of padding length and MAC length. If `wrong`, the first byte
 * of the padding has a wrong bit. Padding of one byte is then left out, because its first byte is
 * the padding length. */
static bool every_padding(bool wrong)
{
    static uint8_t record[MAX_RECORD + 64];
    static struct opened o[SIDES], again;
    uint8_t key[32] = {3}, iv[16] = {4};
    for (size_t padding = wrong ? 2 : 1; padding <= 256; padding++) {
        for (size_t m = 1; m < MAC_SIZES; m++) {
            const size_t payload = (16 - (mac_sizes[m] + padding) % 16) % 16 + 32;
            const size_t len = payload + mac_sizes[m] + padding;
            for (size_t i = 0; i < len; i++)
                record[i] = (uint8_t)(i * 7 + 1);
            memset(record + len - padding, (int)padding - 1, padding);
            record[len - padding] ^= wrong;
            encrypt_raw("AES-256-CBC", key, iv, record, len);
            open_with_both("AES-256-CBC", key, iv, TLS1_VERSION, mac_sizes[m], record, len, o,
                           &again);
            if ((!wrong && o[OURS].len != (int)payload) || !same_record(o, 0, !wrong, &again))
                return false;
        }
    }
    return true;
}

/* Whether this provider refuses a call that cannot be a record. */
static bool refused(int side, size_t len, size_t shift, unsigned version, size_t mac_size,
                    int padding, int encrypt)
{
    static uint8_t data[256];
    uint8_t key[16] = {5}, iv[16] = {6};
    int n = -1;
    EVP_CIPHER_CTX *ctx = start(side, "AES-128-CBC", key, iv, encrypt, version, mac_size);
    EVP_CIPHER_CTX_set_padding(ctx, padding);
    const int ret = EVP_CipherUpdate(ctx, data + shift, &n, data, (int)len);
    EVP_CIPHER_CTX_free(ctx);
    ERR_clear_error();
    return ret <= 0;
}

static bool all_refused(int side)
{
    return refused(side, 64, 128, TLS1_2_VERSION, 20, 1, 1) && /* not in place */
           refused(side, 64, 0, TLS1_2_VERSION, 20, 0, 1) &&   /* padding off */
           refused(side, 65, 0, TLS1_2_VERSION, 20, 1, 0) &&   /* not whole blocks */
           refused(side, 64, 0, TLS1_3_VERSION, 20, 1, 0) &&   /* no CBC records */
           refused(side, 16, 0, TLS1_VERSION, 20, 1, 0);       /* too short */
}

int main(void)
{
    tap_plan(VERSIONS * (FAULTS + 1) + 8);
    sides[OURS] = evp_open("tenrounds");
    sides[THEIRS] = evp_open("default");
    for (unsigned v = 0; v < VERSIONS; v++) {
        tap_ok(seal_all(v), "%s: both providers seal alike", versions[v].name);
        for (unsigned fault = 0; fault < FAULTS; fault++)
            tap_ok(open_all(v, fault), "%s: both providers open alike: %s", versions[v].name,
                   fault_names[fault]);
    }
    tap_ok(every_padding(false),
           "both providers open alike with every padding length and MAC length");
    tap_ok(every_padding(true),
           "a wrong bit in the first padding byte gives another MAC, with every length");
    tap_ok(one_after_the_other(), "one context opens short and valid records in turn");
    tap_ok(copy_keeps_mac(), "a copied context keeps its MAC");
    tap_ok(all_refused(OURS), "calls that cannot be records are refused");
    tap_ok(all_refused(THEIRS), "the default provider also refuses these calls");
    tap_ok(refused(OURS, 0, 0, TLS1_2_VERSION, 20, 1, 0), "an empty record is refused");
    tap_ok(refused(OURS, 128, 0, TLS1_VERSION, 65, 1, 0), "a MAC length above 64 bytes is refused");
    evp_close(&sides[OURS]);
    evp_close(&sides[THEIRS]);
    return tap_done();
}
