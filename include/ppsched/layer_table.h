/* SPDX-License-Identifier: Apache-2.0 */
/* A layer table: measured costs of layers and collectives. A model uses these costs in place of its
 * formulas.
 *
 * UNSTABLE: the declarations of this header may change before release 1.0.
 *
 * The cost model is the set of formulas in model.h. For each row of a model (ppsched_model_row),
 * the costs come from the measured rows of the table:
 *   - A measured row fits a row of the model if both have the same kind, and each size of the
 *     measured row equals the size in the training. A size of 0 in a measured row fits any size. If
 *     several measured rows fit, the row with the fewest sizes of 0 is taken. If several of them
 *     have equally few sizes of 0, the mean of these rows is taken. For layers
 *     without experts, expert_parallel and expert_tensor_parallel are not compared.
 *   - If no measured row fits, the nearest rows of the kind are taken. To find them, each size of a
 *     measured row is compared with the size in the training, and the larger of the two is divided
 *     by the smaller. The nearest rows have the smallest product of these quotients. The result is
 *     the cost model's value for the training, multiplied by the factor of the nearest rows. The
 *     factor of a row is its measured value, divided by the value that the cost model predicts for
 *     the sizes of this row.
 *   - If all rows of the kind lack one of the times, the cost model's time is multiplied by the
 *     mean factor of the other times of this kind. If all rows of the kind lack one of the numbers
 *     of bytes, the cost model's bytes are multiplied by the mean of the factors that other kinds
 *     have for these bytes.
 *   - If embedding, head, MTP layers or towers have no measured row, the cost model's values for
 *     them are multiplied by the mean factors of the other kinds. If a decoder has no measured row,
 *     the table is refused.
 *   - A measured row with a kind of recomputation states the bytes that a layer keeps with this
 *     recomputation. The time of the recomputation is the backward time of this row, minus the
 *     backward time of the layer without recomputation. If no measured row has this kind of
 *     recomputation, the cost model's time of the recomputation is multiplied by the factor of the
 *     forward.
 *   - mem_static is the number of bytes that a device holds without sharding. With sharding,
 *     mem_static is divided as in the cost model.
 *
 * The time of a collective comes from the measured collectives with the same group and span (see
 * ppsched_measured_collective):
 *   - Between two measured numbers of bytes, the time is interpolated linearly.
 *   - Below the smallest measured number of bytes, the time of this smallest number is taken.
 *   - Above the largest measured number of bytes, the time is extrapolated from the two largest.
 *   - If only one number of bytes was measured, or if no measured collective has the same group and
 *     span, the measured collective with the nearest group and span is taken. The cost model's time
 *     is then multiplied by the ratio of measured to predicted time of this measured collective. */
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

/* Measured costs of one layer on one device for one microbatch. A plain record: its layout never
 * changes. A size of 0 means any size. A negative time or number of bytes means that the value was
 * not measured. */
typedef struct ppsched_measured_layer {
    const char *kind;      /* kind of layer: `name` of a ppsched_model_row, such as "decoder" */
    const char *recompute; /* kind of recomputation: "none", "selective", "full" or "modules". NULL
                              means "none" */
    uint32_t tensor_parallel;        /* degree of tensor parallelism; 0: any */
    uint32_t context_parallel;       /* degree of context parallelism; 0: any */
    uint32_t expert_parallel;        /* degree of expert parallelism; 0: any */
    uint32_t expert_tensor_parallel; /* number of devices of an expert; 0: any */
    uint32_t micro_batch_size;       /* samples of a microbatch; 0: any */
    uint32_t sequence_length;        /* tokens of a sequence; 0: any */
    double forward_time;             /* seconds of F */
    double backward_input_time;      /* seconds of I */
    double backward_weight_time;     /* seconds of W */
    double mem_forward;              /* activation bytes held from the forward to the backward */
    double mem_static; /* bytes of weights, gradients and optimizer states, without sharding */
} ppsched_measured_layer;

/* Kinds of measured transfers between devices. */
enum ppsched_collective {
    PPSCHED_COLLECTIVE_ALL_REDUCE = 0,
    PPSCHED_COLLECTIVE_ALL_GATHER = 1,
    PPSCHED_COLLECTIVE_REDUCE_SCATTER = 2,
    PPSCHED_COLLECTIVE_ALL_TO_ALL = 3,
    PPSCHED_COLLECTIVE_SEND = 4 /* a transfer from one device of a pipeline to the next */
};

/* The name of an enumerator, as in names.h. */
PPSCHED_API const char *ppsched_collective_name(int32_t collective);

