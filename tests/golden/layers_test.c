/* SPDX-License-Identifier: Apache-2.0 */
/* Every case of tests/golden/layouts: what Megatron-LM and torchtitan were seen to make of layout strings, flags and stages. A
 * line of these files is a case; its fields are told in their first lines. */
#include "support/problem.h"
#include "support/text_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 1 << 16, FIELDS = 7, NUMBERS = 6 };

/* A case: its fields, and empty ones behind the last. */
struct fields {
    char *of[FIELDS];
};

static void split(struct fields *out, char *line)
{
    static char nothing[] = "";
    char *end = strchr(line, '\n');
    if (end != NULL)
        *end = '\0';
    for (int i = 0; i < FIELDS; i++) {
        char *next = line != NULL ? strchr(line, ';') : NULL;
        out->of[i] = line != NULL ? line : nothing;
        if (next != NULL)
            *next++ = '\0';
        line = next;
    }
}

/* Calls `visit` for each case of a file; returns how many there were. */
static int for_each_case(const char *name, void (*visit)(const struct fields *fields))
{
    char path[1024], *line = malloc(LINE);
    int count = 0;
    snprintf(path, sizeof path, "%s/../layouts/%s", GOLDEN_CASES, name);
    FILE *file = fopen(path, "r");
    assert_true(file != NULL && line != NULL);
    while (fgets(line, LINE, file) != NULL) {
        struct fields fields;
        if (line[0] == '#')
            continue;
        split(&fields, line);
        visit(&fields);
        count++;
    }
    fclose(file);
    free(line);
    return count;
}

/* "61 4 - 2": numbers, 0 for "-"; `is_zero[i]`: a 0 stands there. */
static void read_numbers(int64_t numbers[NUMBERS], int is_zero[NUMBERS], const char *text)
{
    memset(numbers, 0, NUMBERS * sizeof *numbers);
    memset(is_zero, 0, NUMBERS * sizeof *is_zero);
    for (int i = 0; i < NUMBERS && *text != '\0'; i++) {
        char *end = NULL;
        numbers[i] = strtoll(text, &end, 10);
        is_zero[i] = end != text && numbers[i] == 0;
        text = end == text ? text + 1 : end;
        text += *text == ' ';
    }
}

static char *replace_tabs(char *text)
{
    char *tab = strstr(text, "<TAB>");
    if (tab != NULL) {
        *tab = '\t';
        memmove(tab + 1, tab + 5, strlen(tab + 5) + 1);
    }
    return text;
}

/* --- what is shown of a layout --- */

static void print_run(FILE *file, char kind, uint32_t count)
{
    if (count > 0)
        fputc(kind, file);
    if (count > 1)
        fprintf(file, "%u", count);
}

static void print_stages(FILE *file, const ppsched_layout *layout)
{
    size_t count = 0;
    const ppsched_layout_stage *stages = ppsched_layout_stages(layout, &count);
    for (size_t s = 0; s < count; s++) {
        fputs(s > 0 ? " " : "", file);
        print_run(file, 'E', stages[s].embeddings);
        print_run(file, 't', stages[s].decoders);
        print_run(file, 'm', stages[s].mtps);
        print_run(file, 'L', stages[s].heads);
        if (stages[s].embeddings + stages[s].decoders + stages[s].mtps + stages[s].heads == 0)
            fputc('-', file);
    }
}

static void print_ranks(FILE *file, const ppsched_layout *layout)
{
    const ppsched_layout_stage *stages = ppsched_layout_stages(layout, NULL);
    const uint32_t *offsets = ppsched_layout_offsets(layout, NULL), devices = ppsched_layout_devices(layout);
    for (uint32_t d = 0; d < devices; d++)
        for (uint32_t c = 0; c < ppsched_layout_chunks(layout); c++)
            fprintf(file, "%s%u+%u",
                    c > 0   ? " "
                    : d > 0 ? ", "
                            : "",
                    offsets[c * devices + d], stages[c * devices + d].decoders);
}

static void print_decoders(FILE *file, const ppsched_layout *layout)
{
    size_t count = 0;
    const ppsched_layout_stage *stages = ppsched_layout_stages(layout, &count);
    for (size_t s = 0; s < count; s++)
        fprintf(file, "%s%u", s > 0 ? " " : "", stages[s].decoders);
}

