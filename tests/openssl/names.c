/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares ciphers and MACs of tenrounds with those of the installed default provider: names,
 * aliases, OIDs and parameters, and the modes of ciphertext stealing. */
#include "sides.h"

#include <openssl/objects.h>

struct names {
    unsigned count;
    char name[16][64];
};

static void collect(const char *name, void *arg)
{
    struct names *names = arg;
    if (names->count < 16)
        snprintf(names->name[names->count++], 64, "%s", name);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

static struct names names_of(const EVP_CIPHER *cipher)
{
    struct names names = {0};
    EVP_CIPHER_names_do_all(cipher, collect, &names);
    qsort(names.name, names.count, sizeof(names.name[0]), by_text);
    return names;
}

static bool same_names(const EVP_CIPHER *ours, const EVP_CIPHER *theirs)
{
    const struct names a = names_of(ours), b = names_of(theirs);
    bool same = a.count == b.count && b.count >= 1;
    for (unsigned i = 0; same && i < a.count; i++)
        same = strcmp(a.name[i], b.name[i]) == 0;
    for (unsigned i = 0; !same && i < a.count; i++)
        tap_diag("ours: %s", a.name[i]);
    for (unsigned i = 0; !same && i < b.count; i++)
        tap_diag("default: %s", b.name[i]);
    return same && strcmp(EVP_CIPHER_get0_name(ours), EVP_CIPHER_get0_name(theirs)) == 0 &&
           EVP_CIPHER_get_nid(ours) == EVP_CIPHER_get_nid(theirs);
}

/* Whether each name and OID of the default provider's cipher fetches the cipher of tenrounds. */
static bool all_fetch(const struct evp_side *us, const EVP_CIPHER *theirs)
{
    const struct names names = names_of(theirs);
    bool good = true;
    for (unsigned i = 0; i < names.count; i++) {
        EVP_CIPHER *cipher = EVP_CIPHER_fetch(us->libctx, names.name[i], "provider=tenrounds");
        good = good && cipher != NULL && EVP_CIPHER_get0_provider(cipher) == us->provider;
        EVP_CIPHER_free(cipher);
    }
    return good;
}

static bool is_one_of(const OSSL_PARAM *p, const char *const keys[], unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (strcmp(p->key, keys[i]) == 0)
            return true;
    }
    return false;
}

/* Whether the types match. Patch releases of OpenSSL change the listed type of two parameters to
 * octet string: "tls-mac" was an octet pointer, and "tls1multi_aad" a number. The provider
 * tenrounds accepts what every version accepts, and always lists the same type. */
static bool same_type(const OSSL_PARAM *ours, const OSSL_PARAM *theirs)
{
    static const char *const changed[] = {OSSL_CIPHER_PARAM_TLS_MAC,
                                          OSSL_CIPHER_PARAM_TLS1_MULTIBLOCK_AAD};
    return (ours->data_type == theirs->data_type && ours->data_size == theirs->data_size) ||
           is_one_of(theirs, changed, 2);
}

/* Whether only some versions list this parameter. */
static bool newer(const OSSL_PARAM *p)
{
    static const char *const keys[] = {"encrypt-then-mac",
                                       "iv-generated",
                                       "pipeline-tag", /* a parameter of pipelines */
                                       OSSL_CIPHER_PARAM_AEAD_TLS1_GET_IV_GEN,
                                       OSSL_CIPHER_PARAM_AEAD_TLS1_SET_IV_INV,
                                       OSSL_CIPHER_PARAM_TLS_VERSION};
    return is_one_of(p, keys, sizeof(keys) / sizeof(keys[0]));
}

/* Whether `list` has each parameter of `wanted` that all versions list. */
static bool contains(const char *what, const OSSL_PARAM *list, const OSSL_PARAM *wanted)
{
    for (; wanted->key != NULL; wanted++) {
        const OSSL_PARAM *p = OSSL_PARAM_locate_const(list, wanted->key);
        if (newer(wanted)
                ? p != NULL && !same_type(p, wanted)
                : p == NULL || !same_type(p, wanted) || p->return_size != wanted->return_size) {
            tap_diag("%s: the lists differ at %s", what, wanted->key);
            return false;
        }
    }
    return true;
}

/* Versions order their lists differently, and libcrypto ignores the order. */
static bool same_list(const char *what, const OSSL_PARAM *ours, const OSSL_PARAM *theirs)
{
    if (ours == NULL || theirs == NULL)
        return ours == theirs;
    return contains(what, ours, theirs) && contains(what, theirs, ours);
}

static bool same_lists(const EVP_CIPHER *ours, const EVP_CIPHER *theirs)
{
    return same_list("gettable", EVP_CIPHER_gettable_params(ours),
                     EVP_CIPHER_gettable_params(theirs)) &&
           same_list("gettable of a context", EVP_CIPHER_gettable_ctx_params(ours),
                     EVP_CIPHER_gettable_ctx_params(theirs)) &&
           /* Skips key wrap, because versions of OpenSSL list different parameters for key wrap.
            * Version 3.0 lists parameters that it ignores. */
           (EVP_CIPHER_get_mode(ours) == EVP_CIPH_WRAP_MODE ||
            same_list("settable of a context", EVP_CIPHER_settable_ctx_params(ours),
                      EVP_CIPHER_settable_ctx_params(theirs)));
}

