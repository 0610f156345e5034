// SPDX-License-Identifier: BSD-2-Clause
// Makes random calls of libcrypto in four threads, and prints what it called: calls SEED.
//
//   sum FUNCTION ALGORITHM CALLS BYTES IN_PLACE WITHOUT_OUTPUT
//   size FUNCTION ALGORITHM FROM CALLS BYTES
#include <openssl/evp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, CALLS = 3000, LONGEST = 40000, CLASSES = 17 };
enum { ENCRYPT, DECRYPT, CIPHER, FUNCTIONS };
enum { GCM, CTR, CBC, ALGORITHMS };

static const char *const functions[] = {"EVP_EncryptUpdate", "EVP_DecryptUpdate", "EVP_Cipher"};
static const char *const algorithms[] = {"aes-128-gcm", "aes-192-ctr", "aes-128-cbc"};

struct sum {
    unsigned long calls, bytes, in_place, without_output;
    struct {
        unsigned long calls, bytes;
    } sizes[CLASSES];
};
static struct sum sums[THREADS][FUNCTIONS][ALGORITHMS];
static uint64_t seed;

static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static int class_of(unsigned long length)
{
    int class = 0;
    for (; length > 0; length >>= 1)
        class ++;
    return class;
}

// One call: the function and the mode are the context's, the rest is drawn.
static void call(EVP_CIPHER_CTX *ctx, struct sum *sum, int function, int mode, uint64_t *state,
                 unsigned char *a, unsigned char *b)
{
    int length = (int)(draw(state) % LONGEST) >> draw(state) % 16, written = 0, good = 0;
    if (mode == CBC)
        length &= ~15;
    const int placement = (int)(draw(state) % 3); // elsewhere, in place, additional data
    unsigned char *out = placement == 0 ? b : a;
    if (placement == 2 && mode == GCM)
        out = NULL;
    const int any = draw(state) % 2; // EVP_CipherUpdate() calls the other two
    if (function == CIPHER)
        good = EVP_Cipher(ctx, out, a, (unsigned)length) >= 0;
    else if (any)
        good = EVP_CipherUpdate(ctx, out, &written, a, length);
    else if (function == ENCRYPT)
        good = EVP_EncryptUpdate(ctx, out, &written, a, length);
    else
        good = EVP_DecryptUpdate(ctx, out, &written, a, length);
    if (!good)
        exit(3);
    sum->calls++;
    sum->bytes += (unsigned)length;
    sum->in_place += out == a;
    sum->without_output += out == NULL;
    sum->sizes[class_of((unsigned)length)].calls++;
    sum->sizes[class_of((unsigned)length)].bytes += (unsigned)length;
}

static void *work(void *argument)
{
    struct sum(*own)[ALGORITHMS] = argument;
    uint64_t state = (seed << 8 | (uint64_t)(own - sums[0])) + 1;
    unsigned char *a = calloc(1, LONGEST + 32), *b = calloc(1, LONGEST + 32);
    static const unsigned char key[32], iv[16];
    for (int i = 0; i < CALLS; i++) {
        const int function = (int)(draw(&state) % FUNCTIONS),
                  mode = (int)(draw(&state) % ALGORITHMS);
        const EVP_CIPHER *const cipher = mode == GCM   ? EVP_aes_128_gcm()
                                         : mode == CTR ? EVP_aes_192_ctr()
                                                       : EVP_aes_128_cbc();
        EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
        const int encrypt = function == DECRYPT ? 0 : 1;
        if (ctx == NULL || !EVP_CipherInit_ex(ctx, cipher, NULL, key, iv, encrypt) ||
            !EVP_CIPHER_CTX_set_padding(ctx, 0))
            exit(3);
        // In GCM no additional data may follow data.
        call(ctx, &own[function][mode], function, mode, &state, a, b);
        EVP_CIPHER_CTX_free(ctx);
    }
    free(a);
    free(b);
    return NULL;
}

int main(int argc, char **argv)
{
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, sums[i]) != 0)
            return 2;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int f = 0; f < FUNCTIONS; f++)
        for (int m = 0; m < ALGORITHMS; m++) {
            struct sum all = {0};
            for (int i = 0; i < THREADS; i++) {
                const struct sum *const one = &sums[i][f][m];
                all.calls += one->calls, all.bytes += one->bytes;
                all.in_place += one->in_place, all.without_output += one->without_output;
                for (int c = 0; c < CLASSES; c++)
                    all.sizes[c].calls += one->sizes[c].calls,
                        all.sizes[c].bytes += one->sizes[c].bytes;
            }
            printf("sum %s %s %lu %lu %lu %lu\n", functions[f], algorithms[m], all.calls, all.bytes,
                   all.in_place, all.without_output);
            for (int c = 0; c < CLASSES; c++)
                if (all.sizes[c].calls > 0)
                    printf("size %s %s %lu %lu %lu\n", functions[f], algorithms[m],
                           c == 0 ? 0 : 1ul << (c - 1), all.sizes[c].calls, all.sizes[c].bytes);
        }
    return 0;
}
