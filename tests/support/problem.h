/* SPDX-License-Identifier: Apache-2.0 */
/* Short ways to configs, schedules and timelines for tests. They fail the running test where the library does. */
#ifndef PPSCHED_TESTS_PROBLEM_H
#define PPSCHED_TESTS_PROBLEM_H

/* cmocka wants these first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ppsched/ppsched.h>

/* Fails with the library's message unless the status is OK. */
void expect_ok(ppsched_status status, const ppsched_error *error);

ppsched_config *make_config(int64_t devices, int64_t stages, int64_t microbatches);
void set_number(ppsched_config *config, int32_t quantity, double value);
ppsched_schedule *make_schedule(const ppsched_config *config, const char *strategy);

/* Checks the schedule first; all other tests come through here. */
ppsched_timeline *make_timeline(const ppsched_schedule *schedule, const ppsched_config *config);

/* The tokens of a device's queue with blanks between, pairs as pairs; the caller frees it. */
char *queue_text(const ppsched_schedule *schedule, uint32_t device);

/* A whole export with a NUL; `timeline` and `options` may be NULL. The caller frees it. */
char *export_text(const ppsched_schedule *schedule, const ppsched_timeline *timeline, int32_t format,
                  const ppsched_export_options *options);

ppsched_metrics metrics_of(const ppsched_timeline *timeline);
ppsched_device_metrics device_metrics_of(const ppsched_timeline *timeline, uint32_t device);

/* Reads one token ("3F0"); fails the test where it is none. */
ppsched_op op_from_token(const char *token);

/* Appends so many to a device's queue. */
void append_tokens(ppsched_builder *builder, uint32_t device, const char *const *tokens, size_t count);

/* Deterministic random numbers. */
uint64_t random_next(uint64_t *state);
uint32_t random_below(uint64_t *state, uint32_t bound);

#endif
