/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Encrypts the same messages of 16 KiB twice: in user space by EVP, and in the kernel by AF_ALG.
 *
 *   both-ways DRIVER MESSAGES
 *
 * DRIVER is a driver of cbc(aes). Prints the number of bytes that each way encrypted.
 *
 * link: -lcrypto
 */
#include "afalg.h"

#include <openssl/evp.h>
#include <stdlib.h>

#define SIZE 16384

int main(int argc, char **argv)
{
    static const uint8_t key[16] = {1, 2, 3}, iv[16] = {4, 5, 6};
    static uint8_t in[SIZE], ours[SIZE], theirs[SIZE];
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, "AES-128-CBC", NULL);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    long messages = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
    int alg, op, len;

    if (argc != 3 || cipher == NULL || ctx == NULL)
        return 2;
    alg = alg_open("skcipher", argv[1]);
    if (alg < 0 || alg_set_key(alg, key, sizeof(key)) != 0 || (op = accept(alg, NULL, NULL)) < 0) {
        fprintf(stderr, "%s cannot be opened\n", argv[1]);
        return 1;
    }
    for (long n = 0; n < messages; n++) {
        in[n % SIZE]++;
        if (EVP_EncryptInit_ex2(ctx, cipher, key, iv, NULL) != 1 ||
            EVP_EncryptUpdate(ctx, ours, &len, in, SIZE) != 1 || len != SIZE ||
            alg_crypt(op, 0, iv, sizeof(iv), 0, in, SIZE, theirs, SIZE) != SIZE ||
            memcmp(ours, theirs, SIZE) != 0) {
            fprintf(stderr, "message %ld: the ways differ\n", n);
            return 1;
        }
    }
    printf("%ld\n", messages * SIZE);
    EVP_CIPHER_CTX_free(ctx);
    EVP_CIPHER_free(cipher);
    return 0;
}
