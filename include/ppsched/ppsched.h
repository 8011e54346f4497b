/* SPDX-License-Identifier: Apache-2.0 */
/* ppsched: pipeline-parallel schedules as data. This header includes all others.
 *
 * Task -> function, and the header that declares it.
 *   describe a problem: sizes              ppsched_config_create                    config.h
 *   give it times, memory and bandwidths   ppsched_config_set_values                config.h
 *   choose a strategy: list all, options   ppsched_strategy_get_info                strategy.h
 *   choose a strategy: does it suit?       ppsched_strategy_fits                    strategy.h
 *   generate a schedule                    ppsched_schedule_generate                schedule.h
 *   build a custom schedule op by op       ppsched_builder_append                   schedule.h
 *   check a schedule                       ppsched_schedule_check                   check.h
 *   time a schedule                        ppsched_schedule_evaluate                evaluate.h
 *   time it again, with measured costs     ppsched_timeline_update                  evaluate.h
 *   walk through the ops of a device       ppsched_schedule_queue                   schedule.h
 *   find why a device is idle              ppsched_timeline_get_idle                evaluate.h
 *   find why a schedule is slow            ppsched_timeline_get_critical_path       explain.h
 *   find which stages to speed up          ppsched_timeline_get_sensitivities       explain.h
 *   get memory by device and time          ppsched_timeline_get_memory              evaluate.h
 *   get peak memory by cause               ppsched_timeline_get_peak_causes         evaluate.h
 *   recompute activations                  ppsched_schedule_recompute               memory_saving.h
 *   offload activations                    ppsched_schedule_offload                 memory_saving.h
 *   find lower bounds on the time          ppsched_config_find_bound                bound.h
 *   plan: compare strategies and options   ppsched_plan_run                         plan.h
 *   plan: which candidate is best          ppsched_plan_candidate_at_rank           plan.h
 *   plan: the schedule of a candidate      ppsched_plan_create_timeline             plan.h
 *   find the least memory limit            ppsched_plan_find_least_limit            plan.h
 *   split layers into stages               ppsched_plan_get_split                   plan.h
 *   write a split for a runtime            ppsched_layout_write_text                layout.h
 *   describe a model                       ppsched_description_read                 description.h
 *   estimate what a model costs            ppsched_layers_from_model                model.h
 *   lower: add sends and receives          ppsched_schedule_lower                   lower.h
 *   find who is at the other end of a send ppsched_schedule_peer_of                 schedule.h
 *   prove that a schedule cannot deadlock  ppsched_schedule_prove                   channel.h
 *   time a schedule with its transfers     ppsched_schedule_evaluate_transfers      evaluate.h
 *   get receive buffers and their slots    ppsched_schedule_get_buffers             resources.h
 *   export a schedule                      ppsched_schedule_export                  export.h
 *   export a schedule into a buffer        ppsched_schedule_export_to_buffer        export.h
 *   import a schedule                      ppsched_schedule_import                  import.h
 *   write Chakra traces for simulators     ppsched_chakra_export                    chakra.h
 *   write the arguments for a launcher     ppsched_schedule_write_launch_arguments  launch.h
 *   evaluate scenarios: jitter, slow ranks ppsched_schedule_evaluate_scenarios      scenarios.h
 *   order microbatches that differ         ppsched_schedule_order_microbatches      microbatches.h
 *   balance microbatches over replicas     ppsched_microbatches_balance             microbatches.h
 *   find the time of an overlapped pair    ppsched_pair_find_order                  pair.h
 *   find figures without the schedule      ppsched_steady_create                    steady.h
 *   price a layout of a training run       ppsched_price_create                     price.h
 *   find the best layouts of a run         ppsched_job_run                          job.h
 *   fit constants of a device to runs      ppsched_calibrator_run                   calibrator.h
 *   replan for fewer or more devices       ppsched_replan_create                    replan.h
 *   share a batch among unlike replicas    ppsched_replicas_create                  replicas.h
 *   cut a prompt into chunks               ppsched_prefill_find_chunks              prefill.h
 *
 * Names. Every function is `ppsched_<object>_<verb...>`. A function that cannot fail and returns
 * its result may be named after the result: ppsched_config_stages, ppsched_schedule_op_count,
 * ppsched_timeline_spans. ppsched_version has no object, because it describes the library. An
 * enumerator begins with the name of its enum, except in ppsched_status_value. The type of a
 * callback ends in `_function`, and its first argument is `void *user`.
 *
 * Numbers.
 *   - Devices, stages, microbatches, iterations, positions in a queue, candidates, ranks,
 *     strategies and their options are numbered from 0. A call takes these numbers as uint32_t, and
 *     returns RANGE for a number past the last. PPSCHED_NONE in place of a number means that there
 *     is none, for example no device.
 *   - Sizes that the caller sets, such as the number of devices, are int64_t, so that functions can
 *     refuse negative sizes. Lengths of lists and texts are size_t.
 *   - Values of enums are int32_t. A call returns ARGUMENT for an unknown value. Later releases may
 *     add values.
 *   - Flags, and values that are 0 or 1, are uint32_t.
 *   - Members of structs may have narrower types than arguments.
 *
 * Arguments. Outputs come first, and are written only on success. Then comes the object that the
 * function acts on, then all other arguments. Every function that returns a ppsched_status takes
 * `ppsched_error *error` last: a record for details of the error, or NULL. Inputs that do not
 * change are const.
 *
 * Ownership. The caller owns the objects that a call makes, and must destroy or release them. A
 * returned pointer is borrowed from the object that the function was called with. If the pointer is
 * a list, the last argument, `size_t *count`, receives its length. `count` may be NULL. Functions
 * that return their result accept NULL as the object. For NULL, they return a value that means
 * "none", such as 0 or NULL.
 *
 * Sized structs. A struct that may get more members in a later release begins with `size`. The
 * caller must set `size` to sizeof the struct, also in a struct that a call fills. A size is
 * accepted if it is at least the size that the struct had when it was first released, and at most
 * 4096.
 *   - If the caller was compiled with an older release than the library: members that are missing
 *     in the caller's struct count as zero in inputs, and are not written in outputs.
 *   - If the caller was compiled with a newer release than the library: bytes after the members
 *     that the library has must be zero in inputs, and become zero in outputs.
 *   - If the size is not accepted, or such bytes of an input are not zero, the call returns
 *     STRUCT_SIZE, and writes nothing.
 * In inputs, a member that is zero has its default, and `reserved` must be 0. In a struct that a
 * callback receives, the library sets `size`. A callback must not read members that end beyond this
 * size.
 *
 * Buffers. Some calls fill a buffer of the caller with a list or a text. Their first three
 * arguments are `T *out, size_t capacity, size_t *needed`.
 *   - `capacity` is the size of `out` in items: records, or bytes of a text.
 *   - `*needed` receives the least `capacity` that is enough. For a text this is its length plus 1,
 *     because every text ends with a NUL. `needed` may be NULL.
 *   - If `out` is NULL and `capacity` is 0, the call only writes `*needed`, and returns OK.
 *   - If `capacity` is too small, the call writes `*needed` and returns BUFFER. The buffer does
 *     not change if it is for a list. If it is for a text, and `capacity` is not 0, it gets an
 *     empty text.
 *   - On any other error neither `out` nor `*needed` is written.
 * ppsched_schedule_check and ppsched_schedule_prove follow other rules, because they report what
 * they find. If they find something, they return INVALID_SCHEDULE. They write at most `capacity`
 * records, and write to `*count` how many records there are in all.
 *
 * Threads. The library has no globals, so calls that share no object may run at the same time. The
 * comment of each type has the rules for an object that threads share.
 *
 * Units. Times and memory are doubles, in units of the caller's choice. But the headers about
 * models, prices, jobs and calibration use seconds and bytes. */
