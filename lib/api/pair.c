/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: what an overlapped pair takes. */
#include <ppsched/pair.h>

#include "api/buffer.h"
#include "base/host.h"
#include "base/sized.h"
#include "pair/answer.h"
#include "pair/problem.h"
#include "pair/stages.h"

/* Checks the caller's structs and buffer; `*count` gets the number of windows. */
static ppsched_status take_call(ppsched_pair_windows *own, struct ppi_host *host, size_t *count, const void *out,
                                size_t capacity, ppsched_pair_times *times, const ppsched_pair_windows *pair,
                                const ppsched_environment *environment, ppsched_error *error)
{
    const ppsched_pair_times nothing = {0};
    ppsched_status status = ppi_host_take(host, environment, error);
    if (status == PPSCHED_OK)
        status = ppi_take_sized(own, sizeof *own, sizeof(ppsched_pair_windows), pair, "ppsched_pair_windows", error);
    if (status == PPSCHED_OK && own->reserved != 0)
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "reserved of ppsched_pair_windows is %u; it must be 0", own->reserved);
    if (status == PPSCHED_OK)
        status = ppi_pair_count(count, own, error);
    if (status == PPSCHED_OK && times != NULL)
        status = ppi_give_sized(times, &nothing, sizeof nothing, sizeof nothing, "ppsched_pair_times", error);
    if (status == PPSCHED_OK)
        status = ppi_check_room(out, capacity, *count, "windows", error);
    return status;
}

ppsched_status ppsched_pair_find_order(ppsched_window_span *out, size_t capacity, size_t *needed, ppsched_pair_times *times,
                                       const ppsched_pair_windows *pair, const ppsched_environment *environment,
                                       ppsched_error *error)
{
    struct ppi_host host;
    ppsched_pair_windows own;
    ppsched_pair_times found;
    size_t count = 0;
    PPI_REQUIRE_BUFFER(out, capacity);
    if (out != NULL)
        PPI_REQUIRE(times);
    PPI_REQUIRE(pair);
    ppsched_status status = take_call(&own, &host, &count, out, capacity, times, pair, environment, error);
    if (status == PPSCHED_OK && times != NULL)
        status = ppi_pair_find(&found, out, &own, &host, error);
    if (status == PPSCHED_OK && times != NULL)
        status = ppi_give_sized(times, &found, sizeof found, sizeof found, "ppsched_pair_times", error);
    return ppi_tell_needed(needed, count, status);
}

ppsched_status ppsched_pair_run_order(ppsched_window_span *out, size_t capacity, size_t *needed, ppsched_pair_times *times,
                                      const ppsched_pair_windows *pair, const int32_t *kinds, size_t count,
                                      const ppsched_environment *environment, ppsched_error *error)
{
    struct ppi_host host;
    ppsched_pair_windows own;
    ppsched_pair_times found;
    size_t windows = 0;
    PPI_REQUIRE_BUFFER(out, capacity);
    if (out != NULL)
        PPI_REQUIRE(times);
    PPI_REQUIRE(pair);
    if (count > 0)
        PPI_REQUIRE(kinds);
    ppsched_status status = take_call(&own, &host, &windows, out, capacity, times, pair, environment, error);
    if (status == PPSCHED_OK && times != NULL)
        status = ppi_pair_run(&found, out, &own, kinds, count, &host, error);
    if (status == PPSCHED_OK && times != NULL)
        status = ppi_give_sized(times, &found, sizeof found, sizeof found, "ppsched_pair_times", error);
    return ppi_tell_needed(needed, windows, status);
}

ppsched_status ppsched_config_set_windows(ppsched_config *config, const ppsched_pair_windows *const *stages, size_t count,
                                          ppsched_error *error)
{
    PPI_REQUIRE(config);
    PPI_REQUIRE(stages);
    return ppi_config_set_windows(config, stages, count, error);
}

ppsched_status ppsched_config_get_windows(ppsched_pair_windows *out, const ppsched_config *config, uint32_t stage,
                                          ppsched_error *error)
{
    enum { FORWARD, BACKWARD, WEIGHT };
    ppsched_pair_windows own = {.size = sizeof own};
    PPI_REQUIRE(out);
    PPI_REQUIRE(config);
    if (stage >= config->shape.stages)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "there is no stage %u; give less than %u", stage, config->shape.stages);
    if (config->windows != NULL) {
        const struct ppi_stage_windows *made = ppi_windows_of(config->windows, stage);
        own.forward = made->of[FORWARD], own.forward_count = made->count[FORWARD];
        own.backward = made->of[BACKWARD], own.backward_count = made->count[BACKWARD];
        own.weight = made->count[WEIGHT] > 0 ? made->of[WEIGHT] : NULL, own.weight_count = made->count[WEIGHT];
        for (uint32_t c = 0; c < PPSCHED_MAX_WINDOW_CHANNELS; c++)
            own.slowdown[c] = config->windows->slowdown[c];
    }
    return ppi_give_sized(out, &own, sizeof own, sizeof own, "ppsched_pair_windows", error);
}
