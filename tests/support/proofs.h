/* SPDX-License-Identifier: Apache-2.0 */
/* Proofs that lowered schedules end, held against a plain execution of the channel model. */
#ifndef PPSCHED_TESTS_PROOFS_H
#define PPSCHED_TESTS_PROOFS_H

#include "support/channel_rules.h"

enum { MODELS = 5 * 8 };

/* Proves a schedule under all models, MODELS of them: each proof agrees with the plain execution, the links of a circle each
 * wait for the next one's device, the lowest device first, and where it must be safe it is. Adds how many are not to
 * `*unsafe`. */
void check_all_models(const ppsched_schedule *lowered, const char *what, int must_be_safe, int *unsafe);

/* Where a compute op is on its device that consumes a receive. */
size_t consumer_of(const struct plain *plain, uint32_t d, const ppsched_op *receive);

#endif
