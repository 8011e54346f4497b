/* SPDX-License-Identifier: Apache-2.0 */
/* A pipeline runtime on MPI with one rank per device. It trains a model with any schedule of the library, and plans again with
 * the times that it measured. docs/embedding.md explains it.
 *
 *   mpirun -n 4 mpi_runtime --strategy zb_h1 --microbatches 8 */
#include <stdio.h>
#include <stdlib.h>

#include "walk.h"

static int rank, ranks;

/* All ranks call this, each with an error or NULL. If there is an error, the lowest rank with one prints it, and all ranks end.
 * So no rank waits for one that has ended. */
static void agree(const char *wrong)
{
    int first = wrong != NULL ? rank : ranks;
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == ranks)
        return;
    if (first == rank)
        fprintf(stderr, "mpi_runtime: %s\n", wrong);
    MPI_Finalize();
    exit(1);
}

static void require(ppsched_status status, const ppsched_error *error)
{
    agree(status == PPSCHED_OK ? NULL : error->message);
}

/* --- the schedule --- */

/* The options with a value come first. */
static const char *const options[] = {"--strategy",         "--file",     "--chunks", "--microbatches",
                                      "--iterations",       "--slices",   "--steps",  "--work",
                                      "--receive-prefetch", "--blocking", "--unsafe"};
enum { WITH_VALUE = 9, OPTIONS = sizeof options / sizeof *options };
static char **words; /* of the command line, after the program's name */

static void check_words(void)
{
    for (char **word = words; *word != NULL; word++) {
        int k = 0;
        while (k < OPTIONS && strcmp(*word, options[k]) != 0)
            k++;
        if (k == OPTIONS || (k < WITH_VALUE && *++word == NULL))
            agree("--strategy NAME or --file SCHEDULE.csv|.json, --chunks V, --microbatches M, --iterations N, --slices K, "
                  "--steps K, --work MILLISECONDS, --receive-prefetch OPS, --blocking, --unsafe");
    }
}

/* The word after an option, "" after the last one; NULL if the option is not given. */
static const char *given(const char *option)
{
    for (char **word = words; *word != NULL; word++)
        if (strcmp(*word, option) == 0)
            return word[1] != NULL ? word[1] : "";
    return NULL;
}

static long number(const char *option, long otherwise)
{
    const char *text = given(option);
    if (text != NULL && (*text == '\0' || text[strspn(text, "0123456789")] != '\0'))
        agree("--chunks, --microbatches, --iterations, --slices, --steps, --work and --receive-prefetch are whole numbers");
    return text != NULL ? strtol(text, NULL, 10) : otherwise;
}

static ppsched_schedule *read_schedule(const char *path)
{
    static char text[1 << 22];
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        agree("the schedule cannot be opened");
    size_t size = fread(text, 1, sizeof text, file);
    fclose(file);
    if (size == sizeof text)
        agree("the schedule has 4 MiB or more");
    int32_t format = text[0] == '{' ? PPSCHED_FORMAT_JSON : PPSCHED_FORMAT_CSV;
    require(ppsched_schedule_import(&schedule, format, text, size, NULL, &error), &error);
    if (ppsched_schedule_devices(schedule) != (uint32_t)ranks)
        agree("the schedule has another number of devices than there are ranks");
    return schedule;
}

/* One device per rank, equal stages. */
static ppsched_config *make_config(long stages, long microbatches, long iterations, long slices)
{
    ppsched_config *config = NULL;
    ppsched_error error;
    require(ppsched_config_create(&config, ranks, stages, microbatches, NULL, &error), &error);
    require(ppsched_config_set_iterations(config, iterations, &error), &error);
    require(ppsched_config_set_slices(config, slices, &error), &error);
    return config;
}

static ppsched_schedule *make_schedule(const char *strategy)
{
    ppsched_strategy_info info = {.size = sizeof info};
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    uint32_t index = 0;
    require(ppsched_strategy_find(&index, strategy, &error), &error);
    require(ppsched_strategy_get_info(&info, index, &error), &error);
    long stages = ranks * (info.chunks != 0 ? (long)info.chunks : number("--chunks", 1));
    ppsched_config *config = make_config(stages, number("--microbatches", 8), number("--iterations", 1), number("--slices", 1));
    require(ppsched_schedule_generate(&schedule, config, strategy, &error), &error);
    ppsched_config_destroy(config);
    return schedule;
}

