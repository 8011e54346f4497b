/* SPDX-License-Identifier: Apache-2.0 */
/* The same results to the last bit everywhere: a digest of each part of the results of each strategy over a table of problems,
 * of problems of other projects (golden/cases), of bounds and of plans. Their expected values are in digest.txt, which all
 * platforms share.
 *
 * usage: digest FILE                  compares with the file and prints the lines that differ; exit 1 where one does
 *        digest --locale NAME FILE    the same in a locale whose decimal point is a comma
 *        digest --update FILE         writes the file */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "portability/fold.h"
#include "portability/plans.h"
#include "portability/problems.h"
#include "portability/results.h"
#include "support/golden.h"

enum { MOST_LINES = 512, LINE_SIZE = 96, MOST_GOLDEN = 256, MOST_PASSES = 200 };

static char lines[MOST_LINES][LINE_SIZE]; /* "SUBJECT PART DIGEST" */
static int line_count;

/* Problems of other projects, which are read before there is a locale. */
static struct {
    const char *file;
    ppsched_config *config;
    char strategy[64];
} golden[MOST_GOLDEN];
static int golden_count;

static void add_line(const char *subject, const char *part, uint64_t digest)
{
    assert_true(line_count < MOST_LINES);
    snprintf(lines[line_count++], LINE_SIZE, "%s %s %08x%08x", subject, part, (unsigned)(digest >> 32),
             (unsigned)(digest & 0xFFFFFFFF));
}

static void add_results(const char *subject, const struct results *results)
{
    for (int part = 0; part < PART_COUNT; part++)
        add_line(subject, part_name((enum part)part), results->part[part]);
}

static void add_strategy(uint32_t strategy)
{
    ppsched_strategy_info info = {.size = sizeof info};
    struct results results;
    ppsched_config *config = NULL;
    assert_int_equal(ppsched_strategy_get_info(&info, strategy, NULL), PPSCHED_OK);
    results_start(&results);
    for (int number = 0; (config = problem_of(strategy, number)) != NULL; number++) {
        results_add(&results, config, info.name, number);
        ppsched_config_destroy(config);
    }
    add_results(info.name, &results);
}

/* Each strategy with microbatches that differ, and those that know slices with three of each. */
static void add_micro_slices(const char *subject, int64_t slices)
{
    static const double scale[] = {1.1, 0.7, 2.3, 0.9, 1.7, 0.3, 1.3}, held[] = {1.2, 0.9, 1.9, 1, 1.5, 0.6, 1.1},
                        growth[] = {0.7, 1.1, 1.6};
    struct results results;
    int number = -1;
    results_start(&results);
    for (uint32_t s = 0; s < ppsched_strategy_count(); s++) {
        ppsched_strategy_info info = {.size = sizeof info};
        assert_int_equal(ppsched_strategy_get_info(&info, s, NULL), PPSCHED_OK);
        number += !info.offloads;
        if (info.offloads || (slices > 1 && info.slices == 0))
            continue;
        ppsched_config *config = make_problem(3, 3 * (info.chunks != 0 ? info.chunks : 2), 7, 2, COSTS_DECIMAL);
        expect_ok(ppsched_config_set_slices(config, slices, NULL), NULL);
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MICROBATCH_SCALE, scale, 7, NULL), NULL);
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE, held, 7, NULL), NULL);
        if (slices > 1)
            expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_SLICE_SCALE, growth, 3, NULL), NULL);
        results_add(&results, config, info.name, number);
        ppsched_config_destroy(config);
    }
    add_results(subject, &results);
}

/* Each strategy with a list of three devices that differ. */
static void add_devices(const char *subject, int32_t quantity, const double *list)
{
    struct results results;
    int number = 0;
    results_start(&results);
    for (uint32_t s = 0; s < ppsched_strategy_count(); s++) {
        ppsched_strategy_info info = {.size = sizeof info};
        assert_int_equal(ppsched_strategy_get_info(&info, s, NULL), PPSCHED_OK);
        if (info.offloads || info.searches != 0)
            continue;
        ppsched_config *config = make_problem(3, 3 * (info.chunks != 0 ? info.chunks : 2), 6, 2, COSTS_DECIMAL);
        expect_ok(ppsched_config_set_values(config, quantity, list, 3, NULL), NULL);
        results_add(&results, config, info.name, number++);
        ppsched_config_destroy(config);
    }
    add_results(subject, &results);
}

