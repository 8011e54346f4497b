/* SPDX-License-Identifier: Apache-2.0 */
/* The orders of captured cases as schedules, and what was captured of them beside: times, peaks, lengths. */
#ifndef PPSCHED_TESTS_CAPTURED_H
#define PPSCHED_TESTS_CAPTURED_H

#include "support/golden.h"

/* All ops of the case's order, or those that compute. Gives the config the case's placement. */
ppsched_schedule *captured_schedule(const struct golden *golden, ppsched_config *config, int computes_only);

/* Fails the test unless both are the same up to rounding. */
void expect_captured_near(const struct golden *golden, const char *what, double ours, double theirs);

/* Compares all times, peaks and lengths that the case gives; the timeline is of its order. */
void expect_captured_figures(const struct golden *golden, const ppsched_timeline *timeline);

#endif
