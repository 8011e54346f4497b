/* SPDX-License-Identifier: Apache-2.0 */
/* A pattern that all microbatches repeat, one period apart: when each F and I of the first one starts, so that those of all
 * others find their device free. Compilers do the same to loops: modulo scheduling (Rau, "Iterative Modulo Scheduling",
 * 1994). */
#ifndef PPSCHED_SEARCH_PATTERN_H
#define PPSCHED_SEARCH_PATTERN_H

#include "search/problem.h"

enum { PPI_PATTERN_MOST_STAGES = 16 }; /* of a device; the work grows with their square */

struct ppi_pattern {
    double period;
    struct ppi_ways *start; /* by stage: of F and I */
    struct ppi_slot *slots; /* of the device in hand: by stage list, two for each stage */
};

/* Whether the problem's devices have few enough stages. */
bool ppi_pattern_suits(const struct ppi_problem *problem);

ppsched_status ppi_pattern_make(struct ppi_pattern *out, const struct ppi_problem *problem, ppsched_error *error);
void ppi_pattern_clear(struct ppi_pattern *pattern, const struct ppi_problem *problem);

/* The shortest period that leaves each device time for all its ops. */
double ppi_pattern_least_period(const struct ppi_problem *problem);

/* Places all Fs and then all Is as early as their inputs and the pattern so far allow. False where one finds no room. */
bool ppi_pattern_place(struct ppi_pattern *pattern, const struct ppi_problem *problem, double period);

/* Activations of a stage that are held at once while the pattern repeats. */
double ppi_pattern_in_flight(const struct ppi_pattern *pattern, const struct ppi_problem *problem, uint32_t stage);

/* Whether they stay within all limits. */
bool ppi_pattern_fits(const struct ppi_pattern *pattern, const struct ppi_problem *problem);

#endif
