/* SPDX-License-Identifier: BSD-2-Clause */
/* The classes AESGCM, AESGCMSIV, AESCCM, AESOCB3 and AESSIV, with the checks of cryptography. */
#include "aead.h"

#include <stddef.h>

int check_nonce(const struct mode *mode, size_t nonce_len)
{
    if (nonce_len >= mode->nonce_min && nonce_len <= mode->nonce_max)
        return 0;
    PyErr_SetString(PyExc_ValueError, mode->nonce_error);
    return -1;
}

/* CCM has 15 - nonce_len bytes for the length of the data. */
int check_len(const struct mode *mode, size_t nonce_len, size_t len)
{
    if (too_long(len))
        return -1;
    if (mode != &mode_ccm || nonce_len < 12 || len >> (8 * (15 - nonce_len)) == 0)
        return 0;
    PyErr_SetString(PyExc_ValueError, "Data too long for nonce");
    return -1;
}

/* ---- Calls with a nonce --------------------------------------------------------------------- */

struct message {
    struct input nonce, data, aad;
};

static void message_close(struct message *message)
{
    input_close(&message->nonce);
    input_close(&message->data);
    input_close(&message->aad);
}

static int message_open(struct message *message, PyObject *const *slots)
{
    message->data.view.obj = message->aad.view.obj = NULL;
    if (input_open(&message->nonce, slots[0]) == 0 && input_open(&message->data, slots[1]) == 0 &&
        input_open_optional(&message->aad, slots[2]) == 0)
        return 0;
    message_close(message);
    return -1;
}

static int message_check(const struct aead *self, const struct message *message, int decrypt)
{
    size_t len = message->data.len;

    if (check_nonce(self->mode, message->nonce.len) < 0 || too_long(message->aad.len))
        return -1;
    if (decrypt && len < self->tag_len) {
        raise_invalid_tag(-1);
        return -1;
    }
    return check_len(self->mode, message->nonce.len, decrypt ? len - self->tag_len : len);
}

/* The output is data and tag for encryption, data for decryption. */
static PyObject *message_process(const struct aead *self, const struct message *m, PyObject *buffer,
                                 int decrypt)
{
    size_t len = decrypt ? m->data.len - self->tag_len : m->data.len;
    struct output output;
    enum tr_status status;

    if (output_open(&output, buffer, decrypt ? len : len + self->tag_len) < 0)
        return NULL;
    UNLOCKED_BEGIN(len + m->aad.len)
    if (decrypt)
        status =
            self->mode->open(&self->key, m->nonce.data, m->nonce.len, m->aad.data, m->aad.len,
                             output.data, m->data.data, len, m->data.data + len, self->tag_len);
    else
        status = self->mode->seal(&self->key, m->nonce.data, m->nonce.len, m->aad.data, m->aad.len,
                                  output.data, m->data.data, len, output.data + len, self->tag_len);
    UNLOCKED_END
    if (status != TR_OK)
        raise_status(status);
    return output_close(&output, status != TR_OK);
}

static inline PyObject *message_call(PyObject *object, const char *const *names, int total,
                                     PyObject *const *args, Py_ssize_t count, PyObject *keywords,
                                     int decrypt)
{
    const struct aead *self = (const struct aead *)object;
    PyObject *slots[4], *result = NULL;
    struct message message;

    slots[3] = NULL;
    if (read_arguments(names, total, 0, args, count, keywords, slots) < 0 ||
        message_open(&message, slots) < 0)
        return NULL;
    if (message_check(self, &message, decrypt) == 0)
        result = message_process(self, &message, slots[3], decrypt);
    message_close(&message);
    return result;
}

