/* SPDX-License-Identifier: BSD-2-Clause */
/* CTR, CBC and XTS: key, IV, data and result in one call. */
#include "ext.h"

#include <string.h>

enum cipher { CTR, CBC_ENCRYPT, CBC_DECRYPT, XTS_ENCRYPT, XTS_DECRYPT };

static enum tr_status run_xts(enum cipher cipher, const struct input *raw, const uint8_t *tweak,
                              uint8_t *out, const uint8_t *in, size_t len)
{
    struct tr_xts_key key;
    enum tr_status status = tr_xts_set_key(&key, NULL, raw->data, raw->len);

    if (status == TR_OK && tr_xts_keys_equal(&key))
        status = TR_ERR_EQUAL_KEYS;
    if (status == TR_OK)
        status = cipher == XTS_ENCRYPT ? tr_xts_encrypt(&key, tweak, out, in, len)
                                       : tr_xts_decrypt(&key, tweak, out, in, len);
    tr_cleanse(&key, sizeof key);
    return status;
}

static enum tr_status run_aes(enum cipher cipher, const struct input *raw, const uint8_t *start,
                              uint8_t *out, const uint8_t *in, size_t len)
{
    struct tr_aes_key key;
    uint8_t iv[TR_BLOCK], stream[TR_BLOCK];
    unsigned used = 0;
    enum tr_status status = tr_aes_set_key(&key, NULL, raw->data, raw->len);

    memcpy(iv, start, sizeof iv);
    if (status == TR_OK && cipher == CTR)
        status = tr_ctr(&key, iv, stream, &used, out, in, len);
    else if (status == TR_OK)
        status = cipher == CBC_ENCRYPT ? tr_cbc_encrypt(&key, iv, out, in, len)
                                       : tr_cbc_decrypt(&key, iv, out, in, len);
    tr_cleanse(&key, sizeof key);
    tr_cleanse(stream, sizeof stream);
    return status;
}

static PyObject *process(enum cipher cipher, const struct input inputs[3], PyObject *buffer)
{
    struct output output;
    enum tr_status status;

    if (inputs[1].len != TR_BLOCK) {
        PyErr_SetString(PyExc_ValueError, "the nonce, IV or tweak must have 16 bytes");
        return NULL;
    }
    if (output_open(&output, buffer, inputs[2].len) < 0)
        return NULL;
    UNLOCKED_BEGIN(inputs[2].len)
    status = (cipher >= XTS_ENCRYPT ? run_xts : run_aes)(
        cipher, &inputs[0], inputs[1].data, output.data, inputs[2].data, inputs[2].len);
    UNLOCKED_END
    if (status != TR_OK)
        raise_status(status);
    return output_close(&output, status != TR_OK);
}

static PyObject *call(enum cipher cipher, const char *name, const char *iv_name,
                      PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    const char *const names[] = {name, "key", iv_name, "data", "buf"};
    PyObject *slots[4], *result = NULL;
    struct input inputs[3];

    inputs[1].view.obj = inputs[2].view.obj = NULL;
    if (read_arguments(names, 4, 1, args, count, keywords, slots) < 0)
        return NULL;
    if (input_open(&inputs[0], slots[0]) == 0 && input_open(&inputs[1], slots[1]) == 0 &&
        input_open(&inputs[2], slots[2]) == 0)
        result = process(cipher, inputs, slots[3] == Py_None ? NULL : slots[3]);
    for (int i = 0; i < 3; i++)
        input_close(&inputs[i]);
    return result;
}

#define FUNCTION(name, cipher, iv_name)                                                            \
    static PyObject *name(PyObject *module, PyObject *const *args, Py_ssize_t count,               \
                          PyObject *keywords)                                                      \
    {                                                                                              \
        (void)module;                                                                              \
        return call(cipher, #name, iv_name, args, count, keywords);                                \
    }
FUNCTION(aes_ctr, CTR, "nonce")
FUNCTION(aes_cbc_encrypt, CBC_ENCRYPT, "iv")
FUNCTION(aes_cbc_decrypt, CBC_DECRYPT, "iv")
FUNCTION(aes_xts_encrypt, XTS_ENCRYPT, "tweak")
FUNCTION(aes_xts_decrypt, XTS_DECRYPT, "tweak")

#define ENTRY(name, iv_name, text)                                                                 \
    {                                                                                              \
#        name, (PyCFunction)(void (*)(void))name, METH_FASTCALL | METH_KEYWORDS,                   \
            #        name "($module, key, " iv_name ", data, buf=None)\n--\n\n" text               \
                          " Returns bytes, or writes into buf and returns the length."             \
    }
PyMethodDef mode_functions[] = {
    ENTRY(aes_ctr, "nonce", "CTR with a counter block of 16 bytes: encrypts and decrypts."),
    ENTRY(aes_cbc_encrypt, "iv", "CBC of whole blocks, without padding."),
    ENTRY(aes_cbc_decrypt, "iv", "CBC of whole blocks, without padding."),
    ENTRY(aes_xts_encrypt, "tweak", "XTS of one data unit, with a key of 32 or 64 bytes."),
    ENTRY(aes_xts_decrypt, "tweak", "XTS of one data unit, with a key of 32 or 64 bytes."),
    {0},
};
