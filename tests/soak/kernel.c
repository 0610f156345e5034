/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel module as a host of the soak test: its drivers, through AF_ALG. Each message opens a
 * driver of ours by its name, sets the key, and makes one request.
 *
 * Only root can read the module's counters. They count for the whole machine, so one process at a
 * time may use this host, and nothing else may use the module's drivers meanwhile.
 */
#define _GNU_SOURCE
#include "soak.h"

#include "../kernel/afalg.h"

#define COUNTERS "/sys/kernel/debug/tenrounds/counters"
#define BACKEND  "/sys/kernel/debug/tenrounds/backend"

static char backend[32];

static void not_here(const char *why)
{
    printf("not here: kernel: %s\n", why);
    exit(NOT_HERE);
}

/* Opens the module's driver of a mode. Returns a negative errno on failure. */
static int open_driver(enum mode mode)
{
    static const char *const names[MODES] = {
        [ECB] = "ecb", [CBC] = "cbc", [CTR] = "ctr", [GCM] = "gcm"};
    char driver[64];
    snprintf(driver, sizeof(driver), "%s-aes-tenrounds-%s", names[mode], backend);
    return alg_open_allowed(mode == GCM ? "aead" : "skcipher", driver);
}

/* Whether AF_ALG opens only some algorithms, as by default since Linux 7.3. */
static bool is_restricted(void)
{
    FILE *f = fopen("/proc/sys/crypto/af_alg_restrict", "r");
    const int value = f == NULL ? '0' : fgetc(f);
    if (f != NULL)
        fclose(f);
    return value != '0';
}

static void open_kernel(void)
{
    const int fd = socket(AF_ALG, SOCK_SEQPACKET, 0);
    if (fd < 0)
        not_here(errno == EAFNOSUPPORT ? "it has no AF_ALG" : strerror(errno));
    close(fd);
    FILE *f = fopen(BACKEND, "r");
    if (f == NULL)
        not_here("no " BACKEND ": the module is not loaded, or this is not root");
    if (fscanf(f, "%31s", backend) != 1)
        exit(2);
    fclose(f);
    const int driver = open_driver(GCM);
    if (driver < 0 && is_restricted())
        not_here("/proc/sys/crypto/af_alg_restrict is not 0");
    if (driver < 0) {
        fprintf(stderr, "kernel: AF_ALG does not open the module's gcm(aes): %s\n",
                strerror(-driver));
        exit(2);
    }
    close(driver);
}

/* Makes the request of a message, with the AAD before the data and the tag behind it. */
static bool request(int op, const struct soak_case *c, struct soak_message *m)
{
    static _Thread_local uint8_t in[MAX_DATA + 64], out[MAX_DATA + 64];
    const size_t aad = c->mode == GCM ? sizeof(m->aad) : 0;
    const size_t tag = c->mode == GCM ? TAG : 0;
    const size_t iv = c->mode == GCM ? 12 : c->mode == ECB ? 0 : 16;
    const size_t tag_in = c->encrypt ? 0 : tag, tag_out = c->encrypt ? tag : 0;
    memcpy(in, m->aad, aad);
    memcpy(in + aad, m->in, c->len);
    memcpy(in + aad + c->len, m->tag, tag_in);
    const size_t out_len = aad + c->len + tag_out; /* with more room, read() would wait */
    if (alg_crypt(op, !c->encrypt, m->iv, iv, aad, in, aad + c->len + tag_in, out, out_len) !=
        (ssize_t)out_len)
        return false;
    memcpy(m->out, out + aad, c->len);
    memcpy(m->tag, out + aad + c->len, tag_out);
    return true;
}

static bool crypt_kernel(unsigned thread, const struct soak_case *c, struct soak_message *m)
{
    (void)thread;
    const int driver = open_driver(c->mode);
    if (driver < 0)
        return false;
    const bool keyed = alg_set_key(driver, m->key, c->key_len) == 0 &&
                       (c->mode != GCM || alg_set_tag_size(driver, TAG) == 0);
    const int op = keyed ? accept(driver, NULL, 0) : -1;
    const bool good = op >= 0 && request(op, c, m);
    if (op >= 0)
        close(op);
    close(driver);
    return good;
}

/* Reads the module's counters. The module counts both directions together, so both operations of a
 * mode get the same count. */
static const struct tr_counters *counters(void)
{
    static const struct {
        const char *name;
        enum tr_op encrypt, decrypt;
    } algorithms[] = {{"ecb(aes)", TR_OP_ECB_ENCRYPT, TR_OP_ECB_DECRYPT},
                      {"cbc(aes)", TR_OP_CBC_ENCRYPT, TR_OP_CBC_DECRYPT},
                      {"ctr(aes)", TR_OP_CTR, TR_OP_CTR},
                      {"gcm(aes)", TR_OP_GCM_ENCRYPT, TR_OP_GCM_DECRYPT}};
    static struct tr_counters of_module;
    unsigned found = 0;
    char line[256], name[32];
    unsigned long long calls, bytes;
    FILE *f = fopen(COUNTERS, "r");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        if (sscanf(line, "%31s calls %llu bytes %llu", name, &calls, &bytes) != 3)
            continue;
        for (unsigned i = 0; i < sizeof(algorithms) / sizeof(algorithms[0]); i++) {
            if (strcmp(name, algorithms[i].name) != 0)
                continue;
            found++;
            const enum tr_op ops[] = {algorithms[i].encrypt, algorithms[i].decrypt};
            for (unsigned way = 0; way < 2; way++) {
                of_module.bulk[0][ops[way]].calls = calls;
                of_module.bulk[0][ops[way]].bytes = bytes;
            }
        }
    }
    if (found != sizeof(algorithms) / sizeof(algorithms[0])) {
        fprintf(stderr, "kernel: cannot read " COUNTERS "\n");
        exit(2);
    }
    fclose(f);
    return &of_module;
}

const struct soak_host soak_kernel = {"kernel", open_kernel, crypt_kernel,
                                      NULL,     counters,    1u << CFB | 1u << OFB};
