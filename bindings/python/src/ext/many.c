/* SPDX-License-Identifier: BSD-2-Clause */
/* Many messages in one call: as sequences of objects, or packed into buffers. */
#include "aead.h"

#include <string.h>

enum { CHUNK = 64 }; /* messages of one call of the core: enough to fill its multi-buffer code */

/* The index of the first message of these whose tag does not match. */
static size_t first_failed(const struct tr_gcm_job *jobs)
{
    size_t i = 0;

    while (jobs[i].status == TR_OK)
        i++;
    return i;
}

/* ---- Sequences ------------------------------------------------------------------------------ */

/* One kind of input of all messages. */
struct column {
    PyObject *items;     /* a tuple with an object for each message, or NULL */
    struct input shared; /* without items: one buffer for all messages */
    size_t step;         /* of it, each message has these bytes; if 0, all */
};

struct batch {
    const struct aead *self;
    int decrypt;
    Py_ssize_t count;
    struct column nonces, data, aad;
    PyObject *results; /* a list */
};

static int column_open(struct column *column, PyObject *object, int shareable)
{
    int whole = !object || object == Py_None || PyObject_CheckBuffer(object);

    column->items = NULL;
    column->step = 0;
    column->shared.view.obj = NULL;
    if (whole && !shareable) {
        PyErr_SetString(PyExc_TypeError, "data must be a sequence of bytes-like objects");
        return -1;
    }
    if (whole)
        return input_open_optional(&column->shared, object);
    column->items = PySequence_Tuple(object); /* no thread can change a tuple */
    return column->items ? 0 : -1;
}

static void column_close(struct column *column)
{
    input_close(&column->shared);
    Py_XDECREF(column->items);
}

/* Opens a message's part of a column. */
static int column_get(const struct column *column, Py_ssize_t message, struct input *input)
{
    if (column->items)
        return input_open(input, PyTuple_GetItem(column->items, message));
    input->view.obj = NULL;
    input->data = column->shared.data + (size_t)message * column->step;
    input->len = column->step ? column->step : column->shared.len;
    return 0;
}

static int lengths_agree(struct batch *batch)
{
    size_t count = (size_t)batch->count, nonces = batch->nonces.shared.len;

    if ((batch->nonces.items && PyTuple_Size(batch->nonces.items) != batch->count) ||
        (batch->aad.items && PyTuple_Size(batch->aad.items) != batch->count) ||
        (!batch->nonces.items && (count ? nonces % count : nonces) != 0)) {
        PyErr_SetString(PyExc_ValueError, "nonces, data and associated_data differ in length");
        return -1;
    }
    if (batch->nonces.items || count == 0)
        return 0;
    batch->nonces.step = nonces / count;
    return check_nonce(batch->self->mode, batch->nonces.step);
}

/* Opens one message, makes its result, and describes both in a job. */
static int batch_job(struct batch *batch, Py_ssize_t message, struct input inputs[3],
                     struct tr_gcm_job *job)
{
    size_t tag_len = batch->self->tag_len;
    const struct mode *mode = batch->self->mode;

    inputs[1].view.obj = inputs[2].view.obj = NULL;
    if (column_get(&batch->nonces, message, &inputs[0]) < 0)
        return -1;
    if (column_get(&batch->data, message, &inputs[1]) < 0 ||
        column_get(&batch->aad, message, &inputs[2]) < 0 || too_long(inputs[2].len) ||
        check_nonce(mode, inputs[0].len) < 0)
        return -1;
    size_t len = inputs[1].len;
    if (batch->decrypt && len < tag_len) {
        raise_invalid_tag(message);
        return -1;
    }
    len -= batch->decrypt ? tag_len : 0;
    if (check_len(mode, inputs[0].len, len) < 0)
        return -1;
    PyObject *bytes =
        PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(batch->decrypt ? len : len + tag_len));
    if (!bytes || PyList_SetItem(batch->results, message, bytes) < 0) /* takes the reference */
        return -1;
    uint8_t *out = (uint8_t *)PyBytes_AsString(bytes);
    *job = (struct tr_gcm_job){
        .iv = inputs[0].data,
        .iv_len = inputs[0].len,
        .aad = inputs[2].data,
        .aad_len = inputs[2].len,
        .out = out,
        .in = inputs[1].data,
        .len = len,
        .tag = batch->decrypt ? (uint8_t *)inputs[1].data + len : out + len,
        .tag_len = tag_len,
    };
    return 0;
}

