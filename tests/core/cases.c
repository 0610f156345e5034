/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases.h"

#include <stdlib.h>
#include <string.h>

#define ERROR_ROOM 160

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool hex(const char *text, struct case_bytes *out)
{
    out->len = 0;
    if (strcmp(text, "-") == 0)
        return true;
    for (; text[0] != '\0'; text += 2) {
        const int high = digit(text[0]), low = high < 0 ? -1 : digit(text[1]);
        if (low < 0 || out->len == CASE_MAX_BYTES)
            return false;
        out->data[out->len++] = (uint8_t)(high << 4 | low);
    }
    return true;
}

static bool parts(char *text, struct test_case *c)
{
    c->parts = 0;
    if (strcmp(text, "none") == 0)
        return true;
    for (char *end; text != NULL; text = end) {
        end = strchr(text, ',');
        if (end != NULL)
            *end++ = '\0';
        if (*text == '\0' || c->parts == CASE_MAX_PARTS || !hex(text, &c->aad[c->parts++]))
            return false;
    }
    return true;
}

static bool verdict(const char *text, enum case_verdict *out)
{
    static const char *const names[] = {"valid", "invalid", "bits"};
    for (int i = 0; i < 3; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = (enum case_verdict)i;
            return true;
        }
    return false;
}

static bool number(const char *text, unsigned *out)
{
    char *end;
    *out = (unsigned)strtoul(text, &end, 10);
    return *text >= '1' && *text <= '9' && *end == '\0';
}

/* Splits a line into its eight words; modifies the line. With `words` 2, splits off only the
 * first two. */
static bool split(char *line, char *word[8], int words)
{
    for (int i = 0; i < words; i++) {
        word[i] = line;
        char *end = line + strcspn(line, i < 7 ? " \n" : "\n");
        if (end == line || *end != (i < 7 ? ' ' : '\n'))
            return false;
        *end = '\0';
        line = end + 1;
    }
    return true;
}

static const char *parse(char *line, struct test_case *c, bool whole)
{
    char *word[8];
    if (!split(line, word, whole ? 8 : 2))
        return "the line does not have eight words";
    if (!number(word[0], &c->id))
        return "the case number is not a positive number";
    if (!verdict(word[1], &c->verdict))
        return "the verdict is unknown";
    if (!whole)
        return NULL;
    c->pt_is_known = strcmp(word[5], "?") != 0;
    if (!hex(word[2], &c->key) || !hex(word[3], &c->iv) || !parts(word[4], c) ||
        !hex(c->pt_is_known ? word[5] : "-", &c->pt) || !hex(word[6], &c->ct) ||
        !hex(word[7], &c->tag))
        return "a field is not hexadecimal, or is too long";
    return NULL;
}

static bool read_line(FILE *in, struct test_case *c, bool whole, char error[160])
{
    static char line[8 * (2 * CASE_MAX_BYTES + 1)];
    *error = '\0';
    do
        if (fgets(line, sizeof(line), in) == NULL)
            return false;
    while (*line == '#');
    char start[41];
    snprintf(start, sizeof(start), "%.40s", line);
    const char *wrong = parse(line, c, whole);
    if (wrong != NULL)
        snprintf(error, ERROR_ROOM, "%s: %s", wrong, start);
    return wrong == NULL;
}

bool case_read(FILE *in, struct test_case *c, char error[160])
{
    return read_line(in, c, true, error);
}

bool case_skip(FILE *in, struct test_case *c, char error[160])
{
    return read_line(in, c, false, error);
}
