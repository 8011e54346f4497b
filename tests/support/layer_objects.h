/* SPDX-License-Identifier: Apache-2.0 */
/* What devices hold of a model by its layers: a simulation in which each layer of each stage pass is an object that is born,
 * changes and dies, and a level is the sum of all that live. It shares nothing with the library but the queues of a schedule
 * and the spans of a timeline.
 *   - A layer is born when F of its stage pass starts: with mem_forward, or what its kind of recomputation keeps of that.
 *   - All layers that are recomputed come back when I starts, whole. What mem_backward_input says of a layer is added then
 *     where it is positive, and goes when I ends where it is negative. All die when W ends.
 *   - A whole backward has its recomputed layers come back one by one: beside the others lives the largest of what comes back,
 *     from its start until its end, when all die. Positive mem_backward_input is added when it starts.
 *   - A pass without a backward stays.
 *   - A pass that goes to the host does so with all that its F holds: its layers are gone from the end of the copy until the
 *     next one starts. At equal times what goes is gone before all else, and what comes back comes behind all else.
 *   - A pass with a RECOMPUTE holds nothing until that starts; then it is whole. Its layers have no kind of their own. */
#ifndef PPSCHED_TESTS_LAYER_OBJECTS_H
#define PPSCHED_TESTS_LAYER_OBJECTS_H

#include "support/problem.h"

enum { OBJECT_POINTS = 4096 }; /* most changes of a device */

struct layer_objects {
    const ppsched_schedule *schedule; /* sends, receives and what is beside stage passes hold nothing */
    const ppsched_timeline *timeline; /* of that schedule */
    const ppsched_layer *entries;     /* as ppsched_layers_create got them */
    size_t entry_count;
    const ppsched_split *split;
    const double *scale; /* of each microbatch of an iteration: its memory as a multiple; NULL: 1 */
};

/* The levels of a device: what is always there at 0, then a point for each start or end that changes the level. Returns their
 * number. Where all sizes are multiples of a power of 2 levels are exact. */
size_t object_levels(ppsched_memory_point out[OBJECT_POINTS], const struct layer_objects *objects, uint32_t device);

/* The highest of them. */
double object_peak(const struct layer_objects *objects, uint32_t device);

#endif
