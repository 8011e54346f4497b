/* SPDX-License-Identifier: Apache-2.0 */
/* A search for problems that the others do not take: forwards alone, two copies of the model, requests of several chunks. An
 * order is one sequence of all ops in which each comes after its inputs, so no order that it tries has a deadlock. */
#ifndef PPSCHED_SEARCH_JOBS_H
#define PPSCHED_SEARCH_JOBS_H

#include "base/arena.h"
#include "ir/costs.h"
#include "ir/progress.h"

enum { PPI_JOB_INPUTS = 3 };

/* An op: at most so many others feed it, and it feeds as many. PPSCHED_NONE: no other. */
struct ppi_job {
    double length, memory, rise;
    double delay[PPI_JOB_INPUTS]; /* of each input */
    double tail;                  /* the least time from its start to the end of the last op that needs it */
    uint32_t input[PPI_JOB_INPUTS], next[PPI_JOB_INPUTS];
    uint32_t device, micro_slice;
    uint16_t stage;
    uint8_t kind;
};

/* What the search minimises: a share of the span and the rest of the makespan; of the ends of requests the mean, or a
 * quantile; or the time of a repetition if the order repeats. */
enum ppi_jobs_by { PPI_JOBS_BY_TIME, PPI_JOBS_BY_MEAN, PPI_JOBS_BY_QUANTILE, PPI_JOBS_BY_PERIOD };

struct ppi_jobs_goal {
    enum ppi_jobs_by by;
    double span_share, quantile;
};

struct ppi_jobs {
    struct ppi_shape shape;
    uint32_t devices, count;
    struct ppi_job *job;
    double *limit;         /* by device: of activations; infinite where there is none */
    uint32_t *request_end; /* by request: its last op */
    uint32_t *request_at;  /* by micro-slice: the request that ends with it; else PPSCHED_NONE */
    double *request_time;  /* scratch: by request */
    uint32_t request_count;
    struct ppi_jobs_goal goal;
    double least; /* a lower bound of the objective: the search ends there */
    double mean;  /* length of an op */
};

/* The ops of one iteration on a placement, in the caller's arena. `splits`: each backward as an I and a W. */
ppsched_status ppi_jobs_make(struct ppi_jobs *out, struct ppi_arena *arena, const ppsched_config *config,
                             const struct ppi_placement *place, bool splits, ppsched_error *error);

/* The longest work of a device. `work`: scratch, by device. */
double ppi_jobs_most_work(const struct ppi_jobs *jobs, double *work);

/* The number of an op; PPSCHED_NONE where the problem has no such op. */
uint32_t ppi_jobs_find(const struct ppi_jobs *jobs, const ppsched_op *op);

/* The mean or the quantile of `request_time`, which is sorted for that: the smallest that at least that share keeps. */
double ppi_jobs_of_requests(const struct ppi_jobs *jobs);

/* The times of a sequence, or of its last repetition; `before`: the op before each on its device; `excess`: memory above the
 * limits, summed over ops. */
struct ppi_jobs_times {
    double *start, *end;
    uint32_t *before; /* of its device */
    double time, excess;
};

/* An order being improved. `best`: the shortest that keeps the limits; its time is infinite where there is none yet. */
struct ppi_jobs_search {
    const struct ppi_jobs *jobs;
    struct ppi_arena *arena;
    struct ppi_poll *poll;
    uint32_t *sequence, *place, *best, *kept;
    struct ppi_jobs_times *now, *tried;
    double *clock, *level, *first;
    double *ends; /* by repetition and device; NULL if the order does not repeat */
    double timed; /* ops, by the last call that timed a sequence */
    uint32_t *last, *mark, *waits;
    double best_time, *pool_time;
    uint32_t pool_count, epoch, over;
    uint64_t random;
};

ppsched_status ppi_jobs_search_make(struct ppi_jobs_search *out, struct ppi_arena *arena, const struct ppi_jobs *jobs,
                                    struct ppi_poll *poll, ppsched_error *error);

/* Offers a sequence of all ops, each after its inputs. */
void ppi_jobs_offer(struct ppi_jobs_search *search, const uint32_t *sequence);

/* Offers list schedules by several rules; one keeps the limits wherever one microbatch after another does. */
ppsched_status ppi_jobs_list(struct ppi_jobs_search *search, ppsched_error *error);

/* Improves what was offered, with so many visits of ops. */
ppsched_status ppi_jobs_improve(struct ppi_jobs_search *search, double visits, ppsched_error *error);

#endif
