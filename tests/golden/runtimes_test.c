/* SPDX-License-Identifier: Apache-2.0 */
/* What Megatron-LM and DeepSpeed derive for themselves (golden/cases), compared with what is exported for them: Megatron's
 * table, warm-up counts and order lists number by number, DeepSpeed's instruction lists to the letter. */
#include "support/golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A case: its sizes, and its lines by key ("table", "warmup 3"). */
struct runtime_case {
    char name[128];
    int devices, chunks, microbatches;
    char group_size[16];
    char *table, *warmup[MOST_DEVICES], *order[MOST_DEVICES], *rank[MOST_DEVICES];
};

static void clear(struct runtime_case *g)
{
    free(g->table);
    for (int d = 0; d < MOST_DEVICES; d++) {
        free(g->warmup[d]);
        free(g->order[d]);
        free(g->rank[d]);
    }
    memset(g, 0, sizeof *g);
    g->chunks = 1;
}

static void read_line(struct runtime_case *g, const char *line)
{
    char word[32];
    int used = 0;
    if (line[0] == '#' || sscanf(line, "%31s %n", word, &used) != 1)
        return;
    const char *rest = line + used;
    if (strcmp(word, "case") == 0)
        clear(g), snprintf(g->name, sizeof g->name, "%s", rest);
    else if (strcmp(word, "devices") == 0)
        g->devices = atoi(rest);
    else if (strcmp(word, "chunks") == 0)
        g->chunks = atoi(rest);
    else if (strcmp(word, "microbatches") == 0)
        g->microbatches = atoi(rest);
    else if (strcmp(word, "group_size") == 0)
        snprintf(g->group_size, sizeof g->group_size, "%s", rest);
    else if (strcmp(word, "table") == 0)
        g->table = strdup(rest);
    else if (strcmp(word, "warmup") == 0)
        read_golden_row(g->warmup, rest);
    else if (strcmp(word, "order") == 0)
        read_golden_row(g->order, rest);
    else if (strcmp(word, "rank") == 0)
        read_golden_row(g->rank, rest);
}

static ppsched_schedule *schedule_of(const struct runtime_case *g)
{
    ppsched_config *config = make_config(g->devices, (int64_t)g->devices * g->chunks, g->microbatches);
    ppsched_error error;
    if (g->chunks > 1)
        expect_ok(ppsched_config_set_option(config, "group_size", g->group_size, &error), &error);
    ppsched_schedule *schedule = make_schedule(config, g->chunks > 1 ? "interleaved_1f1b" : "1f1b");
    ppsched_config_destroy(config);
    return schedule;
}

static char *export_of(const struct runtime_case *g, int32_t format)
{
    ppsched_schedule *schedule = schedule_of(g);
    char *text = export_text(schedule, NULL, format, NULL);
    ppsched_schedule_release(schedule);
    return text;
}

/* Goes behind the next "\"key\": ". */
static void find_key(const char **text, const char *key)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    *text = strstr(*text, quoted);
    assert_non_null(*text);
    *text += strlen(quoted);
}

/* Reads the next integer of either text; false at the end of the line. */
static int next_integer(const char **text, long *out)
{
    *text += strcspn(*text, "-0123456789\n");
    char *end = NULL;
    *out = strtol(*text, &end, 10);
    int found = end != *text;
    *text = end;
    return found;
}

/* The integers up to the end of our line, or `theirs`, are the same. */
static void compare_integers(const struct runtime_case *g, const char *what, const char **ours, const char *theirs)
{
    long a = 0, b = 0;
    for (int i = 0; next_integer(&theirs, &b); i++)
        if (!next_integer(ours, &a) || a != b)
            fail_msg("%s: %s: entry %d is %ld, expected %ld", g->name, what, i, a, b);
}

static void expect_line_end(const struct runtime_case *g, const char *text)
{
    long more = 0;
    if (next_integer(&text, &more))
        fail_msg("%s: %ld is one too many", g->name, more);
}

static void compare_megatron(const struct runtime_case *g)
{
    char *text = export_of(g, PPSCHED_FORMAT_MEGATRON);
    const char *ours = text;
    find_key(&ours, "microbatch_group_size_per_vp_stage");
    compare_integers(g, "group size", &ours, g->group_size);
    find_key(&ours, "schedule_table");
    compare_integers(g, "table", &ours, g->table);
    expect_line_end(g, ours);
    find_key(&ours, "num_warmup_microbatches");
    for (int d = 0; d < g->devices; d++)
        compare_integers(g, "warm-up", &ours, g->warmup[d]);
    expect_line_end(g, ours);
    find_key(&ours, "_order");
    for (int d = 0; d < g->devices; d++) {
        ours = strchr(ours, '\n') + 1;
        compare_integers(g, "order", &ours, g->order[d]);
        expect_line_end(g, ours);
    }
    free(text);
}

static void compare_deepspeed(const struct runtime_case *g)
{
    char *text = export_of(g, PPSCHED_FORMAT_DEEPSPEED), *line = text;
    for (int d = 0; d < g->devices; d++) {
        char start[32];
        int length = snprintf(start, sizeof start, "rank %d ", d);
        char *end = strchr(line, '\n');
        assert_non_null(end);
        *end = '\0';
        assert_memory_equal(line, start, (size_t)length);
        if (strcmp(line + length, g->rank[d]) != 0)
            fail_msg("%s, rank %d:\n  ours   %s\n  theirs %s", g->name, d, line + length, g->rank[d]);
        line = end + 1;
    }
    assert_int_equal(*line, '\0');
    free(text);
}

struct run {
    struct runtime_case read;
    void (*compare)(const struct runtime_case *);
    int compared;
};

static void take_line(const char *line, int is_done, void *user)
{
    struct run *run = user;
    read_line(&run->read, line);
    if (is_done) {
        run->compare(&run->read);
        run->compared++;
    }
}

static void run_file(const char *name, int expected, void (*compare)(const struct runtime_case *))
{
    static struct run run;
    run.compare = compare;
    run.compared = 0;
    read_golden_lines(name, take_line, &run);
    clear(&run.read);
    assert_int_equal(run.compared, expected);
}

static void test_megatron(void **state)
{
    (void)state;
    run_file("megatron", 50, compare_megatron);
}

static void test_deepspeed(void **state)
{
    (void)state;
    run_file("deepspeed", 24, compare_deepspeed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_megatron), cmocka_unit_test(test_deepspeed)};
    return cmocka_run_group_tests_name("runtimes", tests, NULL, NULL);
}
