/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime that runs what is ready, looked at moment by moment. */
#ifndef PPSCHED_TESTS_BRUTE_DISPATCH_H
#define PPSCHED_TESTS_BRUTE_DISPATCH_H

#include "support/brute.h"

/* Runs everything by the rule of PPSCHED_DISPATCH_READY. `cap`: what each device may hold; `peaks` gets the most that each
 * held. */
void brute_dispatch(struct brute *brute, const ppsched_schedule *schedule, const struct brute_costs *costs, const double *cap,
                    double *peaks);

/* The most that each device holds as planned. */
void brute_planned_peaks(double *out, struct brute *brute, const ppsched_schedule *schedule, const struct brute_costs *costs);

#endif