/* Processes the messages from `begin` on, at most CHUNK. */
static int batch_chunk(struct batch *batch, Py_ssize_t begin)
{
    struct tr_gcm_job jobs[CHUNK];
    struct input inputs[CHUNK][3];
    Py_ssize_t count = batch->count - begin < CHUNK ? batch->count - begin : CHUNK, opened = 0;
    size_t bytes = 0;
    int result = 0;
    enum tr_status status = TR_OK;
    many_fn *call = batch->decrypt ? batch->self->mode->open_many : batch->self->mode->seal_many;

    for (; opened < count && result == 0; opened++) {
        result = batch_job(batch, begin + opened, inputs[opened], &jobs[opened]);
        bytes += result == 0 ? jobs[opened].len + jobs[opened].aad_len : 0;
    }
    if (result == 0) {
        UNLOCKED_BEGIN(bytes)
        status = call(&batch->self->key, jobs, (size_t)count);
        UNLOCKED_END
    }
    for (Py_ssize_t i = 0; i < opened; i++)
        for (int kind = 0; kind < 3; kind++)
            input_close(&inputs[i][kind]);
    if (status == TR_ERR_TAG)
        raise_invalid_tag(begin + (Py_ssize_t)first_failed(jobs));
    else if (status != TR_OK)
        raise_status(status);
    return status == TR_OK ? result : -1;
}

static void batch_run(struct batch *batch)
{
    int result = -1;

    batch->count = PyTuple_Size(batch->data.items);
    if (lengths_agree(batch) < 0)
        return;
    batch->results = PyList_New(batch->count);
    if (!batch->results)
        return;
    /* While items are NULL, no thread may find the list with gc.get_objects(). */
    PyObject_GC_UnTrack(batch->results);
    result = 0;
    for (Py_ssize_t i = 0; i < batch->count && result == 0; i += CHUNK)
        result = batch_chunk(batch, i);
    PyObject_GC_Track(batch->results);
    if (result < 0)
        Py_CLEAR(batch->results);
}

static PyObject *batch_call(PyObject *self, const char *name, PyObject *const *args,
                            Py_ssize_t count, PyObject *keywords, int decrypt)
{
    const char *const names[] = {name, "nonces", "data", "associated_data"};
    PyObject *slots[3];
    struct batch batch = {.self = (const struct aead *)self, .decrypt = decrypt};

    if (read_arguments(names, 3, 1, args, count, keywords, slots) < 0)
        return NULL;
    if (column_open(&batch.nonces, slots[0], 1) == 0 &&
        column_open(&batch.data, slots[1], 0) == 0 && column_open(&batch.aad, slots[2], 1) == 0)
        batch_run(&batch);
    column_close(&batch.nonces);
    column_close(&batch.data);
    column_close(&batch.aad);
    return batch.results;
}

PyObject *encrypt_many(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    return batch_call(self, "encrypt_many", args, count, keywords, 0);
}
PyObject *decrypt_many(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    return batch_call(self, "decrypt_many", args, count, keywords, 1);
}

/* ---- Packed buffers ------------------------------------------------------------------------- */

enum { NONCE = 12 }; /* the length of all nonces of a packed buffer */

struct packed {
    const struct aead *self;
    int decrypt;
    size_t count;
    struct input nonces, data, offsets, aad;
    size_t record; /* without offsets: the length of each message */
    size_t width;  /* bytes of an offset: 4 or 8; 0: no offsets */
    uint8_t *out;
    size_t out_len;
};

/* Where message `i` begins. Another thread may change offsets, so each is read once. */
static size_t packed_begin(const struct packed *p, size_t i)
{
    uint32_t small;
    uint64_t large;

    if (p->width == 0)
        return i * p->record;
    if (p->width == 8) {
        memcpy(&large, p->offsets.data + 8 * i, sizeof large);
        return large;
    }
    memcpy(&small, p->offsets.data + 4 * i, sizeof small);
    return small;
}

/* Describes message i in a job, and advances *begin and *written past it. */
static enum tr_status packed_job(const struct packed *p, size_t i, size_t *begin, size_t *written,
                                 struct tr_gcm_job *job)
{
    size_t end = packed_begin(p, i + 1), len = end - *begin, tag_len = p->self->tag_len;

    if (end < *begin || end > p->data.len || (p->decrypt && len < tag_len))
        return TR_ERR_LENGTH;
    size_t out_len = p->decrypt ? len - tag_len : len + tag_len;
    if (out_len > p->out_len - *written)
        return TR_ERR_LENGTH;
    const uint8_t *in = p->data.data + *begin;
    uint8_t *out = p->out + *written;
    len = p->decrypt ? out_len : len;
    *job = (struct tr_gcm_job){
        .iv = p->nonces.data + NONCE * i,
        .iv_len = NONCE,
        .aad = p->aad.data,
        .aad_len = p->aad.len,
        .out = out,
        .in = in,
        .len = len,
        .tag = p->decrypt ? (uint8_t *)in + len : out + len,
        .tag_len = tag_len,
    };
    *begin = end;
    *written += out_len;
    return TR_OK;
}

/* Processes all messages, without the GIL. On tag mismatch, *failed is the first such message, and
 * the others are processed, too. */
static enum tr_status packed_run(const struct packed *p, size_t *failed)
{
    struct tr_gcm_job jobs[CHUNK];
    size_t begin = packed_begin(p, 0), written = 0;
    many_fn *call = p->decrypt ? p->self->mode->open_many : p->self->mode->seal_many;
    enum tr_status result = TR_OK;

