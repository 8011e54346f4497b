/* SPDX-License-Identifier: Apache-2.0 */
/* A parser by hand: number of the stage, letters of the kind, number of the microbatch, slice; each part returns NULL or the
 * reason why it cannot be read. */
#include "format/token.h"

#include <string.h>

#include <ppsched/config.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads a number without leading zeros, at most `largest`. Returns NULL, or what is wrong with it. */
static const char *read_number(const char **text, const char *end, uint32_t largest, const char *too_large, uint32_t *out)
{
    const char *start = *text, *next = start;
    uint64_t value = 0;
    for (; next < end && is_digit(*next); next++) {
        value = value * 10 + (uint64_t)(*next - '0');
        if (value > largest)
            return too_large;
    }
    if (*start == '0' && next - start > 1)
        return "its numbers must not have leading zeros";
    *text = next;
    *out = (uint32_t)value;
    return NULL;
}

static bool is_kind_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || c == '_';
}

static const char *explain_kind(const char *kind, size_t length)
{
    if (length == 0)
        return "a kind in capital letters must follow the stage, such as F, B, I, W or SEND_F";
    if (length == 2 && memcmp(kind, "BW", 2) == 0)
        return "BW is the full backward of PyTorch before 2.6; it is B now, and the B of that time is I now";
    return "its kind is not one of this format, such as F, B, I and W";
}

/* Reads a kind: the letters up to the microbatch. */
static const char *read_kind(const char **text, const char *end, int32_t last_kind, uint8_t *out)
{
    const char *kind = *text, *next = kind;
    while (next < end && is_kind_letter(*next))
        next++;
    size_t length = (size_t)(next - kind);
    *text = next;
    for (int32_t k = 1; k <= last_kind; k++) {
        const char *token = ppi_kind_token(k);
        if (token[0] == *kind && strlen(token) == length && memcmp(token, kind, length) == 0) {
            *out = (uint8_t)k;
            return NULL;
        }
    }
    return explain_kind(kind, length);
}

const char *ppi_read_op(const char **text, const char *end, int32_t last_kind, ppsched_op *op)
{
    uint32_t stage = 0, microbatch = PPSCHED_NONE;
    uint8_t kind = 0;
    if (*text == end || !is_digit(**text))
        return "an op begins with the number of its stage, such as 3F0";
    const char *reason = read_number(text, end, PPSCHED_MAX_STAGES - 1, "its stage must be at most 65534", &stage);
    if (reason != NULL)
        return reason;
    if (*text == end)
        return explain_kind(*text, 0);
    reason = read_kind(text, end, last_kind, &kind);
    if (reason != NULL)
        return reason;
    bool has_number = *text < end && is_digit(**text);
    if (has_number != ppi_kind_has_microbatch(kind))
        return has_number ? "its kind has no microbatch" : "its microbatch is missing";
    if (has_number)
        reason = read_number(text, end, PPSCHED_MAX_CELLS - 1, "its microbatch must be at most 1073741823", &microbatch);
    *op = (ppsched_op){.microbatch = microbatch, .stage = (uint16_t)stage, .kind = kind};
    return reason;
}

/* After an op: ">2", the place at the other end of a send or receive of a stage graph. */
static const char *read_place(const char **text, const char *end, ppsched_op *op)
{
    uint32_t place = 0;
    if (*text == end || **text != '>' || !ppi_is_comm(op))
        return NULL;
    ++*text;
    if (*text == end || !is_digit(**text))
        return "the number of the place at the other end must follow the >, such as 0SEND_F1>2";
    const char *reason = read_number(text, end, PPSCHED_MAX_STAGES - 1, "the place at its other end must be at most 65534",
                                     &place);
    op->reserved = (uint16_t)(place + 1);
    return reason;
}

/* After an op: ".2". */
static const char *read_slice(const char **text, const char *end, ppsched_op *op)
{
    uint32_t slice = 0;
    if (*text == end || **text != '.' || op->microbatch == PPSCHED_NONE)
        return NULL;
    ++*text;
    if (*text == end || !is_digit(**text))
        return "the number of its slice must follow the point, such as 3F0.2";
    const char *reason = read_number(text, end, PPSCHED_MAX_SLICES - 1, "its slice must be at most 65534", &slice);
    op->slice = (uint16_t)slice;
    op->flags = PPSCHED_OP_FLAG_SLICED;
    return reason;
}

/* "3F0", "3F0.2", or "3SEND_F0>4". */
static const char *read_whole_op(const char **text, const char *end, int32_t last_kind, ppsched_op *op)
{
    const char *reason = ppi_read_op(text, end, last_kind, op);
    if (reason == NULL)
        reason = read_slice(text, end, op);
    return reason == NULL ? read_place(text, end, op) : reason;
}

static const char *skip_blanks(const char *text, const char *end)
{
    while (text < end && (*text == ' ' || *text == '\t'))
        text++;
    return text;
}

/* "(0F1;3B0)OVERLAP_F_B"; moves `*text` after it. */
static const char *read_pair(const char **text, const char *end, int32_t last_kind, ppsched_op pair[2])
{
    static const char tail[] = "OVERLAP_F_B";
    static const char form[] = "an overlapped pair looks like (0F1;3B0)OVERLAP_F_B";
    const size_t tail_length = sizeof tail - 1;
    for (int i = 0; i < 2; i++) {
        *text = skip_blanks(*text + 1, end);
        const char *reason = read_whole_op(text, end, last_kind, &pair[i]);
        if (reason != NULL)
            return reason;
        *text = skip_blanks(*text, end);
        if (*text == end || **text != ";)"[i])
            return form;
    }
    ++*text;
    if ((size_t)(end - *text) < tail_length || memcmp(*text, tail, tail_length) != 0)
        return form;
    *text += tail_length;
    if (pair[0].kind != PPSCHED_KIND_F || !ppi_is_backward(pair[1].kind))
        return "an overlapped pair is an F and then a B or an I";
    pair[0].flags |= PPSCHED_OP_FLAG_OVERLAPPED;
    return NULL;
}

const char *ppi_read_unit(const char *text, const char *end, int32_t last_kind, ppsched_op unit[2], size_t *count)
{
    text = skip_blanks(text, end);
    *count = 0;
    if (text == end)
        return NULL;
    bool is_pair = *text == '(';
    const char *reason = is_pair ? read_pair(&text, end, last_kind, unit) : read_whole_op(&text, end, last_kind, unit);
    if (reason != NULL)
        return reason;
    if (skip_blanks(text, end) != end)
        return "there is text after the op";
    *count = is_pair ? 2 : 1;
    return NULL;
}

void ppi_quote(char quote[PPI_QUOTE_SIZE], const char *text, const char *end)
{
    size_t length = (size_t)(end - text), shown = length < PPI_QUOTE_SIZE - 4 ? length : PPI_QUOTE_SIZE - 4;
    for (size_t i = 0; i < shown; i++)
        quote[i] = text[i] >= 0x20 && text[i] < 0x7F ? text[i] : '?';
    memcpy(quote + shown, length > shown ? "..." : "", length > shown ? 4 : 1);
}
