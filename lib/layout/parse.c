/* SPDX-License-Identifier: Apache-2.0 */
/* Megatron-LM's layout strings, read as by parse_str_to_list of its pipeline_parallel_layer_layout.py: commas are dropped,
 * groups `(...)*n` are unrolled in one pass, then `x*n` in a second one, which therefore also repeats the last character of a
 * group. */
#include "layout/layout.h"

#include <string.h>

#include <ppsched/config.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/utf8.h"
#include "layout/tally.h"

enum { MOST_CHARACTERS = 2 * PPSCHED_MAX_LAYOUT_LAYERS }; /* of an unrolled text: a layer and a bar each */

/* A text as characters; `at`: the index of each one's first byte in the caller's text. */
struct characters {
    const char *text;
    size_t size;
    uint32_t *at;
    size_t count;
};

static char character(const struct characters *from, size_t i)
{
    return i < from->count ? from->text[from->at[i]] : '\0';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static ppsched_status fail_length(uint32_t position, ppsched_error *error)
{
    return ppi_fail_at(error, PPSCHED_ERROR_RANGE, (struct ppi_place){PPSCHED_NONE, PPSCHED_NONE, PPSCHED_NONE, position},
                       "the layout expands to more than %u characters at position %u; write x*n for many of one kind",
                       MOST_CHARACTERS, position);
}

/* If `*n` is at `i`, returns the index after it, and n in `times` (any number above the limit if n is too large); else 0. */
static size_t read_times(const struct characters *from, size_t i, size_t *times)
{
    if (character(from, i) != '*' || !is_digit(character(from, i + 1)))
        return 0;
    *times = 0;
    for (i++; is_digit(character(from, i)); i++)
        if (*times <= MOST_CHARACTERS)
            *times = *times * 10 + (size_t)(character(from, i) - '0');
    return i;
}

/* --- groups --- */

/* Finds the characters, without commas; UTF-8 continuation bytes belong to the character before. */
static void find_characters(struct characters *out)
{
    for (size_t i = 0; i < out->size; i++)
        if (out->text[i] != ',' && ((unsigned char)out->text[i] & 0xC0u) != 0x80u)
            out->at[out->count++] = (uint32_t)i;
}

/* The next characters of `from`, to be repeated `times` times. */
struct piece {
    size_t first, count, times, next; /* `next`: where the next piece begins */
};

/* The piece at `i`: a group, or one character. `*close`: the first ')' from the last place searched, so that all searches
 * together take linear time. */
static struct piece piece_at(const struct characters *from, size_t i, size_t *close)
{
    struct piece piece = {i, 1, 1, i + 1};
    size_t times = 0;
    if (character(from, i) != '(')
        return piece;
    if (*close < i)
        *close = i;
    while (*close < from->count && character(from, *close) != ')')
        ++*close;
    size_t next = *close<from->count && * close> i + 1 ? read_times(from, *close + 1, &times) : 0;
    return next > 0 ? (struct piece){i + 1, *close - i - 1, times, next} : piece;
}

/* Unrolls all groups; only counts if `out->at` is NULL. */
static ppsched_status unroll(struct characters *out, const struct characters *from, ppsched_error *error)
{
    size_t close = 0;
    out->count = 0;
    for (size_t i = 0; i < from->count;) {
        struct piece piece = piece_at(from, i, &close);
        if (piece.times > (MOST_CHARACTERS - out->count) / piece.count)
            return fail_length(from->at[i], error);
        for (size_t k = 0; out->at != NULL && k < piece.times; k++)
            memcpy(out->at + out->count + k * piece.count, from->at + piece.first, piece.count * sizeof *out->at);
        out->count += piece.times * piece.count;
        i = piece.next;
    }
    return PPSCHED_OK;
}

/* --- layers --- */

static const char *advice_for(char c)
{
    switch (c) {
    case '(':
    case ')':
        return "a group is (...)*n; it must not be empty or hold another group";
    case ' ':
    case '\t':
    case '\n':
    case '\r':
        return "leave blanks out; commas are allowed anywhere";
    case 'e':
    case 'T':
    case 'l':
    case 'M':
        return "layers are E (embedding), t (decoder), m (MTP) and L (head), in exactly this case";
    default:
        if (c == '*' || is_digit(c))
            return "a character is repeated by x*n, a group by (...)*n, once each";
        return "layers are E (embedding), t (decoder), m (MTP) and L (head); | begins the next stage";
    }
}

static ppsched_status fail_character(const struct characters *from, size_t i, ppsched_error *error)
{
    char found[5] = "?";
    uint32_t position = from->at[i];
    size_t length = ppi_utf8_length(from->text + position, from->size - position);
    if (length > 0 && from->text[position] != '\0') {
        memcpy(found, from->text + position, length);
        found[length] = '\0';
    }
    return ppi_fail_at(error, PPSCHED_ERROR_SYNTAX, (struct ppi_place){PPSCHED_NONE, PPSCHED_NONE, PPSCHED_NONE, position},
                       "the layout has \"%q\" at position %u; %s", found, position, advice_for(from->text[position]));
}

/* Puts all layers and bars of a text without groups, repeating `x*n`. */
static ppsched_status put_layers(struct ppi_tally *tally, const struct characters *from, ppsched_error *error)
{
    for (size_t i = 0; i < from->count;) {
        char c = character(from, i);
        size_t times = 1;
        size_t next = c != '\n' ? read_times(from, i + 1, &times) : 0;
        if (times > 0 && (c == '\0' || strchr("EtmL|", c) == NULL))
            return fail_character(from, i, error);
        ppsched_status status = ppi_tally_put(tally, c, times, from->at[i], error);
        if (status != PPSCHED_OK)
            return status;
        i = next > 0 ? next : i + 1;
    }
    return PPSCHED_OK;
}

/* --- all of it --- */

static ppsched_status take_characters(struct characters *out, const char *text, size_t size, struct ppi_arena *arena,
                                      ppsched_error *error)
{
    struct characters written = {.text = text, .size = size};
    *out = written;
    if (size > MOST_CHARACTERS)
        return fail_length(MOST_CHARACTERS, error);
    written.at = ppi_arena_take(arena, size, sizeof *written.at);
    if (written.at == NULL)
        return ppi_arena_check(arena, "reading a layout", error);
    find_characters(&written);
    ppsched_status status = unroll(out, &written, error);
    if (status != PPSCHED_OK)
        return status;
    out->at = ppi_arena_take(arena, out->count, sizeof *out->at);
    if (out->at == NULL)
        return ppi_arena_check(arena, "reading a layout", error);
    return unroll(out, &written, error);
}

static ppsched_status make(ppsched_layout **out, const struct characters *from, uint32_t devices,
                           const ppsched_layout_rules *rules, const struct ppi_host *host, ppsched_error *error)
{
    struct ppi_tally tally;
    ppi_tally_start(&tally, NULL);
    ppsched_status status = put_layers(&tally, from, error);
    if (status == PPSCHED_OK)
        status = ppi_tally_check(&tally, devices, rules, error);
    if (status != PPSCHED_OK)
        return status;
    ppsched_layout *layout = ppi_layout_allocate(host, devices, tally.stage + 1);
    if (layout == NULL)
        return ppi_fail_memory(error, "a layout");
    ppi_tally_start(&tally, layout->stages);
    (void)put_layers(&tally, from, error); /* cannot fail: it was OK the first time */
    return ppi_layout_finish(out, layout, error);
}

ppsched_status ppi_layout_from_text(ppsched_layout **out, const char *text, size_t size, int64_t devices,
                                    const ppsched_layout_rules *rules, const struct ppi_host *host, ppsched_error *error)
{
    struct ppi_arena arena = {.host = host};
    struct characters unrolled;
    ppsched_status status = ppi_layout_check_size("devices", devices, error);
    if (status == PPSCHED_OK)
        status = take_characters(&unrolled, text, size, &arena, error);
    if (status == PPSCHED_OK)
        status = make(out, &unrolled, (uint32_t)devices, rules, host, error);
    ppi_arena_clear(&arena);
    return status;
}
