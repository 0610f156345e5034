/* SPDX-License-Identifier: BSD-2-Clause */
/* What the operations of the Java provider work on. */
#ifndef TENROUNDS_JAVA_CONTEXT_H
#define TENROUNDS_JAVA_CONTEXT_H

#include "tenrounds.h"

/* A key with its message, outside of the Java heap. One Java object owns it. */
union context {
    struct {
        struct tr_gcm_key key;
        struct tr_gcm message;
    } gcm;
    struct {
        struct tr_aes_key key;
        uint8_t iv[TR_BLOCK], keystream[TR_BLOCK]; /* as in the functions of the mode */
        unsigned used;
        uint8_t next_iv[TR_BLOCK], text[512]; /* of a short call through JNI */
    } aes;
    struct {
        struct tr_cmac_key key;
        struct tr_cmac message;
    } cmac;
    struct tr_ccm_key ccm;
    struct tr_gcm_siv_key gcm_siv;
    struct tr_xts_key xts;
};

/* The arguments of an operation. One that needs no buffer ignores it. */
struct call {
    union context *context;
    const uint8_t *iv, *aad, *in;
    uint8_t *out;
    size_t iv_len, aad_len, len, tag_len;
};

/* Runs an operation of Calls.java. Returns a value of enum tr_status. */
int run(int operation, const struct call *call);

/* Selects the backend for all keys. Returns a constant of Calls.java: READY, or why not. */
int select_backend(void);

#endif
