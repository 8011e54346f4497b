/* SPDX-License-Identifier: Apache-2.0 */
/* Chakra execution traces of lowered schedules, which network simulators such as ASTRA-sim run, and
 * schedules from such traces. */
#ifndef PPSCHED_CHAKRA_H
#define PPSCHED_CHAKRA_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/config.h>
#include <ppsched/environment.h>
#include <ppsched/export.h>
#include <ppsched/export_macro.h>
#include <ppsched/schedule.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The traces of a lowered schedule, one per rank. Simulators read them from files
 * PREFIX.<rank>.et. Immutable.
 * Lifetime: the caller destroys it. It holds a reference to its schedule, and does not need its
 *   config.
 * Thread-safety: any number of threads may read it; it is destroyed once. */
typedef struct ppsched_chakra ppsched_chakra;

/* The unit of message sizes. */
enum ppsched_chakra_sizes {
    PPSCHED_CHAKRA_SIZES_BYTES = 0, /* the config's bytes, at least 1; the simulated network
                                       decides how long they take */
    PPSCHED_CHAKRA_SIZES_TIMES = 1  /* 2 bytes per nanosecond of the config's transfer time,
                                       latency included, at least 1. A network without latency that
                                       carries 2 bytes per nanosecond takes exactly that time */
};

/* How traces represent a link between two devices. */
enum ppsched_chakra_links {
    PPSCHED_CHAKRA_LINKS_SENDERS = 0, /* not at all: a device has one message in flight at a time,
                                         to any device (PPSCHED_CHANNEL_ORDER_SENDS) */
    PPSCHED_CHAKRA_LINKS_RANKS = 1    /* each link is a rank, after those of the devices, and has
                                         one message in flight at a time. Sizes are then TIMES */
};

/* Sized: set `size`; zero means the default. */
typedef struct ppsched_chakra_options {
    uint32_t size;
    int32_t sizes;       /* enum ppsched_chakra_sizes */
    int32_t links;       /* enum ppsched_chakra_links */
    uint32_t reserved;   /* 0 */
    double time_scale;   /* microseconds per unit of time; 0 means 1 */
    double bytes_scale;  /* bytes per unit of the config's bytes; 0 means 1 */
    double memory_scale; /* bytes per unit of memory: F writes a tensor of its memory, which B or
                            W reads; 0: no tensors */
    double most_loss;    /* the largest relative change of a number by rounding, 0 to 1 */
} ppsched_chakra_options;

/* Makes the traces. `options` may be NULL.
 *   - The id of a node is the position of its op in the queue. F, B, I and W, or an overlapped
 *     pair, are a COMP node with a duration in whole microseconds. It waits for the COMP before it
 *     (ctrl_deps) and for the receives of its inputs (data_deps). A send waits for its producer
 *     (data_deps) and for the send before it (ctrl_deps). A receive waits for nothing.
 *   - Ops that take no time have no node: nodes that would wait for such an op wait for what the op
 *     waits for.
 *   - If the schedule flushes, there are rounds of messages between all devices after each
 *     iteration but the last. With TIMES they take no time.
 *   - Tags distinguish transfers: ((1 for a gradient, else 0) * stages + receiving stage) *
 *     microbatches of all iterations + microbatch. With slices, read micro-slice for microbatch.
 *     ASTRA-sim does not distinguish tags of 500,000,000 or more; where tags would be so large, a
 *     tag is the number of transfers that the link has carried before.
 * Schedule and config must have the same numbers of devices and stages.
 * Errors: ARGUMENT, STRUCT_SIZE, MISMATCH; RANGE, also for numbers too large for a trace;
 *   INVALID_SCHEDULE where a send or receive is missing, or the order cannot be run; NO_MEMORY;
 *   REFUSED for
 *   - fewer than two devices, a schedule that is not lowered, and a device without ops;
 *   - UNSHARD or REDUCE_GRAD that take time;
 *   - PPSCHED_QUANTITY_SEND_OVERHEAD: a trace posts receives at once, and a send delays no device;
 *   - RECOMPUTE, OFFLOAD, RELOAD, OFFLOAD_WAIT and OPTIMIZER_STEP;
 *   - a message that takes no time at time 0;
 *   - rounding to whole microseconds, nanoseconds or bytes that loses more than `most_loss`: the
 *     message names the op, and a scale that avoids it, if there is one. */
PPSCHED_API ppsched_status ppsched_chakra_create(ppsched_chakra **out,
                                                 const ppsched_schedule *schedule,
                                                 const ppsched_config *config,
                                                 const ppsched_chakra_options *options,
                                                 ppsched_error *error);

/* Frees it. NULL is accepted. */
PPSCHED_API void ppsched_chakra_destroy(ppsched_chakra *chakra);

/* Number of traces: the number of devices, with RANKS plus the number of links. */
PPSCHED_API uint32_t ppsched_chakra_ranks(const ppsched_chakra *chakra);

/* Writes the trace of a rank: bytes, not text.
 * Errors: ARGUMENT; RANGE where there is no such rank; WRITER where `write` stopped; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_chakra_export(const ppsched_chakra *chakra, uint32_t rank,
                                                 ppsched_write_function write, void *user,
                                                 ppsched_error *error);

/* --- reading --- */

/* The bytes of a rank's trace, borrowed. */
typedef struct ppsched_chakra_trace {
    const char *data;
    size_t length;
} ppsched_chakra_trace;

/* Makes a schedule and a config with its costs from the traces of all ranks that
 * ppsched_chakra_export wrote, in order of rank. `environment` may be NULL. The caller owns one
 * reference to `*schedule`, and owns `*config`. On an error neither is made.
 *   - Names of nodes give the ops, also in traces of other programs, and ids give their order.
 *     If another program wrote a node that is no op, `error` names that node, the program if the
 *     trace tells it, and the number and total time of the trace's compute nodes.
 *   - Durations become times of F, B, I and W by stage, and of overlapped pairs. Their unit is the
 *     one that the traces name, or microseconds.
 *   - Sizes become bytes by stage; a size of 1 means none. With TIMES they become a bandwidth, or
 *     times between two devices if all messages of each link have the same.
 *   - Traces have no ops that take no time, and no UNSHARD, RESHARD or REDUCE_GRAD, so the schedule
 *     has none.
 * The reader is strict, as that of ppsched_schedule_import; its time and memory are linear in the
 * bytes. The schedule may be invalid: ppsched_schedule_check finds that.
 * Errors: SYNTAX where a trace is cut off or wrong, with its rank in `error->device` and the node
 *   in `error->position`; REFUSED where two ops of one stage and kind differ in time, or messages
 *   of one stage and direction in size; else as ppsched_schedule_import. */
PPSCHED_API ppsched_status ppsched_chakra_import(ppsched_schedule **schedule,
                                                 ppsched_config **config,
                                                 const ppsched_chakra_trace *traces, size_t count,
                                                 const ppsched_environment *environment,
                                                 ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
