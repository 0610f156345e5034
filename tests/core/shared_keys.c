/* SPDX-License-Identifier: BSD-2-Clause */
/* Uses one key in eight threads, for every authenticated mode and backend. All threads seal and
 * open at the same time from the key's first message on. With GCM they therefore race to compute
 * the powers of H. Each result must equal the result of a single thread. The test is also compiled
 * with ThreadSanitizer, which reports data races. */
#define _DEFAULT_SOURCE /* pthread_barrier_t */
#include "aead.h"
#include "modes/ghash.h"

#include <pthread.h>

#define THREADS 8
#define KEYS    12
#define LONGEST 900
#define EACH    ((unsigned)AEADS + 2)

/* A one-shot message with lengths that every mode accepts. A one-shot call of SIV takes no IV. */
struct message {
    size_t mode, len;
    uint8_t iv[12], aad[LONGEST], tag[16], plaintext[LONGEST], ciphertext[LONGEST];
};
static struct message messages[THREADS];
static struct aead_state shared; /* the threads use only its key */
static pthread_barrier_t barrier;

static enum tr_status crypt(struct aead_state *s, const struct message *m, bool decrypt,
                            uint8_t *out, const uint8_t *in, uint8_t tag[16])
{
    const struct aead *a = &all_aeads[m->mode];
    const struct aead_lengths n = {
        .iv = a->aad_in_one_call ? 0 : 12, .aad = m->len / 2, .text = m->len, .tag = 16};
    return a->whole(s, decrypt, &n, m->iv, m->aad, out, in, tag);
}

static bool seals_and_opens(const struct message *m)
{
    uint8_t out[LONGEST], back[LONGEST], tag[16];
    return crypt(&shared, m, false, out, m->plaintext, tag) == TR_OK &&
           tap_same(out, m->ciphertext, m->len) && tap_same(tag, m->tag, 16) &&
           crypt(&shared, m, true, back, out, tag) == TR_OK && tap_same(back, m->plaintext, m->len);
}

static void *work(void *message)
{
    pthread_barrier_wait(&barrier);
    bool good = true;
    for (unsigned i = 0; i < 4; i++)
        good &= seals_and_opens(message);
    return good ? message : NULL;
}

/* Makes a message. Computes the expected result with `alone`, a separate key object of bitslice. */
static bool make(struct tap_random *rng, struct aead_state *alone, size_t mode, unsigned i)
{
    static const size_t lengths[THREADS] = {16, 64, 100, 250, 300, 500, 700, LONGEST};
    struct message *m = &messages[i];
    m->mode = mode;
    m->len = lengths[i];
    tap_fill(rng, m->iv, sizeof(m->iv));
    tap_fill(rng, m->aad, sizeof(m->aad));
    tap_fill(rng, m->plaintext, sizeof(m->plaintext));
    return crypt(alone, m, false, m->ciphertext, m->plaintext, m->tag) == TR_OK;
}

static bool one_key(struct tap_random *rng, const struct tr_backend *b, size_t mode)
{
    uint8_t raw[64];
    pthread_t threads[THREADS];
    static struct aead_state alone;
    const struct aead *a = &all_aeads[mode];
    const size_t key_len = a->key.min + a->key.step * tap_below(rng, 3);
    tap_fill(rng, raw, sizeof(raw));
    bool good = a->set_key(&alone, &tr_bitslice, raw, key_len) == TR_OK &&
                a->set_key(&shared, b, raw, key_len) == TR_OK;
    for (unsigned i = 0; i < THREADS; i++)
        good &= make(rng, &alone, mode, i);
    for (unsigned i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, work, &messages[i]) == 0)
            continue;
        tap_ok(false, "thread %u cannot be started", i); /* the other threads wait for it */
        exit(1);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        void *result = NULL;
        good &= pthread_join(threads[i], &result) == 0 && result != NULL;
    }
    return good;
}

/* Tests GCM in one thread. Copies the key after every three messages, because messages may add
 * powers of H to the key. Each copy must give right results, too. */
static bool copies(struct tap_random *rng, const struct tr_backend *b)
{
    uint8_t raw[16];
    struct aead_state keys[4], alone;
    bool good = true;
    tap_fill(rng, raw, sizeof(raw));
    good &= all_aeads[AEAD_gcm].set_key(&keys[0], b, raw, 16) == TR_OK &&
            all_aeads[AEAD_gcm].set_key(&alone, &tr_bitslice, raw, 16) == TR_OK;
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned j = 0; j < 3; j++) {
            const unsigned which = 2 * j + i % 2;
            uint8_t out[LONGEST], tag[16];
            good &= make(rng, &alone, AEAD_gcm, which) &&
                    crypt(&keys[i], &messages[which], false, out, messages[which].plaintext, tag) ==
                        TR_OK &&
                    tap_same(out, messages[which].ciphertext, messages[which].len) &&
                    tap_same(tag, messages[which].tag, 16);
        }
        if (i < 3)
            memcpy(&keys[i + 1], &keys[i], sizeof(keys[i]));
    }
    return good;
}

/* Tests GCM with a key whose powers of H are incomplete, as if a signal handler's longjmp() had
 * ended the call that was storing them. Other calls then compute these powers themselves. */
static bool abandoned(struct tap_random *rng, const struct tr_backend *b)
{
    uint8_t raw[16];
    struct aead_state alone;
    bool good = true;
    tap_fill(rng, raw, sizeof(raw));
    good &= all_aeads[AEAD_gcm].set_key(&shared, b, raw, 16) == TR_OK &&
            all_aeads[AEAD_gcm].set_key(&alone, &tr_bitslice, raw, 16) == TR_OK;
    struct tr_ghash_key *const hash = &shared.key.gcm.hash;
    hash->powers_wanted = 1;
    hash->powers_state |= 1; /* what tr_ghash_claim() does */
    if (tr_backend_features(b) & TR_FEATURE_CLMUL)
        memset(hash->power, 0xa5, (TR_GHASH_POWERS - TR_GHASH_FIRST_POWERS) * sizeof(*hash->power));
    for (unsigned i = 0; i < THREADS; i++)
        good &= make(rng, &alone, AEAD_gcm, i) && seals_and_opens(&messages[i]);
    return good;
}

int main(void)
{
    const struct tr_backend *b;
    tap_plan(backend_count() * EACH);
    struct tap_random rng = tap_random(0);
    if (pthread_barrier_init(&barrier, NULL, THREADS) != 0)
        return 2;
    for (unsigned n = 0; (b = tr_backend_at(n)) != NULL; n++) {
        if (backend_skip(b, EACH))
            continue;
        for (size_t i = 0; i < AEADS; i++) {
            bool good = true;
            for (unsigned keys = 0; keys < KEYS && good; keys++)
                good = one_key(&rng, b, i);
            tap_ok(good, "%s: %s is right in %d threads that share one key", tr_backend_name(b),
                   all_aeads[i].name, THREADS);
        }
        tap_ok(copies(&rng, b), "%s: GCM is right with copies of a key made between messages",
               tr_backend_name(b));
        tap_ok(abandoned(&rng, b),
               "%s: GCM is right with a key whose powers a call left unfinished",
               tr_backend_name(b));
    }
    return tap_done();
}