    for (size_t first = 0, count; first < p->count; first += count) {
        count = p->count - first < CHUNK ? p->count - first : CHUNK;
        for (size_t i = 0; i < count; i++) {
            enum tr_status status = packed_job(p, first + i, &begin, &written, &jobs[i]);
            if (status != TR_OK)
                return status;
        }
        enum tr_status status = call(&p->self->key, jobs, count);
        if (status != TR_OK && status != TR_ERR_TAG)
            return status;
        if (status == TR_ERR_TAG && result == TR_OK)
            *failed = first + first_failed(jobs);
        result = status == TR_OK ? result : status;
    }
    return result;
}

/* Reads the argument `sizes`: the length of each message, or the offsets of count + 1 borders. An
 * array has no integer value, and numpy.int64 has one besides its buffer. */
static int packed_sizes(struct packed *p, PyObject *sizes)
{
    int is_number = read_size(sizes, &p->record) == 0;

    if (!is_number && !(PyErr_ExceptionMatches(PyExc_TypeError) && PyObject_CheckBuffer(sizes)))
        return -1;
    PyErr_Clear();
    if (is_number) {
        if (p->count ? p->data.len % p->count == 0 && p->data.len / p->count == p->record
                     : p->data.len == 0)
            return 0;
        PyErr_SetString(PyExc_ValueError, "data must have sizes bytes for each nonce");
        return -1;
    }
    if (input_open(&p->offsets, sizes) < 0)
        return -1;
    p->width = p->offsets.len / (p->count + 1);
    if ((p->width == 4 || p->width == 8) && p->offsets.len == p->width * (p->count + 1))
        return 0;
    PyErr_SetString(PyExc_ValueError,
                    "sizes must be offsets of 4 or 8 bytes, one more than nonces");
    return -1;
}

/* Returns the length of the output, or SIZE_MAX with an exception. */
static size_t packed_out_len(const struct packed *p)
{
    size_t begin = packed_begin(p, 0), end = packed_begin(p, p->count);
    size_t tags = p->count * p->self->tag_len;

    if (begin <= end && end <= p->data.len && (!p->decrypt || tags <= end - begin))
        return p->decrypt ? end - begin - tags : end - begin + tags;
    PyErr_SetString(PyExc_ValueError, "data is shorter than sizes say");
    return SIZE_MAX;
}

static int packed_check(struct packed *p, PyObject *sizes)
{
    if (p->nonces.len % NONCE != 0) {
        PyErr_SetString(PyExc_ValueError, "nonces must have 12 bytes each");
        return -1;
    }
    p->count = p->nonces.len / NONCE;
    if (too_long(p->aad.len) || packed_sizes(p, sizes) < 0)
        return -1;
    p->out_len = packed_out_len(p);
    return p->out_len == SIZE_MAX ? -1 : 0;
}

static PyObject *packed_process(struct packed *p, PyObject *buffer)
{
    struct output output;
    size_t failed = SIZE_MAX;
    enum tr_status status = TR_ERR_OVERLAP;

    if (output_open(&output, buffer, p->out_len) < 0)
        return NULL;
    p->out = output.data;
    uintptr_t out = (uintptr_t)p->out, in = (uintptr_t)p->data.data;
    if (out >= in + p->data.len || in >= out + p->out_len) {
        UNLOCKED_BEGIN(p->data.len)
        status = packed_run(p, &failed);
        UNLOCKED_END
    }
    if (status == TR_ERR_TAG)
        raise_invalid_tag((Py_ssize_t)failed);
    else if (status != TR_OK)
        raise_status(status);
    return output_close(&output, status != TR_OK);
}

static PyObject *packed_call(PyObject *self, const char *name, PyObject *const *args,
                             Py_ssize_t count, PyObject *keywords, int decrypt)
{
    const char *const names[] = {name, "nonces", "data", "sizes", "associated_data", "buf"};
    PyObject *slots[5], *result = NULL;
    struct packed p = {.self = (const struct aead *)self, .decrypt = decrypt};

    if (read_arguments(names, 5, 0, args, count, keywords, slots) < 0)
        return NULL;
    if (input_open(&p.nonces, slots[0]) == 0 && input_open(&p.data, slots[1]) == 0 &&
        input_open_optional(&p.aad, slots[3]) == 0 && packed_check(&p, slots[2]) == 0)
        result = packed_process(&p, slots[4]);
    input_close(&p.nonces);
    input_close(&p.data);
    input_close(&p.offsets);
    input_close(&p.aad);
    return result;
}

PyObject *encrypt_many_into(PyObject *self, PyObject *const *args, Py_ssize_t count,
                            PyObject *keywords)
{
    return packed_call(self, "encrypt_many_into", args, count, keywords, 0);
}
PyObject *decrypt_many_into(PyObject *self, PyObject *const *args, Py_ssize_t count,
                            PyObject *keywords)
{
    return packed_call(self, "decrypt_many_into", args, count, keywords, 1);
}
