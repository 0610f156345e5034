/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures whether the time of a call distinguishes two inputs. Calls with the two inputs alternate
 * at random. Welch's t-test compares the fastest 90 % of their times (O. Reparaz, J. Balasch, I.
 * Verbauwhede, *Dude, is my code constant time?*, DATE 2017).
 *
 * The program only prints its verdict, because other load on the machine affects the times, too.
 * The test fails only if a call returns a wrong result. Two other tests, constant_time.c and
 * openssl/tls_constant_time.c, reliably find a branch or an index on a secret. This test also
 * covers instruction timing on the real processor.
 */
#include "common.h"
#include "tls_record.h"

#include <openssl/prov_ssl.h>

#if defined(__x86_64__) || defined(__i386__)
#    include <x86intrin.h>
#endif

#define MEASURED 60000u
#define KEPT     (MEASURED / 10 * 9) /* the fastest calls */
#define ROOM     512

static struct tap_random rng;

static uint64_t now(void)
{
#if defined(__x86_64__) || defined(__i386__)
    unsigned core;
    __asm__ volatile("lfence" ::: "memory");
    return __rdtscp(&core);
#else
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
}

/* Two inputs of equal length, and the call that processes them and checks the result. */
struct subject {
    const char *what;
    uint8_t input[2][ROOM];
    bool (*run)(uint8_t *input);
};

/* ---- Measured functions ------------------------------------------------------------------- */

#define TEXT 64

static struct tr_gcm_key gcm;
static struct tr_aes_key cbc_key;
static struct tr_cipher cbc;
static const uint8_t zeros[ROOM];

static bool gcm_open(uint8_t *input)
{
    uint8_t out[TEXT];
    return tr_gcm_open(&gcm, zeros, 12, NULL, 0, out, input, TEXT, input + TEXT, 16) == TR_ERR_TAG;
}

static bool padding(uint8_t *input)
{
    uint8_t out[TEXT + 16], last[16];
    size_t len = 0, last_len = 0;
    return tr_cipher_start(&cbc, &cbc_key, TR_CBC, 1, 1, zeros) == TR_OK &&
           tr_cipher_update(&cbc, out, &len, input, TEXT) == TR_OK &&
           tr_cipher_final(&cbc, last, &last_len) == TR_ERR_PADDING;
}

static bool tls_open(uint8_t *input)
{
    uint8_t mac[20];
    size_t payload;
    return trp_tls_open(TLS1_2_VERSION, input, 384, mac, sizeof(mac), zeros, &payload) == NULL;
}

/* The control: stops at the first byte that is not zero, so its time depends on the input. */
static bool stops_early(uint8_t *input)
{
    volatile const uint8_t *p = input;
    for (size_t i = 0; i < 256; i++)
        if (p[i] != 0)
            return true;
    return false;
}

/* ---- Inputs --------------------------------------------------------------------------------- */

static void gcm_inputs(struct subject *s)
{
    for (int i = 0; i < 2; i++) {
        uint8_t *in = s->input[i];
        if (tr_gcm_seal(&gcm, zeros, 12, NULL, 0, in, zeros, TEXT, in + TEXT, 16) != TR_OK)
            abort();
        in[TEXT + (i == 0 ? 0 : 15)] ^= 1;
    }
}

/* Encrypts two plaintexts with 16 bytes of padding. In the first plaintext, the first padding byte
 * is wrong. In the second, the last but one is wrong. */
static void padding_inputs(struct subject *s)
{
    for (int i = 0; i < 2; i++) {
        uint8_t iv[16] = {0}, plaintext[TEXT];
        memset(plaintext, 16, sizeof(plaintext));
        plaintext[TEXT - (i == 0 ? 16 : 2)] = 0;
        if (tr_cbc_encrypt(&cbc_key, iv, s->input[i], plaintext, TEXT) != TR_OK)
            abort();
    }
}

static void tls_padding(uint8_t *record, size_t n, bool right)
{
    memset(record, 0x33, 384);
    memset(record + 384 - n, right ? (int)(n - 1) : 0x33, n);
    record[383] = (uint8_t)(n - 1);
}

static void control_inputs(struct subject *s)
{
    s->input[0][0] = 1;
    s->input[1][255] = 1;
}

/* ---- The test ------------------------------------------------------------------------------- */

struct sample {
    uint64_t time;
    bool kind;
};

static int by_time(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;
    return (x->time > y->time) - (x->time < y->time);
}

/* The square of Welch's t, which needs no sqrt() and thus no math library. */
static double t_squared(const struct sample *samples, size_t n)
{
    double count[2] = {0}, mean[2] = {0}, squares[2] = {0};
    for (size_t i = 0; i < n; i++) { /* Welford's algorithm */
        const bool k = samples[i].kind;
        const double x = (double)samples[i].time, before = x - mean[k];
        mean[k] += before / ++count[k];
        squares[k] += before * (x - mean[k]);
    }
    if (count[0] < 2 || count[1] < 2)
        return 0;
    const double error =
        squares[0] / (count[0] - 1) / count[0] + squares[1] / (count[1] - 1) / count[1];
    const double difference = mean[0] - mean[1];
    return error == 0 ? (difference == 0 ? 0 : 1e9) : difference * difference / error;
}

static const char *verdict(double t2)
{
    return t2 > 100         ? "they take different times"
           : t2 > 4.5 * 4.5 ? "in doubt"
                            : "no difference seen";
}

static void measure(const struct subject *s)
{
    static struct sample samples[MEASURED];
    uint8_t input[ROOM];
    unsigned right = 0;
    for (unsigned i = 0; i < MEASURED; i++) {
        samples[i].kind = tap_below(&rng, 2);
        memcpy(input, s->input[samples[i].kind], ROOM);
        const uint64_t begin = now();
        right += s->run(input);
        samples[i].time = now() - begin;
    }
    qsort(samples, MEASURED, sizeof(*samples), by_time);
    const double t2 = t_squared(samples, KEPT);
    tap_ok(right == MEASURED, "%s: %u of %u results are right", s->what, right, MEASURED);
    tap_diag("%s: %s (t squared is %.1f; above 20 in doubt, above 100 certain)", s->what,
             verdict(t2), t2);
}

int main(void)
{
    static struct subject control = {
        "the control, a comparison that stops early", {{0}}, stops_early};
    static struct subject tags = {
        "GCM, tags wrong in the first and in the last byte", {{0}}, gcm_open};
    static struct subject pads = {
        "CBC, padding wrong in the first and in the last but one byte", {{0}}, padding};
    static struct subject lengths = {
        "TLS records with 1 and with 200 bytes of padding", {{0}}, tls_open};
    static struct subject wrong = {
        "TLS records with right and with wrong padding", {{0}}, tls_open};
    tap_plan(5);
    rng = tap_random(0);
    if (tr_gcm_set_key(&gcm, NULL, zeros, 16) != TR_OK ||
        tr_aes_set_key(&cbc_key, NULL, zeros, 16) != TR_OK)
        return 2;
    control_inputs(&control);
    gcm_inputs(&tags);
    padding_inputs(&pads);
    tls_padding(lengths.input[0], 1, true);
    tls_padding(lengths.input[1], 200, true);
    tls_padding(wrong.input[0], 100, true);
    tls_padding(wrong.input[1], 100, false);
    measure(&control);
    measure(&tags);
    measure(&pads);
    measure(&lengths);
    measure(&wrong);
    return tap_done();
}
