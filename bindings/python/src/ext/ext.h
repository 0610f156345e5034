/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the extension module share. */
#ifndef EXT_H
#define EXT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "tenrounds.h"

/* From this many bytes on, a call releases the GIL. A release and its reacquisition take 40 ns
 * (Zen 4, Python 3.13): 4 % of the time of 16 KiB of AES-GCM. */
#ifndef RELEASE_GIL_FROM
#    define RELEASE_GIL_FROM 16384
#endif

/* cryptography's limit for data and associated data. */
#define MOST_BYTES 0x7fffffff

/* Starts and ends a block that may run without the GIL. */
#define UNLOCKED_BEGIN(len)                                                                        \
    {                                                                                              \
        PyThreadState *unlocked = (len) >= RELEASE_GIL_FROM ? PyEval_SaveThread() : NULL;
#define UNLOCKED_END                                                                               \
    if (unlocked)                                                                                  \
        PyEval_RestoreThread(unlocked);                                                            \
    }

/* Bytes of an argument. The owner of the argument keeps them until input_close(). */
struct input {
    const uint8_t *data; /* never NULL */
    size_t len;
    Py_buffer view; /* view.obj is NULL if there is nothing to release */
};

/* Opens an object of the buffer protocol; an object of type bytes takes the short way. */
static inline int input_open(struct input *input, PyObject *object)
{
    static const uint8_t nothing[16];

    input->view.obj = NULL;
    if (PyBytes_CheckExact(object)) {
        input->data = (const uint8_t *)PyBytes_AsString(object);
        input->len = (size_t)PyBytes_Size(object);
        return 0;
    }
    if (PyObject_GetBuffer(object, &input->view, PyBUF_SIMPLE) < 0) {
        input->view.obj = NULL;
        return -1;
    }
    input->data = input->view.buf ? input->view.buf : nothing;
    input->len = (size_t)input->view.len;
    return 0;
}

/* The same for associated data, which may be None. */
static inline int input_open_optional(struct input *input, PyObject *object)
{
    static const uint8_t nothing[16];

    if (object && object != Py_None)
        return input_open(input, object);
    *input = (struct input){.data = nothing};
    return 0;
}

static inline void input_close(struct input *input)
{
    if (input->view.obj)
        PyBuffer_Release(&input->view);
}

/* Output: a new object of type bytes, or a buffer of the caller. */
struct output {
    uint8_t *data;
    size_t len;
    PyObject *bytes; /* NULL for a buffer of the caller */
    Py_buffer view;
};

/* With `buffer` NULL makes an object of type bytes. Otherwise the buffer must have this length. */
int output_open(struct output *output, PyObject *buffer, size_t len);

/* Releases the output. Returns what the method returns: the object, or the number of bytes. With
 * `failed`, returns NULL. */
PyObject *output_close(struct output *output, int failed);

/* Fills slots[0] to slots[total - 1] from the arguments of a call. The last `optional` slots may
 * stay NULL. `names` begins with the function's name. */
int read_arguments(const char *const *names, int total, int optional, PyObject *const *args,
                   Py_ssize_t count, PyObject *keywords, PyObject **slots);

/* Reads an integer, or an object that can be one, such as numpy.int64. */
int read_size(PyObject *object, size_t *size);

int too_long(size_t len); /* raises OverflowError if so */

/* Raise the exception of a status, and return NULL. */
PyObject *raise_status(enum tr_status status);
PyObject *raise_invalid_tag(Py_ssize_t message); /* message: its index, or -1 */

/* The five classes, and the functions of modes.c. */
int add_classes(PyObject *module);
extern PyMethodDef mode_functions[];

#endif
