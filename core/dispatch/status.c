/* SPDX-License-Identifier: BSD-2-Clause */
/* Error messages, the version, and tr_cleanse(). */
#include "tenrounds.h"

const char *tr_strerror(enum tr_status status)
{
    switch (status) {
    case TR_OK:
        return "success";
    case TR_ERR_KEY_LENGTH:
        return "the mode does not take a key of this length";
    case TR_ERR_LENGTH:
        return "the mode does not take this number of bytes, or *used is above 15";
    case TR_ERR_OVERLAP:
        return "the output begins inside the input";
    case TR_ERR_PADDING:
        return "the last block does not end in PKCS#7 padding";
    case TR_ERR_MODE:
        return "there is no such mode or feature";
    case TR_ERR_SELF_TEST:
        return "a known-answer test failed";
    case TR_ERR_IV_LENGTH:
        return "the mode does not take an IV of this length";
    case TR_ERR_TAG_LENGTH:
        return "the mode does not take a tag of this length";
    case TR_ERR_TAG:
        return "the tag does not match the message";
    case TR_ERR_STATE:
        return "the key or message was never set or started, or the calls are out of order";
    case TR_ERR_EQUAL_KEYS:
        return "the two halves of the XTS key are equal";
    }
    return "unknown status";
}

const char *tr_version(void)
{
    return TR_VERSION_STRING;
}

void tr_cleanse(void *memory, size_t len)
{
    if (len == 0)
        return;
    __builtin_memset(memory, 0, len);
    /* The compiler must assume that this statement reads the zeros. */
    __asm__ volatile("" : : "r"(memory) : "memory");
}