static void expect_print(const ppsched_layout *layout, void (*print)(FILE *file, const ppsched_layout *layout),
                         const char *wanted, const char *name)
{
    struct text_file file;
    print(open_text(&file), layout);
    char *text = close_text(&file);
    if (strcmp(text, wanted) != 0)
        fail_msg("%s: %s, wanted %s", name, text, wanted);
    free(text);
}

/* Whether the case is one that is refused, which the call must have done. `found` begins with "error" then. */
static int is_refused(const char *name, const char *found, ppsched_status status, const ppsched_error *error)
{
    int wanted = strncmp(found, "error", 5) == 0 || strstr(found, "+-") != NULL; /* or fewer than no layers */
    if ((status != PPSCHED_OK) != wanted)
        fail_msg("%s: %s, wanted %s", name, status != PPSCHED_OK ? error->message : "OK", found);
    if (wanted)
        assert_true(strstr(error->message, "; ") != NULL && strchr(error->message, '\n') == NULL);
    return wanted;
}

/* --- the files --- */

static void read_string(const struct fields *fields)
{
    int64_t numbers[NUMBERS];
    int is_zero[NUMBERS], is_launched = strcmp(fields->of[1], "flags") == 0;
    ppsched_layout *layout = NULL;
    ppsched_error error;
    if (is_launched && strstr(fields->of[4], "=") != NULL && strcmp(fields->of[4], "overlap_p2p=no") != 0)
        return; /* flags that do not go with a string, which the command turns down */
    read_numbers(numbers, is_zero, fields->of[3]);
    const ppsched_layout_rules rules = {.size = sizeof rules,
                                        .chunks = numbers[1],
                                        .decoders = numbers[2],
                                        .no_decoders = is_zero[2] != 0,
                                        .mtps = numbers[3],
                                        .no_mtps = numbers[3] == 0,
                                        .launcher = is_launched != 0,
                                        .no_overlap = strcmp(fields->of[4], "overlap_p2p=no") == 0};
    const char *text = replace_tabs(fields->of[2]);
    ppsched_status status = ppsched_layout_create_from_text(&layout, text, strlen(text), numbers[0], &rules, NULL, &error);
    if (is_refused(fields->of[0], fields->of[5], status, &error)) {
        assert_int_equal(status, strcmp(fields->of[5], "error parse") == 0 ? PPSCHED_ERROR_SYNTAX : PPSCHED_ERROR_REFUSED);
        return;
    }
    if (!is_launched) {
        expect_print(layout, print_stages, fields->of[5], fields->of[0]);
        expect_print(layout, print_ranks, fields->of[6], fields->of[0]);
    }
    ppsched_layout_destroy(layout);
}

static void test_strings(void **state)
{
    (void)state;
    assert_true(for_each_case("strings.txt", read_string) > 100);
}

static void split_as_megatron(const struct fields *fields)
{
    int64_t numbers[NUMBERS];
    int is_zero[NUMBERS];
    ppsched_layout *layout = NULL;
    ppsched_error error;
    read_numbers(numbers, is_zero, fields->of[1]);
    const ppsched_megatron_split flags = {.size = sizeof flags,
                                          .account_for_embedding = strstr(fields->of[2], "embedding") != NULL,
                                          .account_for_loss = strstr(fields->of[2], "loss") != NULL,
                                          .no_overlap = strstr(fields->of[2], "no_overlap") != NULL,
                                          .layers_per_chunk = numbers[2],
                                          .chunks = numbers[3],
                                          .first_decoders = numbers[4],
                                          .last_decoders = numbers[5]};
    if (is_zero[2] || is_zero[3] || is_zero[4] || is_zero[5])
        return; /* a 0 that is given is another one in C: as if it were not */
    ppsched_status status = ppsched_layout_create_from_megatron(&layout, numbers[0], numbers[1], &flags, NULL, &error);
    if (is_refused(fields->of[0], fields->of[3], status, &error))
        return;
    expect_print(layout, print_ranks, fields->of[3], fields->of[0]);
    ppsched_layout_destroy(layout);
}

static void test_megatron(void **state)
{
    (void)state;
    assert_true(for_each_case("megatron.txt", split_as_megatron) > 50);
}

