/* SPDX-License-Identifier: Apache-2.0 */
/* Offload transfers: activations that go to the host and back, and the places of their copies among the ops of a schedule. */
#ifndef PPSCHED_OFFLOAD_TRANSFERS_H
#define PPSCHED_OFFLOAD_TRANSFERS_H

#include "eval/event_loop.h"
#include "eval/timeline.h"

/* A stage pass that may be offloaded. */
struct ppi_offload_transfer {
    uint32_t device, link;
    uint32_t chunk;             /* number of its stage on the device, from 0 */
    uint32_t forward, backward; /* positions in the queue of their units' first ops */
    double ready, due;          /* end of F, start of the backward */
    double offload, reload;     /* durations */
    double moved;               /* memory that it frees meanwhile */
    double start;               /* of the reload on its link */
    ppsched_op op;
    bool stays;     /* never offloaded */
    bool is_picked; /* goes if there is a place for its copies */
    bool goes;
};

/* What the transfers of a stage instance take and move where microbatches are identical. */
struct ppi_offload_cost {
    double offload, reload, latency, moved;
};

/* When the copies of a transfer end; negative: unknown. */
struct ppi_copy_ends {
    double away, back;
};

/* Memory that an offload frees, or a reload takes. */
struct ppi_copy_change {
    double time, moved;
};

/* How the transfers of a device were picked last. */
struct ppi_device_picks {
    bool is_known;  /* by the times without copies, for a target */
    bool is_forced; /* as the placing was */
    double target;
    uint32_t count;
    uint32_t version; /* rises whenever they are picked */
};

/* How they were placed last: what their places depend on, and the peak of the device. */
struct ppi_device_places {
    bool is_known;
    bool is_forced, is_late; /* as the placing was */
    bool has_peak;
    double lead, peak;
    uint32_t picks, times; /* versions */
};

/* The transfers of a schedule, and how they are placed. The caller sets `lead` and the fields after it. */
struct ppi_placing {
    const ppsched_schedule *schedule;
    const ppsched_config *config;
    const ppsched_timeline *plain;          /* of the schedule without copies */
    ppsched_span *spans;                    /* of its ops, by which transfers are placed */
    bool has_plain_times;                   /* `spans` are those of `plain` */
    uint32_t times, given_times;            /* version of `spans`, 0 with the times of `plain`; the last one given */
    double *taken, *released;               /* memory by op: see ppi_taken_by and ppi_released_by */
    uint8_t *states;                        /* scratch by transfer */
    uint32_t *chunk_of;                     /* by stage instance */
    struct ppi_offload_cost *costs;         /* the same */
    uint32_t *transfer_of;                  /* by stage pass; PPSCHED_NONE: never offloaded */
    uint32_t *numbers;                      /* the same by op */
    struct ppi_offload_transfer *transfers; /* by device, then in the order of Fs */
    uint32_t count;
    uint32_t *ends;                 /* by device: one past its last transfer */
    double *keys;                   /* by transfer: sort keys */
    uint32_t *order, *scratch;      /* of transfers */
    double *free;                   /* by link: when it is free */
    struct ppi_device_picks *picks; /* by device: see select.c, whose scratch is next */
    uint64_t *resident;
    struct ppi_device_places *places; /* by device, in `placed` */
    ppsched_schedule *placed;         /* with the transfers that were placed last; NULL: none yet */
    double lead;                      /* prefetch distance: how much earlier than needed reloads end */
    uint32_t prefetch_distance;       /* if above 0, the prefetch distance in ops instead */
    bool is_forced;         /* transfers go even where their copies do not fit between F and backward, which then waits */
    bool is_late;           /* if forced: reloads come right before their backwards */
    double *limits, *peaks; /* by device: limits to keep, and peaks with waits */
    bool may_be_walked;     /* see undelayed.h, whose scratch is next */
    bool waits_are_walked;  /* also where copies delay ops */
    bool all_take_time;     /* if so: no op takes time 0, by which a reload may come after its backward, which is refused */
    ppsched_span *delayed;  /* times of the schedule's ops with the copies that were priced last, if they delay ops */
    struct ppi_copy_walk *walks;
    struct ppi_event_loop loop;
    struct ppi_copy_ends *copy_ends;
    struct ppi_copy_change *copy_changes;
};

/* Allocates. The schedule, the config and `plain` must be set. */
ppsched_status ppi_placing_make(struct ppi_placing *placing, ppsched_error *error);
void ppi_placing_clear(struct ppi_placing *placing);

/* Whether a device may share its link to the host with another: it has another number than the device. */
bool ppi_may_share_links(const ppsched_config *config);

/* Lists the transfers of so many stages of each device, the lowest first, 0 for all. The schedule has been evaluated, so each
 * backward is after its F. */
void ppi_list_transfers(struct ppi_placing *placing, uint32_t chunks);

/* Excludes those transfers of each device that are needed again soonest: the rest moves at most that share of the whole. */
void ppi_keep_shortest(const struct ppi_placing *placing, double share);

/* Takes over the times of the schedule, with or without copies. */
void ppi_take_times(struct ppi_placing *placing, const ppsched_timeline *timeline);

/* Notes that `placing->spans` have changed, to those of `placing->plain` or not. */
void ppi_note_times(struct ppi_placing *placing, bool are_plain);

/* Gives all transfers the times in `placing->spans`. */
void ppi_date_transfers(const struct ppi_placing *placing);

/* Makes the schedule with all picked transfers that have a place. */
ppsched_status ppi_place_transfers(ppsched_schedule **out, struct ppi_placing *placing, ppsched_error *error);

static inline uint32_t ppi_first_transfer(const struct ppi_placing *placing, uint32_t device)
{
    return device == 0 ? 0 : placing->ends[device - 1];
}

#endif
