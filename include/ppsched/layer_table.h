/* SPDX-License-Identifier: Apache-2.0 */
/* Measured costs of layers and collectives, which a model takes in place of its formulas.
 *
 * UNSTABLE: the declarations of this header may change before release 1.0.
 *
 * A model (model.h) looks up each of its rows in the table:
 *   - A measured row fits where its kind is the model's row and each of its sizes is that of the
 *     training, or any. Of several the one with the fewest sizes that are any is taken, of equals
 *     their mean. Sizes of experts do not count for layers without experts.
 *   - Without one that fits, the measured rows of the kind with the nearest sizes are taken: those
 *     whose sizes differ by the smallest factor, all sizes together. What the cost model says for
 *     the training is multiplied by measured / predicted of these rows.
 *   - A time that no row of the kind has is multiplied by the mean factor of the kind's other
 *     times; bytes that it does not have by the mean factor of these bytes of other kinds.
 *   - Embedding, head, MTP layers and towers without a row are multiplied by the mean factors of
 *     the other kinds. A decoder without a row is refused.
 *   - Rows with a kind of recomputation give its time, as what their backward takes beyond that
 *     without, and the bytes that it keeps. Without such rows the time is the cost model's,
 *     multiplied by the factor of the forward.
 *   - mem_static is of a device that shards nothing; sharding divides it as the cost model says.
 * A collective takes the measured time for its bytes in groups of its size and span: between two
 * sizes by a straight line, below the smallest that of the smallest, above the largest on the line
 * of the last two. In other groups, and where one size alone was measured, the cost model's time is
 * multiplied by measured / predicted of the nearest group. */
#ifndef PPSCHED_LAYER_TABLE_H
#define PPSCHED_LAYER_TABLE_H

#include <stdint.h>

#include <ppsched/environment.h>
#include <ppsched/export_macro.h>
#include <ppsched/model.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One layer on one device for one microbatch. A plain record. Sizes of 0 are any; times and bytes
 * below 0 were not measured. */
typedef struct ppsched_measured_layer {
    const char *kind;      /* name of a row of the model, such as "decoder" */
    const char *recompute; /* "none", "selective", "full" or "modules"; NULL: "none" */
    uint32_t tensor_parallel;
    uint32_t context_parallel;
    uint32_t expert_parallel;
    uint32_t expert_tensor_parallel;
    uint32_t micro_batch_size;
    uint32_t sequence_length;
    double forward_time; /* seconds */
    double backward_input_time;
    double backward_weight_time;
    double mem_forward; /* bytes from forward to backward */
    double mem_static;  /* bytes of weights, gradients and optimizer states */
} ppsched_measured_layer;

/* What was measured between devices. */
enum ppsched_collective {
    PPSCHED_COLLECTIVE_ALL_REDUCE = 0,
    PPSCHED_COLLECTIVE_ALL_GATHER = 1,
    PPSCHED_COLLECTIVE_REDUCE_SCATTER = 2,
    PPSCHED_COLLECTIVE_ALL_TO_ALL = 3,
    PPSCHED_COLLECTIVE_SEND = 4 /* from one device of a pipeline to the next */
};

/* One collective. A plain record. */
typedef struct ppsched_measured_collective {
    int32_t collective; /* enum ppsched_collective */
    uint32_t group;     /* devices that take part, 2 or more */
    uint32_t span;      /* devices that they are spread over, as 16 for every second of 16; 0:
                           `group` */
    uint32_t reserved;  /* 0 */
    double bytes;       /* above 0: of the whole value; for an all-to-all and a send what a device
                           sends */
    double time;        /* seconds, above 0 */
} ppsched_measured_collective;

/* A table. Sized: set `size`. Read during the call only. */
typedef struct ppsched_layer_table {
    uint32_t size;
    uint32_t layer_count;
    const ppsched_measured_layer *layers;
    const ppsched_measured_collective *collectives;
    uint32_t collective_count;
    uint32_t reserved; /* 0 */
} ppsched_layer_table;

/* As ppsched_model_create, with measured costs. Errors: as there; ARGUMENT for a list that is NULL
 * with a count above 0; RANGE for numbers that are out of range or not finite, a name that is not
 * known, a decoder that the table does not have, two rows of one layout that fit equally, and more
 * than 65536 rows; also without an accelerator, by which gaps are filled. */
PPSCHED_API ppsched_status ppsched_model_create_measured(
    ppsched_model **out, const ppsched_description *description, const ppsched_training *training,
    const ppsched_accelerator *accelerator, const ppsched_layer_table *table,
    const ppsched_environment *environment, ppsched_error *error);

/* Where a figure of a model's row comes from. */
enum ppsched_measure {
    PPSCHED_MEASURE_FORMULA = 0, /* the cost model alone */
    PPSCHED_MEASURE_TABLE = 1,   /* a measured row that fits */
    PPSCHED_MEASURE_NEAREST = 2, /* the cost model, scaled by the nearest rows of the kind */
    PPSCHED_MEASURE_SAME = 3,    /* the cost model, scaled by other figures of the kind */
    PPSCHED_MEASURE_OTHERS = 4   /* the cost model, scaled by other kinds */
};

/* A figure with its source: measured or scaled / predicted. A plain record. */
typedef struct ppsched_figure_measure {
    int32_t source;    /* enum ppsched_measure */
    uint32_t reserved; /* 0 */
    double factor;     /* 1 with FORMULA */
} ppsched_figure_measure;

/* The sources of the figures of a model's row. Sized. */
typedef struct ppsched_row_measure {
    uint32_t size;
    uint32_t reserved;
    ppsched_figure_measure forward;
    ppsched_figure_measure input;
    ppsched_figure_measure weight;
    ppsched_figure_measure mem_forward;
    ppsched_figure_measure mem_static;
    ppsched_figure_measure selective; /* times of what is computed again */
    ppsched_figure_measure full;
    ppsched_figure_measure modules;
} ppsched_row_measure;

/* Errors: ARGUMENT, STRUCT_SIZE; RANGE for a row past the last. */
PPSCHED_API ppsched_status ppsched_model_get_row_measure(ppsched_row_measure *out,
                                                         const ppsched_model *model, uint32_t row,
                                                         ppsched_error *error);

/* The link between neighbours of a pipeline in a job of so many devices: inside a node where all of
 * the job is, else between nodes; measured where the table has sends. Either output may be NULL.
 * Errors: ARGUMENT; RANGE for less than one device and for a model without an accelerator. */
PPSCHED_API ppsched_status ppsched_model_get_link(double *latency, double *bandwidth,
                                                  const ppsched_model *model, int64_t devices,
                                                  ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
