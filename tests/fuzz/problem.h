/* SPDX-License-Identifier: Apache-2.0 */
/* Problems from a fuzzer's bytes: any sizes, placement, costs, delays and limits that a config takes. */
#ifndef PPSCHED_TESTS_FUZZ_PROBLEM_H
#define PPSCHED_TESTS_FUZZ_PROBLEM_H

#include "fuzz/bytes.h"
#include "fuzz/harness.h"

/* The largest sizes; stages are at most devices times chunks, at most LARGEST_STAGES. */
struct largest {
    uint32_t devices, chunks, microbatches, iterations;
};

enum { LARGEST_STAGES = 16 };

/* The caller destroys it. Values that the config refuses are left out. */
ppsched_config *take_problem(struct bytes *bytes, const struct largest *largest, struct meter *meter);

/* The quantities one after another, from 1; a number that is none of them where `index` is none. */
enum { QUANTITIES = 57 };
int32_t quantity_at(int32_t index);
bool is_quantity(int32_t quantity);

/* A channel model, seldom of an order that there is none of. */
ppsched_channel_model take_channel(struct bytes *bytes);

/* What is in the first or the last stage beside layers; its values may contradict each other. */
ppsched_model_end take_end(struct bytes *bytes);

#endif
