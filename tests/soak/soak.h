/* SPDX-License-Identifier: BSD-2-Clause */
/* A message of the soak test, and the hosts that encrypt it. */
#ifndef TENROUNDS_TESTS_SOAK_H
#define TENROUNDS_TESTS_SOAK_H

#include "counters_file.h"
#include "tap.h"

#define MAX_DATA (16u << 10)
#define TAG      16

enum mode { ECB, CBC, CFB, OFB, CTR, GCM, MODES };

/* What all messages of a case have in common, so that each changes the counters by as much. */
struct soak_case {
    enum mode mode;
    size_t key_len, len, first; /* the first call processes `first` bytes, the second the rest */
    int encrypt;
};

struct soak_message {
    uint8_t key[32], iv[16], aad[20], tag[TAG]; /* the tag of GCM is input when decrypting */
    uint8_t *in, *out;                          /* may be the same */
};

struct soak_host {
    const char *name;
    /* Loads the host; exits on failure. */
    void (*open)(void);
    /* Processes a message. Each thread has its own number. Returns whether all calls succeeded. */
    bool (*crypt)(unsigned thread, const struct soak_case *c, struct soak_message *m);
    /* Something that a long-lived program does now and then, or NULL. */
    bool (*churn)(void);
    /* The counters of this process. */
    const struct tr_counters *(*counters)(void);
};

extern const struct soak_host soak_core, soak_provider, soak_engine, soak_pkcs11;

/* libcrypto's own provider, the independent implementation. */
void soak_open_reference(void);
bool soak_reference(const struct soak_case *c, struct soak_message *m);

/* The counters in the section of a host that was loaded after soak_count(). */
void soak_count(void);
const struct tr_counters *soak_counters(enum trossl_host host);

#endif
