/* SPDX-License-Identifier: Apache-2.0 */
/* ppsched: pipeline-parallel schedules as data. This header includes all others.
 *
 * Names. Every function is `ppsched_<object>_<verb...>`. A question that cannot fail, and is
 * answered by the value that is returned, may be named by its answer: ppsched_config_stages,
 * ppsched_schedule_op_count, ppsched_timeline_spans; ppsched_version asks the library. An
 * enumerator begins with its enum's name, but for those of ppsched_status_value. The type of a
 * callback ends in `_function`, and its first argument is `void *user`.
 *
 * Numbers. Devices, stages, microbatches, iterations, positions in a queue, candidates, ranks,
 * strategies and their options are numbered from 0. A call takes such a number as uint32_t, and
 * comes with RANGE where it is past the last; PPSCHED_NONE stands where there is none. A size that
 * a call sets is int64_t, so that a negative one is seen; lengths of lists and texts are size_t.
 * Choices are int32_t; one that the call does not know is ARGUMENT. Flags, and what is 0 or 1, are
 * uint32_t. Records may hold narrower numbers. Enums may grow.
 *
 * Arguments. What a call makes or fills goes out through its first argument, or first arguments,
 * and is written on success only. Then comes the object that it acts on, then the rest. Every
 * function that returns a ppsched_status takes `ppsched_error *error` last: a record for the
 * details, or NULL. What does not change is const.
 *
 * Ownership. What a call makes belongs to the caller, who destroys or releases it. What is returned
 * by pointer is borrowed from the object that was asked; the length of a list that is borrowed so
 * goes to `size_t *count`, the last argument, which may be NULL. Questions take NULL as the object,
 * and then answer 0, NULL or what else stands for nothing.
 *
 * Sized structs. A struct that may grow begins with `size`, which the caller sets to sizeof. Any
 * size from that of the struct's first release on is taken, to 4096.
 *   - Fields that a caller of an older release does not have count as zero in what a call reads,
 *     and are left out of what it fills.
 *   - Bytes of a newer caller that the library does not know must be zero in what a call reads, and
 *     become zero in what it fills.
 *   - Anything else is STRUCT_SIZE, and nothing is touched.
 * In one that a call reads, zero means the default, and `reserved` must be 0. In one that a
 * callback is handed, `size` is the library's: a field that ends beyond it is not there.
 *
 * Buffers. A call that fills a list or a text of the caller's takes three arguments first:
 * `T *out, size_t capacity, size_t *needed`.
 *   - `capacity` is the room at `out`, in items: records, or bytes of a text.
 *   - `*needed` (NULL: not asked for) gets the least `capacity` that will do; for a text that is
 *     its length and 1, for the NUL that every text ends with.
 *   - `out` NULL with `capacity` 0 asks for `*needed` alone, and that is OK.
 *   - Where there is too little room, the status is BUFFER and `*needed` is written all the same; a
 *     list stays as it was, and a text becomes the empty text, if there is room for that.
 *   - With any other error neither is written.
 * Two calls are reports, and differ: ppsched_schedule_check and ppsched_schedule_prove come with
 * INVALID_SCHEDULE, give as many records as there is room for, and tell in `*count` how many there
 * are.
 *
 * Threads. The library has no globals: calls that share no object may run at once. What holds for
 * an object that is shared is told where its type is declared.
 *
 * Units. Times and memory are doubles, in units of the caller's choice. */
#ifndef PPSCHED_PPSCHED_H
#define PPSCHED_PPSCHED_H

#include <ppsched/bound.h>
#include <ppsched/chakra.h>
#include <ppsched/channel.h>
#include <ppsched/check.h>
#include <ppsched/config.h>
#include <ppsched/environment.h>
#include <ppsched/evaluate.h>
#include <ppsched/explain.h>
#include <ppsched/export.h>
#include <ppsched/import.h>
#include <ppsched/memory_saving.h>
#include <ppsched/launch.h>
#include <ppsched/layers.h>
#include <ppsched/layout.h>
#include <ppsched/lower.h>
#include <ppsched/microbatches.h>
#include <ppsched/model.h>
#include <ppsched/names.h>
#include <ppsched/op.h>
#include <ppsched/plan.h>
#include <ppsched/scenarios.h>
#include <ppsched/schedule.h>
#include <ppsched/status.h>
#include <ppsched/strategy.h>
#include <ppsched/resources.h>
#include <ppsched/version.h>

#endif
