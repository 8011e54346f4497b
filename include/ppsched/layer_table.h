/* SPDX-License-Identifier: Apache-2.0 */
/* A layer table: measured costs of layers and collectives. A model uses them in place of its
 * formulas.
 *
 * UNSTABLE: the declarations of this header may change before release 1.0.
 *
 * A model (model.h) looks up each of its rows in the table:
 *   - A measured row fits if its kind is that of the model's row, and each of its sizes is that of
 *     the training or "any" (0). Of several rows that fit, the row with the fewest sizes "any" is
 *     taken; if several have equally few, their mean is taken. Sizes of experts do not count for
 *     layers without experts.
 *   - If no row fits, the rows of the kind with the nearest sizes are taken: those whose sizes
 *     differ by the smallest factor, all sizes together. The cost model's value for the training is
 *     multiplied by measured / predicted of these rows.
 *   - A time that no row of the kind has is the cost model's, multiplied by the mean factor of the
 *     kind's other times. Bytes that no row of the kind has are the cost model's, multiplied by the
 *     mean factor of these bytes of other kinds.
 *   - For embedding, head, MTP layers and towers without a row, the cost model's values are
 *     multiplied by the mean factors of the other kinds. A decoder without a row is refused.
 *   - A row with a kind of recomputation has the bytes that this kind keeps. The time of the
 *     recomputation is the backward of this row minus the backward without recomputation. Without
 *     such rows the time is the cost model's, multiplied by the factor of the forward.
 *   - mem_static is that of a device without sharding. Sharding divides it as in the cost model.
 * A collective takes the measured time for its bytes in groups of its size and span. Times between
 * two measured sizes are on a straight line. Below the smallest size the time is that of the
 * smallest. Above the largest size it is on the line of the last two. In other groups, and if only
 * one size was measured, the cost model's time is multiplied by measured / predicted of the nearest
 * group. */
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

/* Measured costs of one layer on one device for one microbatch. A plain record. A size of 0 means
 * any size. A time or a number of bytes below 0 means that it was not measured. */
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

/* Kinds of measured transfers between devices. */
enum ppsched_collective {
    PPSCHED_COLLECTIVE_ALL_REDUCE = 0,
    PPSCHED_COLLECTIVE_ALL_GATHER = 1,
    PPSCHED_COLLECTIVE_REDUCE_SCATTER = 2,
    PPSCHED_COLLECTIVE_ALL_TO_ALL = 3,
    PPSCHED_COLLECTIVE_SEND = 4 /* from one device of a pipeline to the next */
};

/* The measured time of one collective. A plain record. */
typedef struct ppsched_measured_collective {
    int32_t collective; /* enum ppsched_collective */
    uint32_t group;     /* number of devices that take part, 2 or more */
    uint32_t span;      /* number of devices over which they are spread: 16 if 8 devices are every
                           second one of 16; 0: as `group` */
    uint32_t reserved;  /* 0 */
    double bytes;       /* bytes of the whole value; for an all-to-all and a send, bytes that a
                           device sends. Above 0 */
    double time;        /* seconds, above 0 */
} ppsched_measured_collective;

/* A layer table. Sized: set `size`. It is read only during the call. */
typedef struct ppsched_layer_table {
    uint32_t size;
    uint32_t layer_count;
    const ppsched_measured_layer *layers;
    const ppsched_measured_collective *collectives;
    uint32_t collective_count;
    uint32_t reserved; /* 0 */
} ppsched_layer_table;

/* As ppsched_model_create, with measured costs. The accelerator is required, because the cost model
 * fills the gaps of the table. Errors: as ppsched_model_create; ARGUMENT for a list that is NULL
 * with a count above 0; RANGE without an accelerator, and for numbers that are out of range or not
 * finite, an unknown name, a decoder that the table does not have, two rows of one layout that fit
 * equally, and more than 65536 rows. */
PPSCHED_API ppsched_status ppsched_model_create_measured(
    ppsched_model **out, const ppsched_description *description, const ppsched_training *training,
    const ppsched_accelerator *accelerator, const ppsched_layer_table *table,
    const ppsched_environment *environment, ppsched_error *error);

/* The source of a figure of a model's row. */
enum ppsched_measure {
    PPSCHED_MEASURE_FORMULA = 0, /* only the cost model */
    PPSCHED_MEASURE_TABLE = 1,   /* a measured row that fits */
    PPSCHED_MEASURE_NEAREST = 2, /* the cost model, scaled by the nearest rows of the kind */
    PPSCHED_MEASURE_SAME = 3,    /* the cost model, scaled by other figures of the kind */
    PPSCHED_MEASURE_OTHERS = 4   /* the cost model, scaled by other kinds */
};

/* The source of a figure, and its factor: the value that is used / the cost model's value. A plain
 * record. */
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
    ppsched_figure_measure selective; /* times of recomputation */
    ppsched_figure_measure full;
    ppsched_figure_measure modules;
} ppsched_row_measure;

/* Errors: ARGUMENT, STRUCT_SIZE; RANGE for a row past the last. */
PPSCHED_API ppsched_status ppsched_model_get_row_measure(ppsched_row_measure *out,
                                                         const ppsched_model *model, uint32_t row,
                                                         ppsched_error *error);

/* The latency and bandwidth of the link between neighbours of a pipeline, in a job of `devices`
 * devices. If the whole job is in one node, it is a link inside a node, else a link between nodes.
 * If the table has sends, the measured values are returned. Either output may be NULL.
 * Errors: ARGUMENT; RANGE for fewer than 1 device, and for a model without an accelerator. */
PPSCHED_API ppsched_status ppsched_model_get_link(double *latency, double *bandwidth,
                                                  const ppsched_model *model, int64_t devices,
                                                  ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
