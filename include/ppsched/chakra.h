/* SPDX-License-Identifier: Apache-2.0 */
/* Writes lowered schedules as Chakra execution traces, and reads schedules from such traces.
 * Network simulators such as ASTRA-sim run Chakra execution traces. */
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
 * Lifetime: the caller destroys it. It holds a reference to its schedule. The config may be
 *   destroyed before it.
 * Thread-safety: any number of threads may read it at the same time. */
typedef struct ppsched_chakra ppsched_chakra;

/* How many bytes a message has in the traces. */
enum ppsched_chakra_sizes {
    PPSCHED_CHAKRA_SIZES_BYTES = 0, /* the number of bytes that the config has for the message, at
                                       least 1. The simulated network determines how long a message
                                       takes */
    PPSCHED_CHAKRA_SIZES_TIMES = 1  /* 2 bytes per nanosecond of the config's transfer time (latency
                                       included), at least 1 byte. On a network with 2 bytes per
                                       nanosecond and no latency, a message takes exactly the
                                       transfer time */
};

/* How traces represent a link between two devices. */
enum ppsched_chakra_links {
    PPSCHED_CHAKRA_LINKS_SENDERS = 0, /* traces have no links. A device has at most one message in
                                         flight, even if its messages go to different devices
                                         (PPSCHED_CHANNEL_ORDER_SENDS) */
    PPSCHED_CHAKRA_LINKS_RANKS = 1    /* each link is a rank, numbered after the ranks of the
                                         devices. A link has at most one message in flight.
                                         `sizes` must be TIMES */
};

/* Options of traces. Set `size` to sizeof of this struct. A field that is 0 has its default. */
typedef struct ppsched_chakra_options {
    uint32_t size;
    int32_t sizes;       /* enum ppsched_chakra_sizes */
    int32_t links;       /* enum ppsched_chakra_links */
    uint32_t reserved;   /* 0 */
    double time_scale;   /* number of microseconds per unit of time of the config; 0 means 1 */
    double bytes_scale;  /* number of bytes per unit of bytes of the config; 0 means 1 */
    double memory_scale; /* number of bytes per unit of memory of the config. If it is set, each F
                            writes a tensor, whose size is the memory of this F, and the B or W
                            reads this tensor. 0: no tensors */
    double most_loss;    /* the largest change that rounding may make to a number, as a share of
                            this number, 0 to 1 */
} ppsched_chakra_options;

/* Makes the traces. `options` may be NULL.
 *   - The id of a node is the position of its op in the queue. An F, B, I, W or overlapped pair is
 *     a COMP node with a duration in whole microseconds. A COMP node waits for the COMP node before
 *     it (ctrl_deps) and for the receives of its inputs (data_deps). A send waits for its producer
 *     (data_deps) and for the send before it (ctrl_deps). A receive waits for nothing.
 *   - Ops that take no time have no node. If a node needs such an op, the node waits instead for
 *     the nodes for which that op waits.
 *   - If the schedule flushes, there are rounds of messages between all devices after each
 *     iteration except the last. With TIMES these messages take no time.
 *   - Tags distinguish transfers. A tag is (d * stages + stage) * microbatches + microbatch. Here d
 *     is 1 for a gradient and 0 for an activation, `stage` is the receiving stage, and
 *     `microbatches` is the number of microbatches in all iterations. With slices, the formula
 *     counts micro-slices (slices of a microbatch) in place of microbatches. There is one
 *     exception, because ASTRA-sim does not distinguish tags of 500,000,000 or more. If the formula
 *     could give such a tag, each tag is instead the number of earlier transfers on its link.
 * Schedule and config must have the same number of devices, and the same number of stages.
 * Errors: ARGUMENT, STRUCT_SIZE, MISMATCH; RANGE, also for numbers that are too large for a trace;
 *   INVALID_SCHEDULE where a send or receive is missing, or the order cannot be run; NO_MEMORY;
 *   REFUSED for
 *   - fewer than two devices, a schedule that is not lowered, a device without ops, and a stage
 *     graph;
 *   - an UNSHARD or REDUCE_GRAD that takes time;
 *   - a config with PPSCHED_QUANTITY_SEND_OVERHEAD, because traces cannot express this overhead: in
 *     a trace, receives are posted immediately, and a send delays no device;
 *   - RECOMPUTE, OFFLOAD, RELOAD, OFFLOAD_WAIT and OPTIMIZER_STEP;
 *   - a message at time 0 that takes no time;
 *   - numbers that change by more than `most_loss` when they are rounded to whole microseconds,
 *     nanoseconds or bytes. The message names the op, and a scale that avoids this, if there is
 *     one. */
