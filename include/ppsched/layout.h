/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts: a layout says which layers are in which stage, in the notation of Megatron-LM or
 * torchtitan. These functions read, make and write layouts.
 *
 * A layout puts the layers of a model into the stages of a pipeline, in order. The layers are one
 * embedding (E in Megatron-LM's strings), decoders (t), layers for multi-token prediction (MTP, m),
 * and one head with the loss (L). Stage s is chunk s / D of device s mod D, where D is the number
 * of devices. */
#ifndef PPSCHED_LAYOUT_H
#define PPSCHED_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/environment.h>
#include <ppsched/export_macro.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The largest number of layers of a layout, all kinds of layers together. A layout has at most
 * PPSCHED_MAX_STAGES stages. */
#define PPSCHED_MAX_LAYOUT_LAYERS 1000000

/* A layout, which follows Megatron-LM's rules:
 *   - The number of stages is a multiple of the number of devices. Any stage may be empty.
 *   - The first layer is the embedding, and the last layer is the head. There is one of each.
 *   - MTP layers come after all decoders. All MTP layers are in one stage, and this stage is the
 *     last chunk of its device.
 * Lifetime: the caller destroys it.
 * Thread-safety: a layout never changes; any number of threads may read it. */
typedef struct ppsched_layout ppsched_layout;

/* How many layers of each kind a stage has. The layers run in the order of the members. */
typedef struct ppsched_layout_stage {
    uint32_t embeddings; /* 1 in the stage of the embedding, otherwise 0 */
    uint32_t decoders;   /* number of decoders */
    uint32_t mtps;       /* number of MTP layers */
    uint32_t heads;      /* 1 in the stage of the head (final norm, output, loss), otherwise 0 */
} ppsched_layout_stage;

/* Rules for a layout string. Set `size` to sizeof of this struct. A field that is 0 is no rule. */
typedef struct ppsched_layout_rules {
    uint32_t size;
    uint32_t no_decoders; /* 1: a `decoders` of 0 means that the model has no decoders */
    uint32_t no_mtps;     /* 1: an `mtps` of 0 means that the model has no MTP layers, as in
                             Megatron-LM */
    uint32_t launcher;    /* 1: several chunks per device need more than 1 device, as in
                             Megatron-LM's launcher */
    uint32_t no_overlap;  /* 1: several chunks per device need more than 2 devices, as in
                             Megatron-LM's launcher with --no-overlap-p2p-communication. Only with
                             `launcher` */
    uint32_t reserved;    /* 0 */
    int64_t chunks;       /* number of stages per device (virtual_pipeline_model_parallel_size); 0:
                             any number */
    int64_t decoders;     /* number of decoders of the model (num_layers); 0: any number */
    int64_t mtps;         /* number of MTP layers of the model (mtp_num_layers); 0: any number */
} ppsched_layout_rules;

/* Flags of Megatron-LM's launcher that define a split without a layout string. Set `size` to sizeof
 * of this struct. If a field is 0, its flag is not given. */
typedef struct ppsched_megatron_split {
    uint32_t size;
    uint32_t account_for_embedding; /* 1: --account-for-embedding-in-pipeline-split */
    uint32_t account_for_loss;      /* 1: --account-for-loss-in-pipeline-split */
    uint32_t no_overlap;            /* 1: --no-overlap-p2p-communication */
    int64_t layers_per_chunk;       /* --num-layers-per-virtual-pipeline-stage */
    int64_t chunks;                 /* --num-virtual-stages-per-pipeline-rank */
    int64_t first_decoders;         /* --decoder-first-pipeline-num-layers, the number of decoders
                                       of device 0 */
    int64_t last_decoders;          /* --decoder-last-pipeline-num-layers, the number of decoders of
                                       the last device */
    int64_t mtps;                   /* --mtp-num-layers, the number of MTP layers. They are in the
                                       last stage */
} ppsched_megatron_split;

/* --- making a layout --- */

/* Makes a layout from `count` records, one for each stage. `environment` may be NULL.
 * Errors: ARGUMENT, STRUCT_SIZE; LENGTH if `count` is 0; RANGE; REFUSED if the stages break a
 *   rule (`error->stage` has the stage); NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_layout_create(ppsched_layout **out, int64_t devices,
                                                 const ppsched_layout_stage *stages, size_t count,
                                                 const ppsched_environment *environment,
                                                 ppsched_error *error);

/* Reads a layout from a string for --pipeline-model-parallel-layout. `text` has `size` bytes, and
 * needs no NUL at its end. `rules` and `environment` may be NULL.
 *   - E, t, m and L are layers. `|` begins the next stage. Commas are ignored.
 *   - `(...)*n` is a group. The group repeats its content, which must not contain `)`, n times.
 *     `x*n` repeats one character, which may be `|`, n times. n may be 0.
 *   - All groups are expanded first, from left to right. Then each `x*n` is expanded. Each of these
 *     two steps is done only once, so `t*2*3` is an error.
 * Time and memory of the call are linear in the number of characters that the string has after its
 * groups are expanded. This number is at most 2 * PPSCHED_MAX_LAYOUT_LAYERS.
 * Errors: ARGUMENT, STRUCT_SIZE; SYNTAX, with the index of the byte that cannot be read in
 *   `error->position`; RANGE if the layout or a number is too large; REFUSED if the layout breaks a
 *   rule (`error->stage` has the stage; if one byte is the reason, `error->position` has the index
 *   of this byte); NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_layout_create_from_text(ppsched_layout **out, const char *text,
                                                           size_t size, int64_t devices,
                                                           const ppsched_layout_rules *rules,
                                                           const ppsched_environment *environment,
                                                           ppsched_error *error);

/* Makes the layout that Megatron-LM, without a layout string, uses for a model with `decoders`
 * decoders. The embedding is in the first stage, and the head in the last stage. `split` and
 * `environment` may be NULL.
 *   - Without flags, each stage gets the same number of decoders.
 *   - account_for_embedding: the embedding counts as a decoder, so the first stage gets one decoder
 *     less. account_for_loss: the head counts as a decoder, so the last stage gets one decoder
 *     less.
 *   - first_decoders is the number of decoders of the first device, and last_decoders of the last
 *     device. All other decoders are divided equally among all other devices.
 *   - layers_per_chunk is the number of layers per chunk. The number of chunks per device is
 *     computed from this number.
 * Errors: ARGUMENT, STRUCT_SIZE, RANGE; REFUSED if Megatron-LM would stop with an error, or would
 *   build a model with other layers than the given ones; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_layout_create_from_megatron(
    ppsched_layout **out, int64_t decoders, int64_t devices, const ppsched_megatron_split *split,
    const ppsched_environment *environment, ppsched_error *error);

/* Makes the layout that torchtitan uses for a model with `decoders` decoders. `environment` may be
 * NULL.
 *   - The embedding counts as `first_less` decoders. Norm and head together count as `last_less`
 *     decoders. In torchtitan both numbers are 1 by default.
 *   - Counted in this way, all stages get the same number of decoders. If this is not possible, the
 *     first stages get one decoder more than the others.
 *   - `first_less` and `last_less` may each be at most the number of decoders that the smallest
 *     stage gets, counted in this way.
 * Errors: ARGUMENT, STRUCT_SIZE, RANGE; REFUSED if torchtitan refuses the layout; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_layout_create_from_torchtitan(
    ppsched_layout **out, int64_t decoders, int64_t devices, int64_t stages, int64_t first_less,
    int64_t last_less, const ppsched_environment *environment, ppsched_error *error);

/* Finds how many stages torchtitan makes (`stages` of ppsched_layout_create_from_torchtitan).
 * `several` is 1 if the schedule has several stages per device, for example Interleaved1F1B;
 * otherwise 0.
 *   - If `layers_per_stage` is above 0, the number of stages is (`decoders` + `first_less` +
 *     `last_less`) / `layers_per_stage`, rounded up. If `several` is 0, this number must be 1 stage
 *     per device. If `several` is 1, it must be a multiple of the number of devices, with at least
 *     2 stages per device.
 *   - If `layers_per_stage` is 0, there is 1 stage per device, or 2 if `several` is 1.
 * Errors: ARGUMENT, RANGE; REFUSED if torchtitan refuses the number. */
PPSCHED_API ppsched_status ppsched_layout_find_torchtitan_stages(
    uint32_t *out, int64_t decoders, int64_t devices, int64_t layers_per_stage, int64_t first_less,
    int64_t last_less, uint32_t several, ppsched_error *error);

/* Frees a layout. NULL is accepted. */
PPSCHED_API void ppsched_layout_destroy(ppsched_layout *layout);

/* --- reading a layout --- */

/* The number of devices. */
PPSCHED_API uint32_t ppsched_layout_devices(const ppsched_layout *layout);

/* The number of stages per device. */
PPSCHED_API uint32_t ppsched_layout_chunks(const ppsched_layout *layout);

/* The stages, in order. `*count` receives their number. The list is borrowed from the layout. */
PPSCHED_API const ppsched_layout_stage *ppsched_layout_stages(const ppsched_layout *layout,
                                                              size_t *count);

/* For each stage, the number of decoders in all earlier stages. This is also the index, counted
 * from 0, of the stage's first decoder. The list is borrowed from the layout. */
PPSCHED_API const uint32_t *ppsched_layout_offsets(const ppsched_layout *layout, size_t *count);

/* --- writing a layout --- */

/* Writes a string for --pipeline-model-parallel-layout, from which Megatron-LM reads the same
 * stages.
 *   - 3 or more consecutive equal letters are written as `x*n`. Groups of stages that repeat are
 *     written as `(...)*n`.
 *   - Of all such strings with groups of up to 16 stages, the result is the shortest.
 * Fills a buffer: see ppsched.h.
 * Errors: ARGUMENT, BUFFER. */
PPSCHED_API ppsched_status ppsched_layout_write_text(char *out, size_t capacity, size_t *needed,
                                                     const ppsched_layout *layout,
                                                     ppsched_error *error);

/* Writes torchtitan's names of the modules of a stage, separated by blanks: tok_embeddings,
 * layers.N with N from 0, norm, lm_head. If `rotary` is 1, each stage also has rotary_emb, as in
 * torchtitan's backend for models of the transformers package. Fills a buffer: see ppsched.h.
 * Errors: ARGUMENT; RANGE, also for a stage past the last; REFUSED if the stage has MTP layers, for
 *   which torchtitan has no name; BUFFER. */
PPSCHED_API ppsched_status ppsched_layout_write_modules(char *out, size_t capacity, size_t *needed,
                                                        const ppsched_layout *layout,
                                                        uint32_t stage, uint32_t rotary,
                                                        ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