/* Keeps small problems; of those for which other projects search, the strategies' own table has its share. */
static void keep_golden(const struct golden *one, void *user)
{
    uint32_t strategy = 0;
    if (strcmp(one->match, "order") != 0 || one->stages * one->microbatches * one->iterations > MOST_PASSES ||
        ppsched_strategy_find(&strategy, one->strategy, NULL) != PPSCHED_OK)
        return;
    assert_true(golden_count < MOST_GOLDEN);
    golden[golden_count].file = user;
    golden[golden_count].config = golden_config(one);
    snprintf(golden[golden_count++].strategy, sizeof golden[0].strategy, "%s", one->strategy);
}

static void read_all_golden(void)
{
    static char files[][16] = {"dualpipe", "pytorch", "sail", "seed000", "seed003", "victarry", "zeropipe"};
    for (size_t f = 0; f < sizeof files / sizeof files[0]; f++)
        read_golden(files[f], keep_golden, files[f]);
}

static void add_all_golden(void)
{
    struct results results;
    for (int i = 0; i < golden_count; i++) {
        if (i == 0 || golden[i].file != golden[i - 1].file)
            results_start(&results);
        results_add(&results, golden[i].config, golden[i].strategy, i);
        ppsched_config_destroy(golden[i].config);
        if (i + 1 == golden_count || golden[i].file != golden[i + 1].file)
            add_results(golden[i].file, &results);
    }
}

/* Writes the lines to a file. */
static int update(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < line_count; i++)
        fprintf(file, "%s\n", lines[i]);
    assert_int_equal(fclose(file), 0);
    return 0;
}

/* Compares the lines with those of a file and prints what differs; returns 1 where something does. */
static int compare(const char *path)
{
    char line[LINE_SIZE];
    int count = 0, differs = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (; fgets(line, sizeof line, file) != NULL; count++) {
        line[strcspn(line, "\n")] = '\0';
        if (count >= line_count || strcmp(line, lines[count]) == 0)
            continue;
        printf("%s, expected %s\n", lines[count], line);
        differs = 1;
    }
    fclose(file);
    if (count != line_count)
        printf("%d lines, expected %d\n", line_count, count);
    return differs || count != line_count;
}

static void take_locale(const char *name)
{
    if (setlocale(LC_ALL, name) == NULL || strcmp(localeconv()->decimal_point, ",") != 0)
        fail_msg("%s is no locale here with a decimal comma", name);
}

static void add_all(void)
{
    for (uint32_t strategy = 0; strategy < ppsched_strategy_count(); strategy++)
        add_strategy(strategy);
    add_micro_slices("microbatches", 1);
    add_micro_slices("slices", 3);
    add_devices("calls", PPSCHED_QUANTITY_SEND_OVERHEAD, (const double[]){0.1, 0.03, 0.2});
    add_devices("speeds", PPSCHED_QUANTITY_DEVICE_SPEEDS, (const double[]){1, 0.3, 0.7});
    add_all_golden();
    add_line("all", "bounds", digest_of_bounds());
    add_line("all", "restaged", digest_of_restaged());
    add_line("all", "plans", digest_of_plans());
    add_line("all", "varied", digest_of_varied_plans());
}

int main(int argc, char **argv)
{
    const char *option = argc == 3 || argc == 4 ? argv[1] : "", *path = argv[argc - 1];
    int updates = argc == 3 && strcmp(option, "--update") == 0, with_locale = argc == 4 && strcmp(option, "--locale") == 0;
    if (argc != 2 && !updates && !with_locale)
        fail_msg("usage: %s [--update | --locale NAME] FILE", argv[0]);
    read_all_golden();
    if (with_locale)
        take_locale(argv[2]);
    add_all();
    return updates ? update(path) : compare(path);
}
