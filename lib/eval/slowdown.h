/* SPDX-License-Identifier: Apache-2.0 */
/* Compute slowed by copies on its device. The end of a unit is final once all copies that start before it are known; until then
 * it is the end if no more start. */
#ifndef PPSCHED_EVAL_SLOWDOWN_H
#define PPSCHED_EVAL_SLOWDOWN_H

/* Of a device. Copies come in order of their start, so `copied` and `time` never decrease within a unit. */
struct ppi_slowdown {
    double slowdown; /* factor on times while a copy runs: 1 or more, infinite if compute stops */
    double copied;   /* the latest end of the copies so far */
    double time;     /* up to when the unit's work is accounted for */
    double left;     /* work left then, in time without slowdown */
};

/* Starts a unit that takes `work` without slowdown. */
static inline void ppi_slowdown_begin(struct ppi_slowdown *slowdown, double start, double work)
{
    slowdown->time = start;
    slowdown->left = work;
}

/* Adds a copy; the copies before it started no later. */
void ppi_slowdown_copy(struct ppi_slowdown *slowdown, double start, double end);

/* The unit's end if no other copy starts. */
double ppi_slowdown_end(const struct ppi_slowdown *slowdown);

#endif
