/* SPDX-License-Identifier: Apache-2.0 */
#include "support/golden.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void clear(struct golden *g)
{
    for (int d = 0; d < MOST_DEVICES; d++) {
        free(g->order[d]);
        free(g->start[d]);
        free(g->end[d]);
    }
    memset(g, 0, sizeof *g);
    g->iterations = g->slices = 1;
    g->makespan = g->span = -1;
    for (int d = 0; d < MOST_DEVICES; d++)
        g->peak[d] = -1;
}

static int numbers(const char *text, double *out, int most)
{
    int count = 0;
    char *end = NULL;
    for (double x = strtod(text, &end); end != text && count < most; x = strtod(text, &end)) {
        out[count++] = x;
        text = end;
    }
    return count;
}

static void read_cost(struct golden *g, const char *rest)
{
    const char *kinds = "?FBIW";
    int kind = (int)(strchr(kinds, rest[0]) - kinds);
    g->cost_count[kind] = numbers(rest + 1, g->costs[kind], MOST_STAGES);
}

static void read_memory(struct golden *g, int kind, const char *value)
{
    g->memory_count[kind] = numbers(value, g->memory[kind], MOST_STAGES);
}

static void read_setting(struct golden *g, const char *rest)
{
    char key[64];
    int used = 0;
    assert_int_equal(sscanf(rest, "%63s %n", key, &used), 1);
    const char *value = rest + used;
    if (strcmp(key, "iterations") == 0)
        g->iterations = atoi(value);
    else if (strcmp(key, "seq_splits") == 0)
        g->slices = atoi(value);
    else if (strcmp(key, "group_size") == 0)
        snprintf(g->group_size, sizeof g->group_size, "%s", value);
    else if (strcmp(key, "sender_waits") == 0)
        g->senders_wait = strcmp(value, "like_kind") == 0;
    else if (strcmp(key, "recompute_chunks") == 0)
        g->recompute_chunks = atoi(value);
    else if (strcmp(key, "offload_chunks") == 0)
        g->offload_chunks = atoi(value);
    else if (strcmp(key, "offload_time") == 0)
        g->offload_time = atof(value);
    else if (strcmp(key, "merge_bw") == 0)
        g->merge_backwards = atoi(value);
    else if (strcmp(key, "max_active_stages") == 0)
        g->max_active_stages = atoi(value);
    else if (strcmp(key, "defer_pp_recv") == 0)
        g->defer_receives = atoi(value);
    else if (strcmp(key, "objective") == 0)
        snprintf(g->objective, sizeof g->objective, "%s", value);
    else if (strcmp(key, "optimum") == 0)
        snprintf(g->optimum, sizeof g->optimum, "%s", value);
    else if (strcmp(key, "mem_limit") == 0)
        g->mem_limit_count = numbers(value, g->mem_limit, MOST_DEVICES); /* "none": 0 */
    else if (strncmp(key, "overlapped_forward_backward", 27) == 0)
        g->overlapped_count = numbers(value, g->overlapped, MOST_STAGES);
    else if (strncmp(key, "mem_", 4) == 0 && strchr("fiw", key[4]) != NULL && key[5] == '\0')
        read_memory(g, (int)(strchr("fiw", key[4]) - "fiw"), value);
}

void read_golden_row(char **rows, const char *rest)
{
    char *tokens = NULL;
    long device = strtol(rest, &tokens, 10);
    assert_in_range(device, 0, MOST_DEVICES - 1);
    rows[device] = strdup(*tokens == ' ' ? tokens + 1 : tokens);
}

/* sail's tokens name pieces: p is slice p mod K of microbatch p div K. */
static void read_order(struct golden *g, const char *rest)
{
    read_golden_row(g->order, rest);
    if (g->slices == 1)
        return;
    char **row = &g->order[atoi(rest)], *own = calloc(2 * strlen(*row) + 64, 1), *out = own;
    for (char *next = *row, *token; (token = strtok_r(next, " ", &next)) != NULL;) {
        size_t number = strcspn(token, "FB_");
        number += strcspn(token + number, "0123456789");
        int micro_slice = atoi(token + number);
        out += sprintf(out, "%s%.*s%d.%d", out == own ? "" : " ", (int)number, token, micro_slice / g->slices,
                       micro_slice % g->slices);
    }
    free(*row);
    *row = own;
}