static void split_as_torchtitan(const struct fields *fields)
{
    int64_t numbers[NUMBERS];
    int is_zero[NUMBERS];
    ppsched_layout *layout = NULL;
    ppsched_error error;
    ppsched_status status = PPSCHED_OK;
    read_numbers(numbers, is_zero, fields->of[1]);
    uint32_t stages = (uint32_t)numbers[1];
    char *each = strchr(fields->of[2], ' ');
    if (each != NULL) {
        int several = strncmp(fields->of[2], "1F1B", 4) != 0 && strncmp(fields->of[2], "GPipe", 5) != 0;
        status = ppsched_layout_find_torchtitan_stages(&stages, numbers[0], numbers[1], strtoll(each, NULL, 10), numbers[2],
                                                       numbers[3], several != 0, &error);
    }
    if (status == PPSCHED_OK)
        status = ppsched_layout_create_from_torchtitan(&layout, numbers[0], numbers[1], stages, numbers[2], numbers[3], NULL,
                                                       &error);
    if (is_refused(fields->of[0], fields->of[3], status, &error))
        return;
    expect_print(layout, print_decoders, fields->of[3], fields->of[0]);
    ppsched_layout_destroy(layout);
}

static void test_torchtitan(void **state)
{
    (void)state;
    assert_true(for_each_case("torchtitan.txt", split_as_torchtitan) > 20);
}

/* --- what was not seen --- */

static void expect_refusal(ppsched_status status, const ppsched_error *error, const char *part)
{
    assert_int_equal(status, PPSCHED_ERROR_REFUSED);
    if (strstr(error->message, part) == NULL)
        fail_msg("%s, wanted %s", error->message, part);
}

static void refuse_split(int64_t decoders, int64_t devices, ppsched_megatron_split flags, const char *part)
{
    ppsched_layout *layout = NULL;
    ppsched_error error = {.message = ""};
    flags.size = sizeof flags;
    expect_refusal(ppsched_layout_create_from_megatron(&layout, decoders, devices, &flags, NULL, &error), &error, part);
}

/* What Megatron-LM lets pass, or stops at by a division by 0; and each side of a rule. */
static void test_other_splits(void **state)
{
    (void)state;
    refuse_split(24, 2, (ppsched_megatron_split){.first_decoders = 12, .last_decoders = 12, .chunks = 2},
                 "only for 1 chunk per device");
    refuse_split(24, 1, (ppsched_megatron_split){.first_decoders = 10, .last_decoders = 10}, "there is only one device");
    refuse_split(0, 2, (ppsched_megatron_split){.layers_per_chunk = 2}, "there are no layers");
    refuse_split(24, 3, (ppsched_megatron_split){.first_decoders = 24}, "leave nothing for the other 2 devices");
    refuse_split(24, 2, (ppsched_megatron_split){.first_decoders = 24}, "leave nothing for the other 1 device;");
    refuse_split(3, 4, (ppsched_megatron_split){0}, "3 decoders cannot be divided by 4 devices; 4 can");
    refuse_split(24, 4, (ppsched_megatron_split){.last_decoders = 3, .chunks = 2},
                 "last_decoders: 3 decoders cannot be divided");
    refuse_split(24, 1, (ppsched_megatron_split){.chunks = 2}, "more than 1 device");
}

static void test_other_parts(void **state)
{
    ppsched_layout *layout = NULL;
    ppsched_error error = {.message = ""};
    uint32_t stages = 0;
    (void)state;
    expect_refusal(ppsched_layout_create_from_torchtitan(&layout, 8, 2, 3, 1, 1, NULL, &error), &error,
                   "cannot be divided among 2 devices; 4 can");
    expect_refusal(ppsched_layout_create_from_torchtitan(&layout, 8, 2, 4, 4, 1, NULL, &error), &error, "first_less is 4");
    expect_refusal(ppsched_layout_find_torchtitan_stages(&stages, 14, 2, 4, 1, 1, 0, &error), &error, "1 per device; give 8");
    expect_refusal(ppsched_layout_find_torchtitan_stages(&stages, 14, 2, 8, 1, 1, 1, &error), &error, "at least 2 per device");
    assert_true(layout == NULL && stages == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings),      cmocka_unit_test(test_megatron),    cmocka_unit_test(test_torchtitan),
        cmocka_unit_test(test_other_splits), cmocka_unit_test(test_other_parts),
    };
    return cmocka_run_group_tests_name("layers", tests, NULL, NULL);
}
