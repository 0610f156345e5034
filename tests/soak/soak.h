/* SPDX-License-Identifier: BSD-2-Clause */
/* A message of the soak test, and the hosts that encrypt it. */
#ifndef TENROUNDS_TESTS_SOAK_H
#define TENROUNDS_TESTS_SOAK_H

#include "counters_file.h"
#include "tap.h"

#define MAX_DATA (16u << 10)
#define TAG      16
#define NOT_HERE 77 /* exit status: this machine does not have the host */

enum mode { ECB, CBC, CFB, OFB, CTR, GCM, MODES };

/* The properties that all messages of a case share, so that each of them adds the same to the
 * counters. */
struct soak_case {
    enum mode mode;
    size_t key_len, len, first; /* the first call processes `first` bytes, the second the rest */
    int encrypt;
};

struct soak_message {
    uint8_t key[32], iv[16], aad[20], tag[TAG]; /* the tag is for GCM: input when decrypting */
    uint8_t *in, *out;                          /* may be the same */
};

struct soak_host {
    const char *name;
    /* Loads the host; exits on failure, or with NOT_HERE. */
    void (*open)(void);
    /* Processes a message. Each thread has its own number. Returns whether all calls succeeded. */
    bool (*crypt)(unsigned thread, const struct soak_case *c, struct soak_message *m);
    /* An action that a long-lived program repeats at times, such as loading and unloading the
     * provider. NULL if the host has none. */
    bool (*churn)(void);
    /* The counters of this process. */
    const struct tr_counters *(*counters)(void);
    unsigned lacks; /* the modes that the host does not have, a bit each; CTR takes their place */
};

extern const struct soak_host soak_core, soak_provider, soak_engine, soak_pkcs11, soak_kernel;

/* The default provider of libcrypto, from which the expected results come. */
void soak_open_reference(void);
bool soak_reference(const struct soak_case *c, struct soak_message *m);

/* Makes a counters file and sets TENROUNDS_COUNTERS to it, for the host that is loaded next. */
void soak_count(void);
/* Returns the counters in a host's section of that file. */
const struct tr_counters *soak_counters(enum trossl_host host);

#endif
