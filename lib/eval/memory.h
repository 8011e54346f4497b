/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a device over time, by cause. Two ways lead through it: where only activations come and go, their sum is kept in
 * the order of the queue; where other things do too, all is gone through in the order of time. */
#ifndef PPSCHED_EVAL_MEMORY_H
#define PPSCHED_EVAL_MEMORY_H

#include "eval/timeline.h"
#include "ir/other_memory.h"

enum { PPI_CAUSES = PPSCHED_MEMORY_CAUSE_ACTIVATIONS + 1 };

/* Something that comes, or goes with a negative amount. */
struct ppi_memory_change {
    int32_t cause; /* enum ppsched_memory_cause */
    uint32_t stage, microbatch;
    uint32_t position; /* of the op with which it does */
    double amount, time;
};

/* Hears of a device's memory; each may be NULL. */
struct ppi_memory_listener {
    void *user;
    void (*change)(void *user, const struct ppi_memory_change *change);

    /* The level after all that came and went at one moment with one op. */
    void (*step)(void *user, double time, uint32_t position, const double *by_cause, double level);
};

/* What a timeline keeps of memory beside activations, and room to go through it while it is evaluated. */
struct ppi_memory {
    struct ppi_host host;
    bool is_used;                      /* the config gives some of it, or ops keep less */
    bool has_more;                     /* the config gives some of it */
    struct ppi_other_memory *holdings; /* as the costs' lanes */
    struct ppi_memory_workspace *room;
};

ppsched_status ppi_memory_make(struct ppi_memory **out, const ppsched_schedule *schedule, ppsched_error *error);
void ppi_memory_destroy(struct ppi_memory *memory);

/* Room to go through the devices of a timeline, one after another; NULL and no error where it needs none. */
ppsched_status ppi_memory_room_make(struct ppi_memory_workspace **out, const ppsched_timeline *timeline, ppsched_error *error);
void ppi_memory_room_destroy(struct ppi_memory_workspace *room);

/* Goes through a device's memory, from the end of its static memory on: that is not told. */
void ppi_memory_go_through(const ppsched_timeline *timeline, uint32_t device, struct ppi_memory_workspace *room,
                           const struct ppi_memory_listener *listener);

/* The peaks of all devices, where the config gives more than activations. */
void ppi_memory_peaks(ppsched_timeline *timeline);

/* Splits a device's peak by cause where only activations come and go; they sum to the peak to the last bit. */
void ppi_split_peak(const ppsched_timeline *timeline, uint32_t device, double *out);

/* "gradients" and so on; NULL for an unknown one. */
const char *ppi_cause_name(int32_t cause);

/* The level that causes add up to. */
double ppi_level_of(const double *by_cause);

#endif
