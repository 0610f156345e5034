/* SPDX-License-Identifier: BSD-2-Clause */
/* Error messages, the version, and tr_cleanse(). */
#include "tenrounds.h"

static const char *const texts[] = {
    [TR_OK] = "success",
    [TR_ERR_KEY_LENGTH] = "the mode does not take a key of this length",
    [TR_ERR_LENGTH] = "the mode does not take this number of bytes, or *used is above 15",
    [TR_ERR_OVERLAP] = "the output begins inside the input",
    [TR_ERR_PADDING] = "the last block does not end in PKCS#7 padding",
    [TR_ERR_MODE] = "there is no such mode or feature",
    [TR_ERR_SELF_TEST] = "a known-answer test failed",
    [TR_ERR_IV_LENGTH] = "the mode does not take an IV of this length",
    [TR_ERR_TAG_LENGTH] = "the mode does not take a tag of this length",
    [TR_ERR_TAG] = "the tag does not match the message",
    [TR_ERR_STATE] = "the key or message was never set or started, or the calls are out of order",
    [TR_ERR_EQUAL_KEYS] = "the two halves of the XTS key are equal",
};

const char *tr_strerror(enum tr_status status)
{
    return (unsigned)status <= TR_ERR_EQUAL_KEYS ? texts[status] : "unknown status";
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