/* The measured time of one collective. A plain record: its layout never changes. */
typedef struct ppsched_measured_collective {
    int32_t collective; /* enum ppsched_collective */
    uint32_t group;     /* number of devices in the collective, 2 or more */
    uint32_t span;      /* number of consecutive devices that contain the group. Example: if the
                           group is every second device of 16, `group` is 8 and `span` is 16. 0
                           means the same as `group` */
    uint32_t reserved;  /* 0 */
    double bytes;       /* size of the whole value in bytes, above 0. For an all-to-all or a send:
                           number of bytes that one device sends */
    double time;        /* measured time in seconds, above 0 */
} ppsched_measured_collective;

/* A layer table. Set `size` to sizeof of this struct. The library reads the table only during the
 * call. */
typedef struct ppsched_layer_table {
    uint32_t size;
    uint32_t layer_count;
    const ppsched_measured_layer *layers;
    const ppsched_measured_collective *collectives;
    uint32_t collective_count;
    uint32_t reserved; /* 0 */
} ppsched_layer_table;

/* Makes a model like ppsched_model_create, but with measured costs. `accelerator` must not be NULL,
 * because the cost model fills the gaps of the table.
 * Errors: as ppsched_model_create; ARGUMENT for a list that is NULL with a count above 0; RANGE in
 *   these cases:
 *   - `accelerator` is NULL;
 *   - a number is out of range or not finite, or a name is unknown;
 *   - the table has no row for a decoder of the model;
 *   - two of the measured rows that are taken (see above) have the same kind and the same sizes;
 *   - two collectives have the same kind, group, span and bytes;
 *   - there are more than 65536 rows of layers, or more than 65536 rows of collectives. */
PPSCHED_API ppsched_status ppsched_model_create_measured(
    ppsched_model **out, const ppsched_description *description, const ppsched_training *training,
    const ppsched_accelerator *accelerator, const ppsched_layer_table *table,
    const ppsched_environment *environment, ppsched_error *error);

/* The source of a figure (a time or a number of bytes) of a row of a model. */
enum ppsched_measure {
    PPSCHED_MEASURE_FORMULA = 0, /* the figure comes from the cost model only */
    PPSCHED_MEASURE_TABLE = 1,   /* the figure comes from a measured row that fits */
    PPSCHED_MEASURE_NEAREST = 2, /* the cost model's figure, scaled by the nearest measured rows of
                                    the same kind of layer */
    PPSCHED_MEASURE_SAME = 3,    /* the cost model's figure, scaled by measurements of other figures
                                    of the same kind of layer */
    PPSCHED_MEASURE_OTHERS = 4   /* the cost model's figure, scaled by measurements of other kinds
                                    of layers */
};

/* The name of an enumerator, as in names.h. */
PPSCHED_API const char *ppsched_measure_name(int32_t measure);

/* The source of a figure. A plain record: its layout never changes. */
typedef struct ppsched_figure_measure {
    int32_t source;    /* enum ppsched_measure */
    uint32_t reserved; /* 0 */
    double factor;     /* the figure, divided by the cost model's value; 1 if `source` is FORMULA */
} ppsched_figure_measure;

/* The sources of the figures of a row of a model. Set `size` to sizeof of this struct. */
typedef struct ppsched_row_measure {
    uint32_t size;
    uint32_t reserved;
    ppsched_figure_measure forward;     /* source of the time of F */
    ppsched_figure_measure input;       /* source of the time of I */
    ppsched_figure_measure weight;      /* source of the time of W */
    ppsched_figure_measure mem_forward; /* source of the activation bytes */
    ppsched_figure_measure mem_static;  /* source of the bytes of weights, gradients and optimizer
                                           states */
    ppsched_figure_measure selective; /* source of the time of recomputation of kind "selective" */
    ppsched_figure_measure full;      /* source of the time of recomputation of kind "full" */
    ppsched_figure_measure modules;   /* source of the time of recomputation of kind "modules" */
} ppsched_row_measure;

/* Finds the sources of the figures of a row.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE for a row past the last. */
PPSCHED_API ppsched_status ppsched_model_get_row_measure(ppsched_row_measure *out,
                                                         const ppsched_model *model, uint32_t row,
                                                         ppsched_error *error);

/* The latency (seconds) and bandwidth (bytes per second) of the link between neighbours of a
 * pipeline, in a job of `devices` devices.
 *   - If the whole job is in one node, the link is a link inside the node. If the accelerator has
 *     pods, and the job is larger than one pod, the link is a link between pods. Otherwise the link
 *     is a link between nodes.
 *   - If the model has a table with measured sends over such a link, the values come from these
 *     sends.
 * Either output may be NULL.
 * Errors: ARGUMENT; RANGE for fewer than 1 device, and for a model without an accelerator. */
PPSCHED_API ppsched_status ppsched_model_get_link(double *latency, double *bandwidth,
                                                  const ppsched_model *model, int64_t devices,
                                                  ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
