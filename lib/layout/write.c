/* SPDX-License-Identifier: Apache-2.0 */
/* Writes layouts as text: Megatron-LM's string, in the shortest form that dynamic programming over groups finds, and
 * torchtitan's names of modules. */
#include "layout/layout.h"

#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/number.h"

enum { LONGEST_GROUP = 16 }; /* pieces in a repeated group; bounds the work per piece */

/* Writes a text, or only measures it. */
struct writer {
    char *out; /* NULL: only measured */
    size_t length;
};

static void put(struct writer *writer, const char *text, size_t size)
{
    if (writer->out != NULL)
        memcpy(writer->out + writer->length, text, size);
    writer->length += size;
}

static void put_number(struct writer *writer, uint32_t number)
{
    char digits[PPI_INTEGER_SIZE];
    put(writer, digits, ppi_integer_to_text(digits, number));
}

/* --- Megatron-LM --- */

/* A piece: layers of one stage and the bars after them; the embedding is a piece of its own, so that what follows can be in a
 * group. */
struct layers {
    ppsched_layout_stage stage;
    uint32_t bars;
    size_t length; /* of its text */
};

/* The shortest form found for the text from a piece on. */
struct form {
    size_t length;          /* of the text from here on */
    uint32_t pieces, times; /* of the group that starts here; 1 and 1: no group */
};

/* Puts `count` of a kind; ttt and t*3 are of one length, and the latter is used. */
static void put_run(struct writer *writer, char kind, uint32_t count)
{
    for (uint32_t i = 0; i < count && count < 3; i++)
        put(writer, &kind, 1);
    if (count < 3)
        return;
    put(writer, &kind, 1);
    put(writer, "*", 1);
    put_number(writer, count);
}

static void write_layers(struct writer *writer, const struct layers *from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        put_run(writer, 'E', from[i].stage.embeddings);
        put_run(writer, 't', from[i].stage.decoders);
        put_run(writer, 'm', from[i].stage.mtps);
        put_run(writer, 'L', from[i].stage.heads);
        put_run(writer, '|', from[i].bars);
    }
}

static size_t digits_of(uint32_t number)
{
    char digits[PPI_INTEGER_SIZE];
    return ppi_integer_to_text(digits, number);
}

static void put_group(struct writer *writer, const struct layers *from, uint32_t pieces, uint32_t times)
{
    if (times == 1) {
        write_layers(writer, from, pieces);
        return;
    }
    put(writer, "(", 1);
    write_layers(writer, from, pieces);
    put(writer, ")*", 2);
    put_number(writer, times);
}

static bool are_same(const struct layers *a, const struct layers *b)
{
    return a->bars == b->bars && a->stage.embeddings == b->stage.embeddings && a->stage.decoders == b->stage.decoders &&
           a->stage.mtps == b->stage.mtps && a->stage.heads == b->stage.heads;
}

/* Splits the layout into pieces; `out` has capacity for one more than there are stages. Returns their number. */
static uint32_t take_layers(struct layers *out, const ppsched_layout *layout)
{
    static const ppsched_layout_stage empty;
    uint32_t count = 0;
    for (uint32_t s = 0; s < layout->count; s++) {
        ppsched_layout_stage stage = layout->stages[s];
        uint32_t bars = s + 1 < layout->count;
        bool is_empty = memcmp(&stage, &empty, sizeof stage) == 0;
        if (is_empty && count > 0 && out[count - 1].bars > 0) {
            out[count - 1].bars += bars;
            continue;
        }
        if (stage.embeddings > 0 && stage.decoders + stage.mtps + stage.heads > 0) {
            out[count++] = (struct layers){{stage.embeddings, 0, 0, 0}, 0, 0};
            stage.embeddings = 0;
        }
        out[count++] = (struct layers){stage, bars, 0};
    }
    return count;
}

/* Finds `forms[i]` from the later forms; `same[p]`: how many pieces from `i` on equal those `p` later. */
static void find_form(struct form *forms, const struct layers *layers, uint32_t i, uint32_t count, const uint32_t *same)
{
    size_t group = sizeof "()*" - 1;
    forms[i] = (struct form){layers[i].length + forms[i + 1].length, 1, 1};
    for (uint32_t p = 1; p <= LONGEST_GROUP && p < count - i; p++) {
        uint32_t most = 1 + same[p] / p;
        group += layers[i + p - 1].length;
        for (uint32_t times = most; times > 1 && times + 1 >= most; times--) {
            size_t length = group + digits_of(times) + forms[i + times * p].length;
            if (length < forms[i].length)
                forms[i] = (struct form){length, p, times};
        }
    }
}

static void find_forms(struct form *forms, const struct layers *layers, uint32_t count)
{
    uint32_t same[LONGEST_GROUP + 1] = {0};
    forms[count] = (struct form){0, 0, 0};
    for (uint32_t i = count; i-- > 0;) {
        for (uint32_t p = 1; p <= LONGEST_GROUP && p < count - i; p++)
            same[p] = are_same(&layers[i], &layers[i + p]) ? same[p] + 1 : 0;
        find_form(forms, layers, i, count, same);
    }
}

/* Writes the text by the forms found. */
static ppsched_status write_forms(ppsched_layout *layout, const struct layers *layers, const struct form *forms, uint32_t count,
                                  ppsched_error *error)
{
    struct writer writer = {ppi_allocate(&layout->host, forms[0].length + 1, 1), 0};
    if (writer.out == NULL)
        return ppi_fail_memory(error, "writing a layout");
    for (uint32_t i = 0; i < count; i += forms[i].pieces * forms[i].times)
        put_group(&writer, layers + i, forms[i].pieces, forms[i].times);
    writer.out[writer.length] = '\0';
    layout->text = writer.out;
    layout->length = writer.length;
    return PPSCHED_OK;
}

ppsched_status ppi_layout_set_text(ppsched_layout *layout, ppsched_error *error)
{
    struct ppi_arena arena = {.host = &layout->host};
    struct layers *layers = ppi_arena_take(&arena, (size_t)layout->count + 1, sizeof *layers);
    struct form *forms = ppi_arena_take(&arena, (size_t)layout->count + 2, sizeof *forms);
    ppsched_status status = ppi_arena_check(&arena, "writing a layout", error);
    if (status == PPSCHED_OK) {
        uint32_t count = take_layers(layers, layout);
        for (uint32_t i = 0; i < count; i++) {
            struct writer writer = {NULL, 0};
            write_layers(&writer, layers + i, 1);
            layers[i].length = writer.length;
        }
        find_forms(forms, layers, count);
        status = write_forms(layout, layers, forms, count, error);
    }
    ppi_arena_clear(&arena);
    return status;
}

/* --- torchtitan --- */

static void put_module(struct writer *writer, const char *name)
{
    if (writer->length > 0)
        put(writer, " ", 1);
    put(writer, name, strlen(name));
}

size_t ppi_layout_put_modules(char *out, const ppsched_layout *layout, uint32_t stage, bool rotary)
{
    struct writer writer = {out, 0};
    if (layout->stages[stage].embeddings > 0)
        put_module(&writer, "tok_embeddings");
    for (uint32_t i = 0; i < layout->stages[stage].decoders; i++) {
        put_module(&writer, "layers.");
        put_number(&writer, layout->offsets[stage] + i);
    }
    if (layout->stages[stage].heads > 0) {
        put_module(&writer, "norm");
        put_module(&writer, "lm_head");
    }
    if (rotary)
        put_module(&writer, "rotary_emb");
    if (out != NULL)
        out[writer.length] = '\0';
    return writer.length;
}
