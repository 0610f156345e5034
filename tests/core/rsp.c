/* SPDX-License-Identifier: BSD-2-Clause */
#include "rsp.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct rsp_file *file;
    struct rsp_record *open; /* the record being read; NULL between records */
    unsigned line;
    bool in_part, decrypt, bits;
    unsigned next_count;
};

static const char *const field_names[RSP_FIELDS] = {"KEY", "IV", "PLAINTEXT", "CIPHERTEXT",
                                                    "SCHEDULE"};

__attribute__((format(printf, 2, 3))) static bool wrong(struct reader *r, const char *format, ...)
{
    char *error = r->file->error;
    const size_t room = sizeof(r->file->error);
    const size_t used = (size_t)snprintf(error, room, "line %u: ", r->line);
    va_list ap;
    va_start(ap, format);
    vsnprintf(error + used, room - used, format, ap);
    va_end(ap);
    return false;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20; /* lower case */
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool hex(struct reader *r, const char *text, struct rsp_bytes *out)
{
    const size_t digits = strlen(text);
    if (digits == 0 || digits % 2 != 0 || digits / 2 > RSP_MAX_BYTES)
        return wrong(r, "%zu hexadecimal digits: none, odd or too many", digits);
    for (size_t i = 0; i < digits / 2; i++) {
        const int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return wrong(r, "not hexadecimal: %.20s", text + 2 * i);
        out->data[i] = (uint8_t)(high << 4 | low);
    }
    out->len = digits / 2;
    return true;
}

static bool binary(struct reader *r, const char *text, struct rsp_bytes *out)
{
    const size_t digits = strlen(text);
    if (digits == 0 || digits != strspn(text, "01") || digits > 8 * RSP_MAX_BYTES)
        return wrong(r, "not bits, or too many: %.20s", text);
    for (size_t i = 0; i < digits; i++)
        out->data[i / 8] |= (uint8_t)((text[i] - '0') << (7 - i % 8));
    out->len = digits;
    return true;
}

static bool begin_record(struct reader *r, const char *value)
{
    char *end;
    const unsigned long count = strtoul(value, &end, 10);
    if (!r->in_part)
        return wrong(r, "a record outside [ENCRYPT] and [DECRYPT]");
    if (*value < '0' || *value > '9' || *end != '\0' || count != r->next_count)
        return wrong(r, "COUNT is \"%.20s\", expected %u", value, r->next_count);
    struct rsp_file *f = r->file;
    void *grown = realloc(f->records, (f->n + 1) * sizeof(*f->records));
    if (grown == NULL)
        return wrong(r, "out of memory");
    f->records = grown;
    r->open = memset(&f->records[f->n++], 0, sizeof(*f->records));
    r->open->decrypt = r->decrypt;
    r->open->count = r->next_count++;
    r->open->line = r->line;
    return true;
}

static bool end_record(struct reader *r)
{
    const struct rsp_bytes *f = r->open == NULL ? NULL : r->open->field;
    r->open = NULL;
    if (f == NULL)
        return true;
    if (f[RSP_KEY].len == 0)
        return wrong(r, "a record without KEY ends here");
    if (f[RSP_SCHEDULE].len == 0 && f[RSP_PLAINTEXT].len == 0)
        return wrong(r, "a record without PLAINTEXT ends here");
    if (f[RSP_PLAINTEXT].len != f[RSP_CIPHERTEXT].len)
        return wrong(r, "PLAINTEXT and CIPHERTEXT differ in length");
    return true;
}

static bool field(struct reader *r, const char *name, const char *value)
{
    if (strcmp(name, "COUNT") == 0)
        return r->open != NULL ? wrong(r, "COUNT inside a record") : begin_record(r, value);
    for (int i = 0; i < RSP_FIELDS; i++) {
        if (strcmp(name, field_names[i]) != 0)
            continue;
        if (r->open == NULL)
            return wrong(r, "%s outside a record", name);
        if (r->open->field[i].len != 0)
            return wrong(r, "a second %s in this record", name);
        const bool bits = r->bits && (i == RSP_PLAINTEXT || i == RSP_CIPHERTEXT);
        return (bits ? binary : hex)(r, value, &r->open->field[i]);
    }
    return wrong(r, "unknown name %.20s", name);
}

static bool part(struct reader *r, bool decrypt)
{
    if (r->open != NULL)
        return wrong(r, "a part begins inside a record");
    r->in_part = true;
    r->decrypt = decrypt;
    r->next_count = 0;
    return true;
}

static bool one_line(struct reader *r, char *line)
{
    if (*line == '#')
        return true;
    if (*line == '\0')
        return end_record(r);
    if (strcmp(line, "[ENCRYPT]") == 0 || strcmp(line, "[DECRYPT]") == 0)
        return part(r, line[1] == 'D');
    char *equals = strstr(line, " = ");
    if (equals == NULL)
        return wrong(r, "neither NAME = VALUE nor a part: %.40s", line);
    *equals = '\0';
    return field(r, line, equals + 3);
}

bool rsp_read(FILE *in, struct rsp_file *file, bool bits)
{
    struct reader r = {.file = file, .bits = bits};
    char line[2 * RSP_MAX_BYTES + 64];
    *file = (struct rsp_file){0};
    while (fgets(line, sizeof(line), in) != NULL) {
        r.line++;
        const size_t len = strcspn(line, "\n");
        if (line[len] != '\n')
            return wrong(&r, feof(in) ? "the last line has no newline" : "the line is too long");
        line[len] = '\0';
        if (!one_line(&r, line))
            return false;
    }
    return ferror(in) ? wrong(&r, "the file cannot be read") : end_record(&r);
}

void rsp_free(struct rsp_file *file)
{
    free(file->records);
    *file = (struct rsp_file){0};
}