/* Reads a parameter of both ciphers with this type and size. Compares success, value and size. */
static bool same_value(EVP_CIPHER *ours, EVP_CIPHER *theirs, const char *key, unsigned type,
                       size_t size)
{
    uint8_t value[2][24];
    memset(value, 0xa5, sizeof(value));
    OSSL_PARAM a[] = {{key, type, value[0], size, OSSL_PARAM_UNMODIFIED}, OSSL_PARAM_END};
    OSSL_PARAM b[] = {{key, type, value[1], size, OSSL_PARAM_UNMODIFIED}, OSSL_PARAM_END};
    const bool good = EVP_CIPHER_get_params(ours, a), expected = EVP_CIPHER_get_params(theirs, b);
    const bool same =
        good == expected && (!good || (a->return_size == b->return_size &&
                                       memcmp(value[0], value[1], sizeof(value[0])) == 0));
    if (!same)
        tap_diag("%s as type %u of %zu bytes: ours %d, default %d", key, type, size, good,
                 expected);
    return same;
}

static bool same_values(EVP_CIPHER *ours, EVP_CIPHER *theirs)
{
    bool same = true;
    for (const OSSL_PARAM *p = EVP_CIPHER_gettable_params(theirs); p->key != NULL; p++) {
        for (size_t size = 1; size <= 20; size++) {
            same &= same_value(ours, theirs, p->key, OSSL_PARAM_INTEGER, size);
            same &= same_value(ours, theirs, p->key, OSSL_PARAM_UNSIGNED_INTEGER, size);
        }
        same &= same_value(ours, theirs, p->key, OSSL_PARAM_OCTET_STRING, 8);
    }
    return same && same_value(ours, theirs, "no-such-parameter", OSSL_PARAM_INTEGER, 4) &&
           EVP_CIPHER_get_flags(ours) == EVP_CIPHER_get_flags(theirs);
}

/* ---- MACs ----------------------------------------------------------------------------------- */

/* Compares the names and the parameter lists of a MAC. */
static bool same_mac(const struct evp_side *us, const struct evp_side *them, const char *name)
{
    EVP_MAC *ours = EVP_MAC_fetch(us->libctx, name, NULL);
    EVP_MAC *theirs = EVP_MAC_fetch(them->libctx, name, NULL);
    struct names a = {0}, b = {0};
    bool good = ours != NULL && theirs != NULL && EVP_MAC_names_do_all(ours, collect, &a) &&
                EVP_MAC_names_do_all(theirs, collect, &b) && a.count == b.count;
    qsort(a.name, a.count, sizeof(a.name[0]), by_text);
    qsort(b.name, b.count, sizeof(b.name[0]), by_text);
    for (unsigned i = 0; good && i < b.count; i++) {
        EVP_MAC *by_name = EVP_MAC_fetch(us->libctx, b.name[i], "provider=tenrounds");
        good = by_name != NULL && strcmp(a.name[i], b.name[i]) == 0;
        EVP_MAC_free(by_name);
    }
    good = good &&
           same_list("gettable", EVP_MAC_gettable_params(ours), EVP_MAC_gettable_params(theirs)) &&
           same_list("gettable of a context", EVP_MAC_gettable_ctx_params(ours),
                     EVP_MAC_gettable_ctx_params(theirs)) &&
           same_list("settable of a context", EVP_MAC_settable_ctx_params(ours),
                     EVP_MAC_settable_ctx_params(theirs));
    EVP_MAC_free(ours);
    EVP_MAC_free(theirs);
    return good;
}

struct ciphers {
    unsigned count;
    EVP_CIPHER *cipher[128];
};

static void take(EVP_CIPHER *cipher, void *arg)
{
    struct ciphers *ciphers = arg;
    if (ciphers->count < 128 && EVP_CIPHER_up_ref(cipher))
        ciphers->cipher[ciphers->count++] = cipher;
}

static void against_default(const struct evp_side *us, const struct evp_side *them,
                            EVP_CIPHER *ours)
{
    const char *const name = EVP_CIPHER_get0_name(ours);
    EVP_CIPHER *const theirs = EVP_CIPHER_fetch(them->libctx, name, NULL);
    if (theirs == NULL) {
        tap_ok(true, "%s: the default provider here does not have this cipher", name);
        return;
    }
    tap_ok(same_names(ours, theirs) && all_fetch(us, theirs) && same_lists(ours, theirs) &&
               same_values(ours, theirs),
           "%s: names, OID and parameters match, and each name fetches our cipher", name);
    EVP_CIPHER_free(theirs);
}

/* Encrypts or decrypts messages of several lengths, because CS2 differs from CS3 in whole blocks
 * only, and from CS1 in others only. Stores the name of the mode, and all output. Returns the
 * result of setting the mode. */