/* The schedule with sends and receives; it is lowered if it has none. */
static const ppsched_schedule *lower(const ppsched_schedule *schedule)
{
    const ppsched_lower_options how = {.size = sizeof how,
                                       .lowering = PPSCHED_LOWERING_JUST_IN_TIME,
                                       .receive_prefetch = (uint32_t)number("--receive-prefetch", 1)};
    ppsched_schedule *lowered = NULL;
    ppsched_error error;
    ppsched_status status = ppsched_schedule_lower(&lowered, schedule, NULL, &how, &error);
    if (status == PPSCHED_ERROR_REFUSED && given("--file") != NULL)
        return ppsched_schedule_retain(schedule); /* lowered in the file */
    require(status, &error);
    return lowered;
}

/* Refuses schedules that may deadlock, unless --unsafe is given. A schedule without a send or receive that it needs has no wait
 * cycle; it is always refused. */
static void prove(const ppsched_schedule *lowered)
{
    const ppsched_channel_model model = {
        .size = sizeof model, .order = PPSCHED_CHANNEL_ORDER_NONE, .rendezvous = 1, .blocking = given("--blocking") != NULL};
    ppsched_error error;
    size_t circle = 0;
    ppsched_status safe = ppsched_schedule_prove(NULL, 0, &circle, lowered, &model, &error);
    if (rank == 0)
        printf("sends and receives: %s\n", safe == PPSCHED_OK ? "proven never to hang" : error.message);
    if (circle == 0 || given("--unsafe") == NULL)
        require(safe, &error);
}

/* --- checking the result --- */

/* Runs all stages and micro-slices one after another in this process. Adds their gradients, and returns the loss. */
static double without_pipeline(struct mlp *stages, uint32_t stage_count, uint32_t micro_slices)
{
    struct activation *kept = walk_room(stage_count, sizeof *kept);
    static double by_outputs[VALUE], by_inputs[VALUE];
    double loss = 0;
    for (uint32_t m = 0; m < micro_slices; m++) {
        mlp_inputs(kept[0].value[0], m);
        for (uint32_t s = 0; s < stage_count; s++) {
            mlp_forward(&stages[s], &kept[s]);
            if (s + 1 < stage_count)
                memcpy(kept[s + 1].value[0], kept[s].value[DEPTH], sizeof by_outputs);
        }
        loss += mlp_loss(by_outputs, kept[stage_count - 1].value[DEPTH], m, micro_slices);
        for (uint32_t s = stage_count; s-- > 0;) {
            mlp_backward_input(&stages[s], &kept[s], by_outputs, by_inputs);
            mlp_backward_weight(&stages[s], &kept[s]);
            memcpy(by_outputs, by_inputs, sizeof by_outputs);
        }
    }
    free(kept);
    return loss;
}

/* Sums the gradients of each stage over all ranks. Rank 0 computes the largest difference from the model without a pipeline, as
 * a share; on the other ranks it is 0. Then all ranks update their weights. */
