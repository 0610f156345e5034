/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Makes requests of random sizes through AF_ALG, and prints the counts that a trace of them must
 * show:
 *
 *   requests SEED skcipher|aead|hash ALGORITHM N
 *
 * Each message is encrypted by one request and decrypted by the next. A hash gets
 * one message at a time. In the output, FROM:CALLS:BYTES counts one size class (sums.h). The output
 * has a line for each row of `trace --kernel`:
 *
 *   encrypt CALLS BYTES FROM:CALLS:BYTES...     requests to encrypt
 *   decrypt CALLS BYTES FROM:CALLS:BYTES...     requests to decrypt
 *   sent CALLS BYTES FROM:CALLS:BYTES...        messages to the socket
 *   received CALLS
 *   in BYTES                                    bytes that are copied into the kernel
 *
 * For a hash, the lines are `sent`, `received` and:
 *
 *   out CALLS BYTES                             copies of the tags to the program
 */
#include "afalg.h"
#include "sums.h"

#define MOST 20000u
#define AAD  16u
#define TAG  16u

static int hash(int op, const uint8_t *in, long messages)
{
    struct sums hashed = {0};
    uint8_t tag[16];

    for (long n = messages; n > 0; n--) {
        size_t len = 1 + random_length(MOST);

        if (alg_hash(op, in, len, tag, sizeof(tag)) != sizeof(tag)) {
            fprintf(stderr, "a message of %zu bytes fails\n", len);
            return 1;
        }
        add(&hashed, len);
    }
    print("sent", &hashed);
    printf("received %ld\nout %ld %zu\n", messages, messages, (size_t)messages * sizeof(tag));
    return 0;
}

int main(int argc, char **argv)
{
    static uint8_t in[MOST + AAD + TAG], out[MOST + AAD + TAG], back[MOST + AAD + TAG];
    static const uint8_t key[16] = {1, 2, 3}, iv[16] = {4, 5, 6};
    struct sums encrypted = {0}, decrypted = {0}, sent = {0};
    int aead = argc > 2 && strcmp(argv[2], "aead") == 0, alg, op;
    size_t aad = aead ? AAD : 0, tag = aead ? TAG : 0, iv_len = aead ? 12 : 16;

    if (argc != 5)
        return 2;
    seed(argv[1]);
    alg = alg_open(argv[2], argv[3]);
    if (alg < 0 || alg_set_key(alg, key, sizeof(key)) != 0 ||
        (aead && alg_set_tag_size(alg, TAG) != 0) || (op = accept(alg, NULL, NULL)) < 0) {
        fprintf(stderr, "%s cannot be opened\n", argv[3]);
        return 1;
    }
    for (size_t i = 0; i < sizeof(in); i++)
        in[i] = (uint8_t)random32();
    if (strcmp(argv[2], "hash") == 0)
        return hash(op, in, strtol(argv[4], NULL, 10));
    for (long n = strtol(argv[4], NULL, 10); n > 0; n--) {
        size_t len = random_length(MOST), total;

        /* The skcipher (CBC) needs whole blocks. */
        len = aead ? len + 1 : (len / 16 + 1) * 16;
        total = aad + len;
        if (alg_crypt(op, 0, iv, iv_len, aad, in, total, out, total + tag) !=
                (ssize_t)(total + tag) ||
            alg_crypt(op, 1, iv, iv_len, aad, out, total + tag, back, total) != (ssize_t)total ||
            memcmp(in + aad, back + aad, len) != 0) {
            fprintf(stderr, "%s: a request of %zu bytes fails\n", argv[3], len);
            return 1;
        }
        add(&encrypted, len);
        add(&decrypted, len + tag);
        add(&sent, total);
        add(&sent, total + tag);
    }
    print("encrypt", &encrypted);
    print("decrypt", &decrypted);
    print("sent", &sent);
    printf("received %llu\nin %llu\n", (unsigned long long)sent.calls,
           (unsigned long long)sent.bytes);
    return 0;
}
