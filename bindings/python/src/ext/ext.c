/* SPDX-License-Identifier: BSD-2-Clause */
/* The extension module tenrounds._ext: arguments, results, exceptions. */
#include "ext.h"

#include <string.h>

/* Puts the value of a keyword into its slot. */
static int read_keyword(const char *const *names, int total, PyObject *keyword, PyObject *value,
                        PyObject **slots)
{
    for (int i = 0; i < total; i++) {
        if (PyUnicode_CompareWithASCIIString(keyword, names[1 + i]) != 0)
            continue;
        if (slots[i]) {
            PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%s'", names[0],
                         names[1 + i]);
            return -1;
        }
        slots[i] = value;
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", names[0],
                 keyword);
    return -1;
}

int read_arguments(const char *const *names, int total, int optional, PyObject *const *args,
                   Py_ssize_t count, PyObject *keywords, PyObject **slots)
{
    if (count > total) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %d arguments (%zd given)", names[0],
                     total, count);
        return -1;
    }
    for (Py_ssize_t i = 0; i < total; i++)
        slots[i] = i < count ? args[i] : NULL;
    for (Py_ssize_t i = 0; keywords && i < PyTuple_Size(keywords); i++)
        if (read_keyword(names, total, PyTuple_GetItem(keywords, i), args[count + i], slots) < 0)
            return -1;
    for (int i = 0; i < total - optional; i++)
        if (!slots[i]) {
            PyErr_Format(PyExc_TypeError, "%s() missing argument '%s'", names[0], names[1 + i]);
            return -1;
        }
    return 0;
}

int output_open(struct output *output, PyObject *buffer, size_t len)
{
    output->bytes = NULL;
    output->view.obj = NULL;
    output->len = len;
    if (!buffer) {
        output->bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)len);
        if (!output->bytes)
            return -1;
        output->data = (uint8_t *)PyBytes_AsString(output->bytes);
        return 0;
    }
    if (PyObject_GetBuffer(buffer, &output->view, PyBUF_WRITABLE) < 0) {
        if (PyErr_ExceptionMatches(PyExc_BufferError)) /* as in cryptography */
            PyErr_SetString(PyExc_TypeError, "Buffer is not writable.");
        return -1;
    }
    if ((size_t)output->view.len != len) {
        PyErr_Format(PyExc_ValueError, "buffer must be %zu bytes", len);
        PyBuffer_Release(&output->view);
        return -1;
    }
    static uint8_t nothing[16];
    output->data = output->view.buf ? output->view.buf : nothing;
    return 0;
}

PyObject *output_close(struct output *output, int failed)
{
    PyObject *bytes = output->bytes;

    if (!bytes)
        PyBuffer_Release(&output->view);
    if (failed) {
        Py_XDECREF(bytes);
        return NULL;
    }
    return bytes ? bytes : PyLong_FromSize_t(output->len);
}

int read_size(PyObject *object, size_t *size)
{
    PyObject *number = PyNumber_Index(object);

    if (!number)
        return -1;
    *size = PyLong_AsSize_t(number);
    Py_DECREF(number);
    return PyErr_Occurred() ? -1 : 0;
}

int too_long(size_t len)
{
    if (len <= MOST_BYTES)
        return 0;
    PyErr_SetString(PyExc_OverflowError, "Data or associated data too long. Max 2**31 - 1 bytes");
    return 1;
}

PyObject *raise_invalid_tag(Py_ssize_t message)
{
    PyObject *module = PyImport_ImportModule("tenrounds.exceptions");
    PyObject *exception = NULL;

    if (module && message < 0)
        exception = PyObject_CallMethod(module, "invalid_tag", NULL);
    else if (module)
        exception = PyObject_CallMethod(module, "invalid_tag", "n", message);
    if (exception)
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_XDECREF(exception);
    Py_XDECREF(module);
    return NULL;
}

PyObject *raise_status(enum tr_status status)
{
    if (status == TR_ERR_TAG)
        return raise_invalid_tag(-1);
    PyErr_Format(status == TR_ERR_SELF_TEST ? PyExc_RuntimeError : PyExc_ValueError, "%s",
                 tr_strerror(status));
    return NULL;
}

static PyObject *backend(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyUnicode_FromString(tr_backend_name(tr_backend_selected()));
}

static PyMethodDef functions[] = {
    {"backend", backend, METH_NOARGS,
     "backend($module, /)\n--\n\nThe AES code that this processor uses."},
    {0},
};

/* Runs the known-answer tests here, so that no call is slowed by them. */
static int execute(PyObject *module)
{
    (void)tr_backend_selected();
    if (PyModule_AddStringConstant(module, "__version__", tr_version()) < 0 ||
        PyModule_AddFunctions(module, mode_functions) < 0)
        return -1;
    return add_classes(module);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)execute},
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "tenrounds._ext",
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__ext(void)
{
    return PyModuleDef_Init(&definition);
}