#define MESSAGE_METHOD(name, total, decrypt, ...)                                                  \
    static PyObject *name(PyObject *self, PyObject *const *args, Py_ssize_t count,                 \
                          PyObject *keywords)                                                      \
    {                                                                                              \
        static const char *const names[] = {#name, __VA_ARGS__};                                   \
        return message_call(self, names, total, args, count, keywords, decrypt);                   \
    }
MESSAGE_METHOD(encrypt, 3, 0, "nonce", "data", "associated_data")
MESSAGE_METHOD(decrypt, 3, 1, "nonce", "data", "associated_data")
MESSAGE_METHOD(encrypt_into, 4, 0, "nonce", "data", "associated_data", "buf")
MESSAGE_METHOD(decrypt_into, 4, 1, "nonce", "data", "associated_data", "buf")

/* ---- Calls of SIV --------------------------------------------------------------------------- */

/* Adds the components of associated data, a list or None, to a message. */
static int siv_components(struct tr_siv *siv, PyObject *list)
{
    enum tr_status status = TR_OK;

    if (list == Py_None)
        return 0;
    if (!PyList_Check(list) && !PyTuple_Check(list)) {
        PyErr_SetString(PyExc_TypeError, "associated_data must be a list of bytes-like objects");
        return -1;
    }
    PyObject *items = PySequence_Tuple(list);
    for (Py_ssize_t i = 0; items && i < PyTuple_Size(items) && status == TR_OK; i++) {
        struct input item;
        int failed = input_open(&item, PyTuple_GetItem(items, i)) < 0 || too_long(item.len);
        if (!failed)
            status = tr_siv_aad(siv, item.data, item.len);
        input_close(&item);
        if (failed)
            Py_CLEAR(items);
    }
    if (!items)
        return -1;
    Py_DECREF(items);
    if (status != TR_OK)
        raise_status(status);
    return status == TR_OK ? 0 : -1;
}

/* The tag comes first. */
static PyObject *siv_process(struct tr_siv *siv, const struct input *data, PyObject *buffer,
                             int decrypt)
{
    size_t len = decrypt ? data->len - 16 : data->len;
    struct output output;
    enum tr_status status;

    if (output_open(&output, buffer, decrypt ? len : len + 16) < 0)
        return NULL;
    UNLOCKED_BEGIN(len)
    if (decrypt)
        status = tr_siv_decrypt(siv, output.data, data->data + 16, len, data->data);
    else
        status = tr_siv_encrypt(siv, output.data + 16, data->data, len, output.data);
    UNLOCKED_END
    if (status != TR_OK)
        raise_status(status);
    return output_close(&output, status != TR_OK);
}

static PyObject *siv_call(PyObject *object, const char *const *names, int total,
                          PyObject *const *args, Py_ssize_t count, PyObject *keywords, int decrypt)
{
    const struct aead *self = (const struct aead *)object;
    PyObject *slots[3], *result = NULL;
    struct input data;
    struct tr_siv siv;

    slots[2] = NULL;
    if (read_arguments(names, total, 0, args, count, keywords, slots) < 0 ||
        input_open(&data, slots[0]) < 0)
        return NULL;
    enum tr_status status = tr_siv_start(&siv, &self->key.siv);
    if (status != TR_OK)
        raise_status(status);
    else if (siv_components(&siv, slots[1]) == 0 && !too_long(data.len)) {
        if (decrypt && data.len < 16)
            raise_invalid_tag(-1);
        else
            result = siv_process(&siv, &data, slots[2], decrypt);
    }
    tr_cleanse(&siv, sizeof siv);
    input_close(&data);
    return result;
}

#define SIV_METHOD(name, total, decrypt, ...)                                                      \
    static PyObject *siv_##name(PyObject *self, PyObject *const *args, Py_ssize_t count,           \
                                PyObject *keywords)                                                \
    {                                                                                              \
        static const char *const names[] = {#name, __VA_ARGS__};                                   \
        return siv_call(self, names, total, args, count, keywords, decrypt);                       \
    }
SIV_METHOD(encrypt, 2, 0, "data", "associated_data")
SIV_METHOD(decrypt, 2, 1, "data", "associated_data")
SIV_METHOD(encrypt_into, 3, 0, "data", "associated_data", "buf")
SIV_METHOD(decrypt_into, 3, 1, "data", "associated_data", "buf")

/* ---- Classes -------------------------------------------------------------------------------- */

static int is_key_len(const struct mode *mode, size_t len)
{
    return len == 2 * mode->key_unit || len == 3 * mode->key_unit || len == 4 * mode->key_unit;
}

static int set_key(struct aead *self, PyObject *object)
{
    struct input raw;
    enum tr_status status = TR_ERR_KEY_LENGTH;

    if (input_open(&raw, object) < 0)
        return -1;
    if (is_key_len(self->mode, raw.len))
        status = self->mode->set_key(&self->key, raw.data, raw.len);
    input_close(&raw);
    if (status == TR_ERR_KEY_LENGTH)
        PyErr_SetString(PyExc_ValueError, self->mode->key_error);
    else if (status != TR_OK)
        raise_status(status);
    return status == TR_OK ? 0 : -1;
}

/* SP 800-38C allows tags of 4, 6, .. or 16 bytes. */
static int set_tag_len(struct aead *self, PyObject *object)
{
    self->tag_len = 16;
    if (!object || object == Py_None)
        return 0;
    if (read_size(object, &self->tag_len) < 0)
        return -1;
    if (self->tag_len >= 4 && self->tag_len <= 16 && self->tag_len % 2 == 0)
        return 0;
    PyErr_SetString(PyExc_ValueError, "Invalid tag_length");
    return -1;
}

static PyObject *construct(const struct mode *mode, PyTypeObject *type, PyObject *args,
                           PyObject *keywords)
{
    static char *names[] = {"key", NULL}, *ccm_names[] = {"key", "tag_length", NULL};
    PyObject *key, *tag_len = NULL;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, mode == &mode_ccm ? "O|O" : "O",
                                     mode == &mode_ccm ? ccm_names : names, &key, &tag_len))
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct aead *self = (struct aead *)allocate(type, 0);
    if (!self)
        return NULL;
    self->mode = mode;
    if (set_key(self, key) < 0 || set_tag_len(self, tag_len) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static void destroy(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    struct aead *self = (struct aead *)object;

    tr_cleanse(&self->key, sizeof self->key);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static PyObject *generate_key(const struct mode *mode, PyObject *const *args, Py_ssize_t count,
                              PyObject *keywords)
{
    static const char *const names[] = {"generate_key", "bit_length"};
    PyObject *bit_length;

    if (read_arguments(names, 1, 0, args, count, keywords, &bit_length) < 0)
        return NULL;
    size_t bits;
    if (read_size(bit_length, &bits) < 0)
        return NULL;
    if (bits % 8 != 0 || !is_key_len(mode, bits / 8)) {
        PyErr_SetString(PyExc_ValueError, mode->bits_error);
        return NULL;
    }
    PyObject *os = PyImport_ImportModule("os");
    PyObject *key = os ? PyObject_CallMethod(os, "urandom", "n", (Py_ssize_t)(bits / 8)) : NULL;
    Py_XDECREF(os);
    return key;
}

#define CALL_FLAGS (METH_FASTCALL | METH_KEYWORDS)
#define METHOD(name, function, arguments, text)                                                    \
    {                                                                                              \
        name, (PyCFunction)(void (*)(void))function, CALL_FLAGS,                                   \
            name "($self, " arguments ")\n--\n\n" text                                             \
    }
#define TEXT_ENCRYPT "Returns the ciphertext with the tag."
#define TEXT_DECRYPT "Returns the plaintext, or raises InvalidTag."
#define TEXT_INTO    "Writes the result into buf, and returns its length."
#define TEXT_MANY    "Processes a sequence of messages, and returns a list."
#define TEXT_PACKED  "Processes the messages that lie in data one after the other, into buf."

#define NONCE_METHODS                                                                              \
    METHOD("encrypt", encrypt, "nonce, data, associated_data", TEXT_ENCRYPT),                      \
        METHOD("decrypt", decrypt, "nonce, data, associated_data", TEXT_DECRYPT),                  \
        METHOD("encrypt_into", encrypt_into, "nonce, data, associated_data, buf", TEXT_INTO),      \
        METHOD("decrypt_into", decrypt_into, "nonce, data, associated_data, buf", TEXT_INTO),      \
        METHOD("encrypt_many", encrypt_many, "nonces, data, associated_data=None", TEXT_MANY),     \
        METHOD("decrypt_many", decrypt_many, "nonces, data, associated_data=None", TEXT_MANY),     \
        METHOD("encrypt_many_into", encrypt_many_into,                                             \
               "nonces, data, sizes, associated_data, buf", TEXT_PACKED),                          \
        METHOD("decrypt_many_into", decrypt_many_into,                                             \
               "nonces, data, sizes, associated_data, buf", TEXT_PACKED)
#define SIV_METHODS                                                                                \
    METHOD("encrypt", siv_encrypt, "data, associated_data", TEXT_ENCRYPT),                         \
        METHOD("decrypt", siv_decrypt, "data, associated_data", TEXT_DECRYPT),                     \
        METHOD("encrypt_into", siv_encrypt_into, "data, associated_data, buf", TEXT_INTO),         \
        METHOD("decrypt_into", siv_decrypt_into, "data, associated_data, buf", TEXT_INTO)

#define CLASS(mode, class_name, doc, ...)                                                          \
    static PyObject *mode##_new(PyTypeObject *type, PyObject *args, PyObject *keywords)            \
    {                                                                                              \
        return construct(&mode_##mode, type, args, keywords);                                      \
    }                                                                                              \
    static PyObject *mode##_generate_key(PyObject *unused, PyObject *const *args,                  \
                                         Py_ssize_t count, PyObject *keywords)                     \
    {                                                                                              \
        (void)unused;                                                                              \
        return generate_key(&mode_##mode, args, count, keywords);                                  \
    }                                                                                              \
    static PyMethodDef mode##_methods[] = {                                                        \
        {"generate_key", (PyCFunction)(void (*)(void))mode##_generate_key,                         \
         CALL_FLAGS | METH_STATIC, "generate_key(bit_length)\n--\n\nA random key."},               \
        __VA_ARGS__,                                                                               \
        {0},                                                                                       \
    };                                                                                             \
    static PyType_Slot mode##_slots[] = {                                                          \
        {Py_tp_new, (void *)mode##_new},                                                           \
        {Py_tp_dealloc, (void *)destroy},                                                          \
        {Py_tp_methods, mode##_methods},                                                           \
        {Py_tp_doc, doc},                                                                          \
        {0},                                                                                       \
    };                                                                                             \
    static PyType_Spec mode##_spec = {                                                             \
        .name = "tenrounds.aead." class_name,                                                      \
        .basicsize = sizeof(struct aead),                                                          \
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,                                    \
        .slots = mode##_slots,                                                                     \
    };

CLASS(gcm, "AESGCM", "AESGCM(key)\n--\n\nAES-GCM (NIST SP 800-38D).", NONCE_METHODS)
CLASS(gcm_siv, "AESGCMSIV", "AESGCMSIV(key)\n--\n\nAES-GCM-SIV (RFC 8452).", NONCE_METHODS)
CLASS(ccm, "AESCCM", "AESCCM(key, tag_length=16)\n--\n\nAES-CCM (NIST SP 800-38C).", NONCE_METHODS)
CLASS(ocb, "AESOCB3", "AESOCB3(key)\n--\n\nAES-OCB3 (RFC 7253).", NONCE_METHODS)
CLASS(siv, "AESSIV", "AESSIV(key)\n--\n\nAES-SIV (RFC 5297): the tag comes first.", SIV_METHODS)

int add_classes(PyObject *module)
{
    PyType_Spec *const specs[] = {&gcm_spec, &gcm_siv_spec, &ccm_spec, &ocb_spec, &siv_spec};

    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        PyObject *type = PyType_FromModuleAndSpec(module, specs[i], NULL);
        int added = type ? PyModule_AddType(module, (PyTypeObject *)type) : -1;
        Py_XDECREF(type);
        if (added < 0)
            return -1;
    }
    return 0;
}
