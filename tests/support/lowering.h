/* SPDX-License-Identifier: Apache-2.0 */
/* Random problems whose schedules have comm ops, and lowered orders of them. */
#ifndef PPSCHED_TESTS_LOWERING_H
#define PPSCHED_TESTS_LOWERING_H

#include "support/problem.h"

/* A problem of up to MOST_DEVICES devices that the strategy, a name of static storage, serves. */
ppsched_config *random_problem(uint64_t *seed, const char **strategy);

ppsched_schedule *lower(const ppsched_schedule *schedule, const ppsched_config *config, int32_t lowering, int defer);

/* Just in time, with receives so many units ahead. */
ppsched_schedule *lower_ahead(const ppsched_schedule *schedule, uint32_t lead);

/* Moves comm ops about at random, as far as they stay behind their producer and before their consumer. */
ppsched_schedule *shuffled(const ppsched_schedule *lowered, const ppsched_config *config, uint64_t *seed);

#endif