PPSCHED_API ppsched_status ppsched_chakra_create(ppsched_chakra **out,
                                                 const ppsched_schedule *schedule,
                                                 const ppsched_config *config,
                                                 const ppsched_chakra_options *options,
                                                 ppsched_error *error);

/* Frees the traces. NULL is accepted. */
PPSCHED_API void ppsched_chakra_destroy(ppsched_chakra *chakra);

/* Number of traces: this is the number of devices or, with RANKS, the number of devices plus the
 * number of links. */
PPSCHED_API uint32_t ppsched_chakra_ranks(const ppsched_chakra *chakra);

/* Writes the trace of a rank: bytes, not text.
 * Errors: ARGUMENT; RANGE where there is no such rank; WRITER where `write` stopped the call;
 *   NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_chakra_export(const ppsched_chakra *chakra, uint32_t rank,
                                                 ppsched_write_function write, void *user,
                                                 ppsched_error *error);

/* --- reading --- */

/* The bytes of a rank's trace, borrowed. */
typedef struct ppsched_chakra_trace {
    const char *data;
    size_t length;
} ppsched_chakra_trace;

/* Makes a schedule, and a config with its costs, from traces that ppsched_chakra_export wrote.
 * `traces` has the traces of all ranks, in order of rank. `environment` may be NULL. The caller
 * owns one reference to `*schedule`, and owns `*config`. On an error, neither `*schedule` nor
 * `*config` is made.
 *   - The ops are read from the names of nodes. The order of ops is read from the ids of nodes.
 *     Traces of other programs are read in the same way. If the name of a node in such a trace is
 *     not the name of an op, the call fails. The message of `error` then has this name. It
 *     also says how many compute nodes the trace has, and their total time. If the trace names its
 *     program, the message names it, too.
 *   - Durations become times of F, B, I and W by stage, and times of overlapped pairs. The unit of
 *     these times is the unit that the traces name. If the traces name no unit, it is microseconds.
 *   - Sizes of messages become bytes by stage; a size of 1 becomes 0 bytes. If the traces were
 *     written with TIMES, the config also gets a bandwidth, with one exception. If messages of a
 *     stage differ in size, but all messages of a link have the same size, then sizes become
 *     latencies of links (PPSCHED_QUANTITY_P2P_TIME).
 *   - Traces leave out UNSHARD, RESHARD, REDUCE_GRAD and all other ops that take no time. So the
 *     schedule does not have these ops.
 * If any part of a trace is wrong, the call fails, as ppsched_schedule_import does. The time and
 * memory of the call are linear in the number of bytes. The schedule may be invalid:
 * ppsched_schedule_check finds what is wrong.
 * Errors: SYNTAX where a trace is cut off or wrong, with its rank in `error->device` and the node
 *   in `error->position`; REFUSED where two ops of one stage and kind have different times, or two
 *   messages of one stage and direction have different sizes; all other errors as in
 *   ppsched_schedule_import. */
PPSCHED_API ppsched_status ppsched_chakra_import(ppsched_schedule **schedule,
                                                 ppsched_config **config,
                                                 const ppsched_chakra_trace *traces, size_t count,
                                                 const ppsched_environment *environment,
                                                 ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