static void read_line(struct golden *g, const char *line)
{
    char word[32];
    int used = 0;
    if (line[0] == '#' || sscanf(line, "%31s %n", word, &used) != 1)
        return;
    const char *rest = line + used;
    if (strcmp(word, "case") == 0)
        clear(g), snprintf(g->name, sizeof g->name, "%s", rest);
    else if (strcmp(word, "strategy") == 0)
        snprintf(g->strategy, sizeof g->strategy, "%s", rest);
    else if (strcmp(word, "match") == 0)
        snprintf(g->match, sizeof g->match, "%s", rest);
    else if (strcmp(word, "placement") == 0)
        snprintf(g->placement, sizeof g->placement, "%s", rest);
    else if (strcmp(word, "devices") == 0)
        g->devices = atoi(rest);
    else if (strcmp(word, "stages") == 0)
        g->stages = atoi(rest);
    else if (strcmp(word, "microbatches") == 0)
        g->microbatches = atoi(rest);
    else if (strcmp(word, "set") == 0)
        read_setting(g, rest);
    else if (strcmp(word, "cost") == 0)
        read_cost(g, rest);
    else if (strcmp(word, "p2p") == 0)
        g->p2p = atof(rest);
    else if (strcmp(word, "makespan") == 0)
        g->makespan = atof(rest);
    else if (strcmp(word, "span") == 0)
        g->span = atof(rest);
    else if (strcmp(word, "order") == 0)
        read_order(g, rest);
    else if (strcmp(word, "start") == 0)
        read_golden_row(g->start, rest);
    else if (strcmp(word, "end") == 0)
        read_golden_row(g->end, rest);
    else if (strcmp(word, "peak") == 0)
        g->peak[atoi(rest)] = atof(strchr(rest, ' '));
}

ppsched_config *golden_config(const struct golden *g)
{
    static const int32_t quantities[] = {0, PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_QUANTITY_BACKWARD_TIMES,
                                         PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES};
    ppsched_config *config = make_config(g->devices, g->stages, g->microbatches / g->slices);
    ppsched_error error;
    expect_ok(ppsched_config_set_slices(config, g->slices, &error), &error);
    expect_ok(ppsched_config_set_iterations(config, g->iterations, &error), &error);
    for (int k = 1; k <= 4; k++)
        expect_ok(ppsched_config_set_values(config, quantities[k], g->costs[k], (size_t)g->cost_count[k], &error), &error);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, g->overlapped, (size_t)g->overlapped_count,
                                        &error),
              &error);
    set_number(config, PPSCHED_QUANTITY_P2P_TIME, g->p2p);
    for (int i = 0; i < 3; i++)
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_FORWARD + i, g->memory[i], (size_t)g->memory_count[i],
                                            &error),
                  &error);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, g->mem_limit, (size_t)g->mem_limit_count, &error),
              &error);
    if (g->senders_wait)
        expect_ok(ppsched_config_set_sender_waits(config, PPSCHED_SENDER_WAITS_LIKE_KIND, &error), &error);
    if (g->group_size[0] != '\0')
        expect_ok(ppsched_config_set_option(config, "group_size", g->group_size, &error), &error);
    return config;
}

void read_golden_lines(const char *name, void (*visit)(const char *line, int is_done, void *user), void *user)
{
    static char line[GOLDEN_LINE];
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.txt", GOLDEN_CASES, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        visit(line, strcmp(line, "done") == 0, user);
    }
    fclose(file);
}

struct reader {
    struct golden golden;
    void (*visit)(const struct golden *golden, void *user);
    void *user;
};

static void take_line(const char *line, int is_done, void *user)
{
    struct reader *reader = user;
    read_line(&reader->golden, line);
    if (is_done)
        reader->visit(&reader->golden, reader->user);
}

void read_golden(const char *name, void (*visit)(const struct golden *golden, void *user), void *user)
{
    static struct reader reader;
    reader.visit = visit;
    reader.user = user;
    read_golden_lines(name, take_line, &reader);
    clear(&reader.golden);
}
