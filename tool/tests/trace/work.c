/* SPDX-License-Identifier: BSD-2-Clause */
/* Does AES by the core until it is killed: work MODE MASK NAME. First prints the backend that was
 * selected; afterwards its process has the name NAME. For tests of `tenrounds trace`. */
#include "tenrounds.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { LEN = 16384 };
static uint8_t data[LEN], iv[16], keystream[16], tag[16];
static unsigned used;
static struct tr_aes_key aes;
static struct tr_xts_key xts;
static struct tr_gcm_key gcm;

static int work(const char *mode)
{
    if (!strcmp(mode, "ctr"))
        return tr_ctr(&aes, iv, keystream, &used, data, data, LEN) == TR_OK;
    if (!strcmp(mode, "ecb"))
        return tr_ecb_encrypt(&aes, data, data, LEN) == TR_OK;
    if (!strcmp(mode, "cbc"))
        return tr_cbc_encrypt(&aes, iv, data, data, LEN) == TR_OK;
    if (!strcmp(mode, "cbc-decrypt"))
        return tr_cbc_decrypt(&aes, iv, data, data, LEN) == TR_OK;
    if (!strcmp(mode, "xts"))
        return tr_xts_encrypt(&xts, iv, data, data, LEN) == TR_OK;
    if (!strcmp(mode, "gcm"))
        return tr_gcm_seal(&gcm, iv, 12, NULL, 0, data, data, LEN, tag, 16) == TR_OK;
    return 0;
}

int main(int argc, char **argv)
{
    struct tr_selection selection;
    uint8_t key[32];
    if (argc != 4 || tr_select(argv[2], 0, &selection) != TR_OK)
        return 2;
    for (unsigned i = 0; i < sizeof(key); i++)
        key[i] = (uint8_t)i;
    if (tr_aes_set_key(&aes, selection.backend, key, 16) != TR_OK ||
        tr_xts_set_key(&xts, selection.backend, key, 32) != TR_OK ||
        tr_gcm_set_key(&gcm, selection.backend, key, 16) != TR_OK)
        return 2;
    prctl(PR_SET_NAME, argv[3]);
    puts(tr_backend_name(selection.backend));
    if (fflush(stdout) != 0)
        return 2;
    /* Should nobody kill it, it ends. */
    alarm(600);
    while (work(argv[1]))
        ;
    return 1;
}
