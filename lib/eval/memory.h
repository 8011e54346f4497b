/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a device over time, by cause. If only activations change it, they are summed in the order of the queue; otherwise
 * all changes are visited in the order of time. */
#ifndef PPSCHED_EVAL_MEMORY_H
#define PPSCHED_EVAL_MEMORY_H

#include "eval/timeline.h"
#include "ir/other_memory.h"

enum { PPI_CAUSES = PPSCHED_MEMORY_CAUSE_ACTIVATIONS + 1 };

/* Memory that is added, or released with a negative amount. */
struct ppi_memory_change {
    int32_t cause; /* enum ppsched_memory_cause */
    uint32_t stage, microbatch;
    uint32_t position; /* of the op that does it */
    double amount, time;
};

/* Callbacks for a device's memory; each may be NULL. */
struct ppi_memory_listener {
    void *user;
    void (*change)(void *user, const struct ppi_memory_change *change);

    /* The level after all changes by one op at one time. */
    void (*step)(void *user, double time, uint32_t position, const double *by_cause, double level);
};

/* A timeline's memory other than activations, with work space for its evaluation. `has_more` implies `is_used`. */
struct ppi_memory {
    struct ppi_host host;
    bool is_used;                      /* the config gives some of it, or there are ops of memory saving */
    bool has_more;                     /* the config gives some of it */
    struct ppi_other_memory *holdings; /* by stage instance */
    struct ppi_memory_workspace *room;
};

ppsched_status ppi_memory_make(struct ppi_memory **out, const ppsched_schedule *schedule, ppsched_error *error);
void ppi_memory_destroy(struct ppi_memory *memory);

/* Work space to visit the devices of a timeline, one after another; NULL without an error if none is needed. */
ppsched_status ppi_memory_room_make(struct ppi_memory_workspace **out, const ppsched_timeline *timeline, ppsched_error *error);
void ppi_memory_room_destroy(struct ppi_memory_workspace *room);

/* Visits a device's memory over time, starting from its static memory, which is not reported. */
void ppi_memory_go_through(const ppsched_timeline *timeline, uint32_t device, struct ppi_memory_workspace *room,
                           const struct ppi_memory_listener *listener);

/* Finds the peaks of all devices, if `is_used`. */
void ppi_memory_peaks(ppsched_timeline *timeline);

/* Splits a device's peak by cause if only activations change; the causes sum to the peak to the last bit. */
void ppi_split_peak(const ppsched_timeline *timeline, uint32_t device, double *out);

/* The name of a cause, such as "gradients"; NULL if unknown. */
const char *ppi_cause_name(int32_t cause);

/* The level: the sum of its causes. */
double ppi_level_of(const double *by_cause);

#endif
