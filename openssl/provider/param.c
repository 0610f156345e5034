/* SPDX-License-Identifier: BSD-2-Clause */
#include "param.h"

#include <string.h>

const OSSL_PARAM *trp_param_find(const OSSL_PARAM params[], const char *key)
{
    for (const OSSL_PARAM *p = params; p != NULL && p->key != NULL; p++) {
        if (trp_param_is(p, key))
            return p;
    }
    return NULL;
}

static int param_is_integer(const OSSL_PARAM *p)
{
    return p->data_type == OSSL_PARAM_INTEGER || p->data_type == OSSL_PARAM_UNSIGNED_INTEGER;
}

/* The address of byte i of an integer of `size` bytes. Byte 0 is the least significant byte. */
static unsigned char *param_byte_of(void *integer, size_t size, size_t i)
{
    unsigned char *bytes = integer;
    return bytes + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? size - 1 - i : i);
}

/* Whether a parameter is a negative integer: tests the sign bit. */
static int param_is_negative(const OSSL_PARAM *p)
{
    return p->data_type == OSSL_PARAM_INTEGER &&
           (*param_byte_of(p->data, p->data_size, p->data_size - 1) & 0x80) != 0;
}

int trp_param_set_other_number(OSSL_PARAM *p, uint64_t value, size_t size)
{
    if (!param_is_integer(p))
        return 0;
    if (p->data == NULL) {
        p->return_size = size;
        return 1;
    }
    if (p->data_size == 0)
        return 0;
    for (size_t i = 0; i < p->data_size; i++)
        *param_byte_of(p->data, p->data_size, i) = i < sizeof(value) ? (value >> 8 * i) & 0xff : 0;
    p->return_size = p->data_size;
    return (p->data_size >= sizeof(value) || value >> 8 * p->data_size == 0) &&
           !param_is_negative(p);
}

/* Has shortcuts for the sizes of unsigned int and size_t, which nearly all numbers have. */
int trp_param_get_number(const OSSL_PARAM *p, uint64_t max, uint64_t *value)
{
    uint64_t number = 0;
    uint32_t word;
    if (!param_is_integer(p) || p->data == NULL || p->data_size == 0 || param_is_negative(p))
        return 0;
    if (p->data_size == sizeof(number)) {
        memcpy(&number, p->data, sizeof(number));
    } else if (p->data_size == sizeof(word)) {
        memcpy(&word, p->data, sizeof(word));
        number = word;
    } else {
        for (size_t i = 0; i < p->data_size; i++) {
            const unsigned byte = *param_byte_of(p->data, p->data_size, i);
            if (i >= sizeof(number) && byte != 0)
                return 0;
            if (i < sizeof(number))
                number |= (uint64_t)byte << 8 * i;
        }
    }
    if (number > max)
        return 0;
    *value = number;
    return 1;
}

int trp_param_set_text(OSSL_PARAM *p, const char *text)
{
    size_t len = strlen(text);
    p->return_size = len;
    if (p->data_type == OSSL_PARAM_UTF8_PTR) {
        if (p->data != NULL)
            *(const char **)p->data = text;
        return 1;
    }
    if (p->data_type != OSSL_PARAM_UTF8_STRING)
        return 0;
    if (p->data == NULL)
        return 1;
    if (p->data_size < len)
        return 0;
    memcpy(p->data, text, len < p->data_size ? len + 1 : len);
    return 1;
}

int trp_param_set_octet_ptr(OSSL_PARAM *p, const void *bytes, size_t len)
{
    if (p->data_type != OSSL_PARAM_OCTET_PTR)
        return 0;
    p->return_size = len;
    if (p->data != NULL)
        *(const void **)p->data = bytes;
    return 1;
}

int trp_param_set_octets(OSSL_PARAM *p, const void *bytes, size_t len)
{
    if (p->data_type == OSSL_PARAM_OCTET_PTR)
        return trp_param_set_octet_ptr(p, bytes, len);
    if (p->data_type != OSSL_PARAM_OCTET_STRING)
        return 0;
    p->return_size = len;
    if (p->data == NULL)
        return 1;
    if (p->data_size < len)
        return 0;
    memcpy(p->data, bytes, len);
    return 1;
}

int trp_param_get_octets(const OSSL_PARAM *p, void *bytes, size_t max, size_t *len)
{
    if (p->data_type != OSSL_PARAM_OCTET_STRING || p->data == NULL || p->data_size > max)
        return 0;
    memcpy(bytes, p->data, p->data_size);
    *len = p->data_size;
    return 1;
}
