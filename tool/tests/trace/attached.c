// SPDX-License-Identifier: BSD-2-Clause
// Encrypts by the provider in a folder when it is told so: attached FOLDER SEED. It says "ready",
// waits for a line, encrypts with AES-128-CTR by calls of random numbers of blocks, prints the calls
// and bytes, and waits for the end of its input.
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { CALLS = 2000, LONGEST = 4096 };

int main(int argc, char **argv)
{
    static unsigned char data[LONGEST * 16];
    static const unsigned char key[16], iv[16];
    if (argc != 3)
        return 2;
    uint64_t state = strtoull(argv[2], NULL, 10) | 1ull << 40;
    OSSL_PROVIDER_set_default_search_path(NULL, argv[1]);
    if (OSSL_PROVIDER_load(NULL, "tenrounds") == NULL)
        return 3;
    EVP_CIPHER *const cipher = EVP_CIPHER_fetch(NULL, "AES-128-CTR", "provider=tenrounds");
    EVP_CIPHER_CTX *const ctx = EVP_CIPHER_CTX_new();
    if (cipher == NULL || ctx == NULL || !EVP_EncryptInit_ex2(ctx, cipher, key, iv, NULL))
        return 4;
    puts("ready");
    fflush(stdout);
    if (getchar() == EOF)
        return 5;
    unsigned long bytes = 0;
    for (int i = 0; i < CALLS; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        const int blocks = 1 + (int)((state >> 8) % LONGEST >> (state >> 40) % 13);
        int written;
        if (!EVP_EncryptUpdate(ctx, data, &written, data, blocks * 16))
            return 6;
        bytes += (unsigned)written;
    }
    printf("%d %lu\n", CALLS, bytes);
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}