static double check(struct walk *walk, struct mlp *alone)
{
    double worst = 0, size = 0, expected = rank == 0 ? without_pipeline(alone, walk->stages, walk->micro_slices) : 0;
    for (uint32_t s = 0; s < walk->stages; s++) {
        double *sums = walk->stage[s].gradient;
        MPI_Allreduce(MPI_IN_PLACE, sums, DEPTH * WEIGHT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < DEPTH * WEIGHT && rank == 0; i++) {
            double difference = fabs(sums[i] - alone[s].gradient[i]);
            worst = isnan(difference) ? INFINITY : fmax(worst, difference);
            size = fmax(size, fabs(alone[s].gradient[i]));
        }
        mlp_descend(&walk->stage[s], 0.5);
        mlp_descend(&alone[s], 0.5);
    }
    MPI_Allreduce(MPI_IN_PLACE, &walk->loss, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return rank == 0 ? fmax(worst / size, fabs(walk->loss - expected) / expected) : 0;
}

/* --- planning again --- */

/* Mean times of each stage, over all ranks. Kinds of op that no rank runs are left out: B, or I and W. */
static void set_measured(ppsched_config *config, const struct walk *walk)
{
    static const int32_t quantities[KINDS] = {PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_QUANTITY_BACKWARD_TIMES,
                                              PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES};
    const size_t stages = walk->stages;
    double *seconds = walk->seconds, *counts = walk->counts;
    ppsched_error error;
    MPI_Allreduce(MPI_IN_PLACE, seconds, (int)(2 * KINDS * stages), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* and the counts */
    for (size_t kind = 0; kind < KINDS; kind++) {
        double runs = 0;
        for (size_t i = kind * stages; i < (kind + 1) * stages; i++) {
            runs += counts[i];
            seconds[i] /= counts[i] > 0 ? counts[i] : 1;
        }
        if (runs > 0)
            require(ppsched_config_set_values(config, quantities[kind], &seconds[kind * stages], stages, &error), &error);
    }
}

/* The time of an iteration with the measured times, and that of the best schedule, which rank 0 finds. */
static void plan_again(const ppsched_schedule *schedule, const struct walk *walk, double measured)
{
    uint32_t chunks = walk->stages / (uint32_t)ranks;
    uint32_t iterations = ppsched_schedule_iterations(schedule);
    const ppsched_plan_options wanted = {.size = sizeof wanted, .chunks = &chunks, .chunk_count = 1};
    ppsched_candidate candidate = {.size = sizeof candidate};
    ppsched_metrics metrics = {.size = sizeof metrics};
    ppsched_config *config = make_config(walk->stages, ppsched_schedule_microbatches(schedule), iterations, walk->slices);
    ppsched_timeline *timeline = NULL;
    ppsched_plan *plan = NULL;
    ppsched_error error;
    require(ppsched_schedule_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_REUSABLE, &error), &error);
    set_measured(config, walk);
    require(ppsched_timeline_update(timeline, config, &error), &error); /* in a loop this allocates nothing */
    require(ppsched_timeline_get_metrics(&metrics, timeline, &error), &error);
    ppsched_status status = rank == 0 ? ppsched_plan_create(&plan, config, &wanted, &error) : PPSCHED_OK;
    if (rank == 0 && status == PPSCHED_OK)
        status = ppsched_plan_run(plan, &error);
    if (rank == 0 && status == PPSCHED_OK)
        status = ppsched_plan_get_candidate(&candidate, plan, ppsched_plan_candidate_at_rank(plan, 0), &error);
    require(status, &error);
    if (rank == 0)
        printf("%s: planned %.2f ms, measured %.2f ms; best: %s, planned %.2f ms\n", ppsched_schedule_name(schedule),
               1e3 * metrics.makespan / iterations, 1e3 * measured / iterations, candidate.strategy, 1e3 * candidate.step_time);
    ppsched_plan_destroy(plan);
    ppsched_timeline_destroy(timeline);
    ppsched_config_destroy(config);
}

/* Waits until this rank may start a step. Ranks leave a barrier one after another, which takes long with slow links. If they
 * share a clock, as in a simulation, they agree on a time instead. */
static double start_together(void)
{
    int *has_one_clock = NULL, is_known = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &has_one_clock, &is_known);
    if (is_known && *has_one_clock) {
        MPI_Allreduce(MPI_IN_PLACE, &start, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        start += 1; /* by then all ranks know it */
        walk_sleep(start - MPI_Wtime());
    }
    return start;
}

/* The time of a step, from its start to the end on the last rank. */
static double time_step(struct walk *walk, int measures)
{
    double seconds = -start_together();
    walk_step(walk, measures);
    seconds += MPI_Wtime();
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return seconds;
}

/* Returns the largest difference of all steps. `*measured` receives their mean time. */
static double train(struct walk *walk, long steps, double *measured)
{
    struct mlp *alone = walk_room(walk->stages, sizeof *alone);
    double worst = 0;
    for (uint32_t s = 0; s < walk->stages; s++)
        mlp_start(&alone[s], s);
    for (long step = 0; step <= steps; step++) { /* the first one is not measured */
        double seconds = time_step(walk, step > 0);
        *measured += step > 0 ? seconds / (double)steps : 0;
        worst = fmax(worst, check(walk, alone));
        if (rank == 0)
            printf("step %ld: loss %.6f\n", step, walk->loss);
    }
    free(alone);
    return worst;
}

int main(int count, char **arguments)
{
    static struct walk walk;
    ppsched_error error;
    double measured = 0;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    words = arguments + 1;
    check_words();
    long steps = number("--steps", 3);
    walk.work = (double)number("--work", 0) / 1e3;
    walk.blocks = given("--blocking") != NULL;
    const char *file = given("--file"), *strategy = given("--strategy");
    const ppsched_schedule *schedule = file != NULL ? read_schedule(file) : make_schedule(strategy != NULL ? strategy : "1f1b");
    const ppsched_schedule *lowered = lower(schedule);
    prove(lowered);
    require(walk_lay_out(&walk, lowered, (uint32_t)rank, &error), &error);
    agree(walk.copies ? "the schedule copies activations to the host, which this program does not do" : NULL);
    double worst = train(&walk, steps, &measured);
    if (rank == 0)
        printf("gradients differ by %.1e of the largest gradient from a run without a pipeline; rank 0 has an arena of %zu "
               "bytes\n",
               worst, walk.bytes);
    if (steps > 0)
        plan_again(schedule, &walk, measured);
    walk_free(&walk);
    ppsched_schedule_release(lowered);
    ppsched_schedule_release(schedule);
    MPI_Finalize();
    return worst > 1e-12;
}
