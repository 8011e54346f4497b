/* SPDX-License-Identifier: Apache-2.0 */
/* Lowered schedules as Chakra execution traces, which network simulators such as ASTRA-sim run, and
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

/* The traces of a lowered schedule, one a rank: a file PREFIX.<rank>.et each. Immutable.
 * Lifetime: the caller destroys it. It holds a reference to its schedule, and nothing of its
 *   config.
 * Thread-safety: may be read by any number of threads; destroyed once. */
typedef struct ppsched_chakra ppsched_chakra;

/* What the sizes of messages are. */
enum ppsched_chakra_sizes {
    PPSCHED_CHAKRA_SIZES_BYTES = 0, /* the config's bytes, at least 1: the simulated network tells
                                       how long they take */
    PPSCHED_CHAKRA_SIZES_TIMES = 1  /* 2 bytes a nanosecond of the config's transfer time, latency
                                       included, at least 1: a network without latency that carries
                                       2 bytes a nanosecond takes just that time */
};

/* What a directed link between two devices is. */
enum ppsched_chakra_links {
    PPSCHED_CHAKRA_LINKS_SENDERS = 0, /* nothing of its own: a device has one message on the way,
                                         whoever it goes to (PPSCHED_CHANNEL_ORDER_SENDS) */
    PPSCHED_CHAKRA_LINKS_RANKS = 1    /* a rank of its own, behind those of the devices: each link
                                         has one message on the way. Sizes are TIMES then */
};

/* Sized: set `size`; zero means the default. */
typedef struct ppsched_chakra_options {
    uint32_t size;
    int32_t sizes;       /* enum ppsched_chakra_sizes */
    int32_t links;       /* enum ppsched_chakra_links */
    uint32_t reserved;   /* 0 */
    double time_scale;   /* microseconds per unit of time; 0: 1 */
    double bytes_scale;  /* bytes per unit of the config's bytes; 0: 1 */
    double memory_scale; /* bytes per unit of memory: F writes a tensor of that size, which W or B
                            reads last; 0: no tensors */
    double most_loss;    /* share of a number that rounding may change, 0 to 1 */
} ppsched_chakra_options;

/* Makes the traces. `options` may be NULL.
 *   - A node's id is the position of its op in the queue. F, B, I and W, or an overlapped pair of
 *     them, are a COMP node of whole microseconds; it waits for the COMP before (ctrl_deps) and the
 *     receives of its inputs (data_deps). A send waits for its producer (data_deps) and the send
 *     before it (ctrl_deps), a receive for nothing.
 *   - Ops that take no time are left out, and what waits for them waits for what they wait for.
 *   - Where the schedule flushes, messages between all devices stand between two iterations, in
 *     rounds; with TIMES they take no time.
 *   - Tags tell transfers apart: (is it a gradient * stages + receiving stage) * microbatches of
 *     all iterations + microbatch; where that would be 500,000,000 or more, which ASTRA-sim does
 *     not tell apart, how many the link has carried before.
 * Devices and stages of schedule and config must be equal.
 * Errors: ARGUMENT, STRUCT_SIZE, MISMATCH; RANGE, also of numbers too large for a trace; REFUSED
 *   with fewer than two devices, of a schedule that is not lowered, a device without ops, UNSHARD
 *   or REDUCE_GRAD that take time, calls that do (PPSCHED_QUANTITY_SEND_OVERHEAD: receives of a
 *   trace are posted at once, and a send holds up no device), kinds that have no part in anything,
 *   a message of no time at time 0, and where rounding to whole microseconds, nanoseconds or bytes
 *   loses more than `most_loss`, with the op and the scale that does; INVALID_SCHEDULE where a send
 *   or receive is missing, or the order cannot be run; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_chakra_create(ppsched_chakra **out,
                                                 const ppsched_schedule *schedule,
                                                 const ppsched_config *config,
                                                 const ppsched_chakra_options *options,
                                                 ppsched_error *error);

/* Frees it. NULL is accepted. */
PPSCHED_API void ppsched_chakra_destroy(ppsched_chakra *chakra);

/* How many traces there are: as many as devices, and with RANKS links. */
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

/* Makes a schedule, and a problem with its costs, of the traces of all ranks that
 * ppsched_chakra_export wrote, in their order. `environment` may be NULL. The schedule is the
 * caller's with one reference, the config too; both are made or none.
 *   - Names of nodes tell the ops, whoever wrote them, and their ids the order. Where another
 *     program wrote nodes that are no ops, `error` tells which, and what they take together.
 *   - Durations become those of F, B, I and W by stage, and of overlapped pairs, in the unit that
 *     the traces tell (without one: microseconds). Sizes become bytes by stage (1: none), and where
 *     they are TIMES a bandwidth, or times between two devices where these are what they have in
 *     common.
 *   - Ops that take no time, and sharding ops, are in no trace, so they are not in the schedule.
 * The reading is strict, as of ppsched_schedule_import, and memory and time are linear in the
 * bytes. The schedule need not be valid; ppsched_schedule_check tells.
 * Errors: SYNTAX where a trace is cut off or not what it should be, with `error->device` its rank
 *   and `error->position` the node; REFUSED where two ops of a stage and kind do not take the same
 *   time, or messages of a stage and direction differ in size; else as ppsched_schedule_import. */
PPSCHED_API ppsched_status ppsched_chakra_import(ppsched_schedule **schedule,
                                                 ppsched_config **config,
                                                 const ppsched_chakra_trace *traces, size_t count,
                                                 const ppsched_environment *environment,
                                                 ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
