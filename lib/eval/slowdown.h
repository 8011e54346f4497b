/* SPDX-License-Identifier: Apache-2.0 */
/* Compute that goes slower while copies of its device run. When a unit ends is known once all copies that start before are:
 * until then it is told when it would end if no more did. */
#ifndef PPSCHED_EVAL_SLOWDOWN_H
#define PPSCHED_EVAL_SLOWDOWN_H

/* Of a device. */
struct ppi_slowdown {
    double slowdown; /* how much longer work takes while a copy runs: 1 or more, infinite where it stands still */
    double copied;   /* when the last of the copies that have started is done */
    double time;     /* up to when the unit's work has been looked at */
    double left;     /* what is left of it then, in the time that it takes alone */
};

/* A unit starts that takes `work` alone. */
static inline void ppi_slowdown_begin(struct ppi_slowdown *slowdown, double start, double work)
{
    slowdown->time = start;
    slowdown->left = work;
}

/* A copy starts; those that did before started no later. */
void ppi_slowdown_copy(struct ppi_slowdown *slowdown, double start, double end);

/* When the unit ends if no other copy starts. */
double ppi_slowdown_end(const struct ppi_slowdown *slowdown);

#endif