#ifndef PPSCHED_PPSCHED_H
#define PPSCHED_PPSCHED_H

#include <ppsched/bound.h>
#include <ppsched/calibrator.h>
#include <ppsched/chakra.h>
#include <ppsched/channel.h>
#include <ppsched/check.h>
#include <ppsched/config.h>
#include <ppsched/description.h>
#include <ppsched/environment.h>
#include <ppsched/evaluate.h>
#include <ppsched/explain.h>
#include <ppsched/export.h>
#include <ppsched/import.h>
#include <ppsched/job.h>
#include <ppsched/launch.h>
#include <ppsched/layer_table.h>
#include <ppsched/layers.h>
#include <ppsched/layout.h>
#include <ppsched/lower.h>
#include <ppsched/memory_saving.h>
#include <ppsched/microbatches.h>
#include <ppsched/model.h>
#include <ppsched/names.h>
#include <ppsched/op.h>
#include <ppsched/pair.h>
#include <ppsched/plan.h>
#include <ppsched/prefill.h>
#include <ppsched/price.h>
#include <ppsched/quantity.h>
#include <ppsched/replan.h>
#include <ppsched/replicas.h>
#include <ppsched/resources.h>
#include <ppsched/scenarios.h>
#include <ppsched/schedule.h>
#include <ppsched/stage_graph.h>
#include <ppsched/status.h>
#include <ppsched/steady.h>
#include <ppsched/strategy.h>
#include <ppsched/version.h>

#endif
