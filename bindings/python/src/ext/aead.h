/* SPDX-License-Identifier: BSD-2-Clause */
/* The authenticated modes, and the objects that hold their keys. */
#ifndef EXT_AEAD_H
#define EXT_AEAD_H

#include "ext.h"

/* One-shot calls of the core, with one type for all modes. A SIV call has no nonce. */
typedef enum tr_status seal_fn(const void *key, const uint8_t *nonce, size_t nonce_len,
                               const uint8_t *aad, size_t aad_len, uint8_t *out, const uint8_t *in,
                               size_t len, uint8_t *tag, size_t tag_len);
typedef enum tr_status open_fn(const void *key, const uint8_t *nonce, size_t nonce_len,
                               const uint8_t *aad, size_t aad_len, uint8_t *out, const uint8_t *in,
                               size_t len, const uint8_t *tag, size_t tag_len);
/* Many messages of one key. The jobs lack the key, and may be of any mode. */
typedef enum tr_status many_fn(const void *key, struct tr_gcm_job *jobs, size_t count);

struct mode {
    const char *name;
    const char *key_error;  /* the text of the exception for a key of a wrong length */
    const char *bits_error; /* the same for generate_key() */
    unsigned key_unit;      /* a key has 2, 3 or 4 times as many bytes */
    unsigned nonce_min, nonce_max;
    const char *nonce_error;
    enum tr_status (*set_key)(void *key, const uint8_t *raw, size_t len);
    seal_fn *seal;
    open_fn *open;
    many_fn *seal_many, *open_many;
};

/* An object of one of the classes. It does not change after its construction, so that threads may
 * share it. */
struct aead {
    PyObject_HEAD const struct mode *mode;
    size_t tag_len;
    union {
        struct tr_gcm_key gcm;
        struct tr_gcm_siv_key gcm_siv;
        struct tr_ccm_key ccm;
        struct tr_ocb_key ocb;
        struct tr_siv_key siv;
    } key;
};

extern const struct mode mode_gcm, mode_gcm_siv, mode_ccm, mode_ocb, mode_siv;

/* What all calls with a nonce check. Both raise an exception, and return -1. */
int check_nonce(const struct mode *mode, size_t nonce_len);
int check_len(const struct mode *mode, size_t nonce_len, size_t len);

/* many.c */
PyObject *encrypt_many(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords);
PyObject *decrypt_many(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords);
PyObject *encrypt_many_into(PyObject *self, PyObject *const *args, Py_ssize_t count,
                            PyObject *keywords);
PyObject *decrypt_many_into(PyObject *self, PyObject *const *args, Py_ssize_t count,
                            PyObject *keywords);

#endif
