/* SPDX-License-Identifier: Apache-2.0 */
/* Launch arguments, as tests ask for them. */
#ifndef PPSCHED_TESTS_LAUNCHING_H
#define PPSCHED_TESTS_LAUNCHING_H

#include "support/problem.h"

enum { MEGATRON = PPSCHED_RUNTIME_MEGATRON, TORCHTITAN, PYTORCH, DEEPSPEED, SAIL, PRIMUS, COLOSSALAI, JAXPP, MINDSPEED };

/* The line, or what the library says where it gives another status than OK; the caller frees it. Fails the test unless the
 * status is the wanted one. `options` may be NULL. */
char *line_with(const ppsched_schedule *schedule, int32_t runtime, const ppsched_launch_options *options,
                ppsched_status wanted);

void expect_line(const ppsched_schedule *schedule, int32_t runtime, const ppsched_launch_options *options, const char *wanted);

/* REFUSED, in one line with that part. */
void expect_refused(const ppsched_schedule *schedule, int32_t runtime, const ppsched_launch_options *options, const char *part);

/* A strategy's schedule; `group_size` is an option's value, or NULL. */
ppsched_schedule *sized_schedule(const char *strategy, int devices, int stages, int microbatches, const char *group_size);

#endif