static int steal(const struct evp_side *side, const char *mode, bool encrypt, char name[16],
                 uint8_t out[256])
{
    static const uint8_t key[16] = {1}, iv[16] = {2}, text[64] = {3};
    static const int lengths[] = {16, 17, 31, 32, 33, 48, 50};
    EVP_CIPHER *cipher = evp_fetch(side, "AES-128-CBC-CTS");
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    OSSL_PARAM set[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_CIPHER_PARAM_CTS_MODE, (char *)mode, 0),
        OSSL_PARAM_construct_end()};
    OSSL_PARAM get[] = {OSSL_PARAM_construct_utf8_string(OSSL_CIPHER_PARAM_CTS_MODE, name, 16),
                        OSSL_PARAM_construct_end()};
    bool good = true;
    int result = 0, n = 0;
    memset(out, 0, 256);
    for (unsigned i = 0; good && i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        good = EVP_CipherInit_ex2(ctx, cipher, key, iv, encrypt, NULL) > 0;
        result = EVP_CIPHER_CTX_set_params(ctx, set);
        good = good && EVP_CIPHER_CTX_get_params(ctx, get) > 0 &&
               EVP_CipherUpdate(ctx, out, &n, text, lengths[i]) > 0 && n == lengths[i];
        out += n;
    }
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(cipher);
    ERR_clear_error();
    return good ? result : -1;
}

/* Whether both providers accept the same names of modes, in capitals and in small letters, and
 * steal ciphertext in the same way. */
static bool same_stealing(const struct evp_side *us, const struct evp_side *them)
{
    static const char *const modes[] = {"CS1", "CS2", "CS3", "cs1", "cs2",  "cs3",
                                        "cS2", "Cs3", "CS",  "CS4", "CS22", ""};
    bool good = true;
    for (unsigned i = 0; good && i < 2 * sizeof(modes) / sizeof(modes[0]); i++) {
        char name[2][16] = {{0}};
        uint8_t out[2][256];
        const int ours = steal(us, modes[i / 2], i % 2, name[0], out[0]),
                  theirs = steal(them, modes[i / 2], i % 2, name[1], out[1]);
        good = ours == theirs && ours >= 0 && strcmp(name[0], name[1]) == 0 &&
               tap_same(out[0], out[1], sizeof(out[0]));
        if (!good)
            tap_diag("mode \"%s\": result %d, theirs %d; name \"%s\", theirs \"%s\"", modes[i / 2],
                     ours, theirs, name[0], name[1]);
    }
    return good;
}

static bool describes_itself(const OSSL_PROVIDER *provider)
{
    int status = -1;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_int(OSSL_PROV_PARAM_STATUS, &status),
                           OSSL_PARAM_END};
    return OSSL_PROVIDER_get_params(provider, params) && status == 1 &&
           *evp_provider_text(provider, OSSL_PROV_PARAM_NAME) != '\0' &&
           *evp_provider_text(provider, OSSL_PROV_PARAM_VERSION) != '\0' &&
           strstr(evp_provider_text(provider, OSSL_PROV_PARAM_BUILDINFO),
                  evp_provider_text(provider, "selected-backend")) != NULL;
}

int main(void)
{
    struct evp_side us = evp_open("tenrounds"), them = evp_open("default");
    struct ciphers ours = {0}, theirs = {0};
    EVP_CIPHER_do_all_provided(us.libctx, take, &ours);
    EVP_CIPHER_do_all_provided(them.libctx, take, &theirs);
    tap_plan(ours.count + 5);
    for (unsigned i = 0; i < ours.count; i++)
        against_default(&us, &them, ours.cipher[i]);
    tap_ok(same_stealing(&us, &them), "CBC-CTS: modes and output match");
    tap_ok(same_mac(&us, &them, "CMAC"), "CMAC: names and parameters match");
    tap_ok(same_mac(&us, &them, "GMAC"), "GMAC: names and parameters match");

    unsigned missing = 0;
    for (unsigned i = 0; i < theirs.count; i++) {
        const char *const name = EVP_CIPHER_get0_name(theirs.cipher[i]);
        EVP_CIPHER *const cipher = EVP_CIPHER_fetch(us.libctx, name, NULL);
        if (cipher == NULL && strncmp(name, "AES-", 4) == 0 &&
            !(strstr(name, "-HMAC-") != NULL && tap_cpu_lacks("sha_ni ssse3"))) {
            tap_diag("tenrounds lacks %s", name);
            missing++;
        }
        EVP_CIPHER_free(cipher);
    }
    ERR_clear_error();
    tap_ok(ours.count >= EVP_CIPHERS && missing == 0,
           "tenrounds has %u ciphers, and lacks %u AES ciphers of the default provider", ours.count,
           missing);
    tap_ok(describes_itself(us.provider),
           "the provider says that it runs, and names its backend in the build info");
    for (unsigned i = 0; i < ours.count; i++)
        EVP_CIPHER_free(ours.cipher[i]);
    for (unsigned i = 0; i < theirs.count; i++)
        EVP_CIPHER_free(theirs.cipher[i]);
    evp_close(&us);
    evp_close(&them);
    return tap_done();
}
