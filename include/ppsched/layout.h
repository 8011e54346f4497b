/* SPDX-License-Identifier: Apache-2.0 */
/* Which layers are in which stage: layouts of Megatron-LM and torchtitan, read, made, and written.
 *
 * A layout puts the layers of a model in the stages of a pipeline, in order: one embedding (E in
 * Megatron-LM's strings), decoders (t), layers for multi-token prediction (MTP, m), and one head
 * with the loss (L). Stage s is chunk s / D of device s mod D. */
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

/* The most layers of a layout, of all kinds together. Stages: PPSCHED_MAX_STAGES. */
#define PPSCHED_MAX_LAYOUT_LAYERS 1000000

/* A layout that Megatron-LM's rules accept:
 *   - Stages are a multiple of devices; any may be empty.
 *   - The embedding is the first layer of all, the head the last, and there is one of each.
 *   - MTP layers come after all decoders, are all in one stage, and that is the last chunk of its
 *     device.
 * Lifetime: the caller destroys it.
 * Thread-safety: it never changes; any number of threads may read it. */
typedef struct ppsched_layout ppsched_layout;

/* How many layers of each kind a stage has; they run in this order. */
typedef struct ppsched_layout_stage {
    uint32_t embeddings;
    uint32_t decoders;
    uint32_t mtps;
    uint32_t heads;
} ppsched_layout_stage;

/* What a layout string must agree with. Sized: set `size`; zero means any number. */
typedef struct ppsched_layout_rules {
    uint32_t size;
    uint32_t no_decoders; /* 1: `decoders` 0 is meant as 0 */
    uint32_t no_mtps;     /* 1: `mtps` 0 is meant as 0, as Megatron-LM does */
    uint32_t launcher;    /* 1: Megatron-LM's launcher would take it too: several chunks a device
                             need more than 1 device */
    uint32_t no_overlap;  /* 1: with `launcher`, --no-overlap-p2p-communication: they need more
                             than 2 */
    uint32_t reserved;    /* 0 */
    int64_t chunks;       /* stages a device (virtual_pipeline_model_parallel_size) */
    int64_t decoders;     /* of the model (num_layers) */
    int64_t mtps;         /* of the model (mtp_num_layers) */
} ppsched_layout_rules;

/* Flags of Megatron-LM's launcher, for a split without a string. Sized: set `size`; zero means that
 * a flag is not given. */
typedef struct ppsched_megatron_split {
    uint32_t size;
    uint32_t account_for_embedding; /* 1: --account-for-embedding-in-pipeline-split */
    uint32_t account_for_loss;      /* 1: --account-for-loss-in-pipeline-split */
    uint32_t no_overlap;            /* 1: --no-overlap-p2p-communication */
    int64_t layers_per_chunk;       /* --num-layers-per-virtual-pipeline-stage */
    int64_t chunks;                 /* --num-virtual-stages-per-pipeline-rank */
    int64_t first_decoders;         /* --decoder-first-pipeline-num-layers, of device 0 */
    int64_t last_decoders;          /* --decoder-last-pipeline-num-layers, of the last device */
    int64_t mtps;                   /* --mtp-num-layers: they are in the last stage */
} ppsched_megatron_split;

/* --- making one --- */

/* From records, one a stage. `environment` may be NULL.
 * Errors: ARGUMENT, STRUCT_SIZE; LENGTH without stages; RANGE; REFUSED where a rule is broken, with
 *   `error->stage`; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_layout_create(ppsched_layout **out, int64_t devices,
                                                 const ppsched_layout_stage *stages, size_t count,
                                                 const ppsched_environment *environment,
                                                 ppsched_error *error);

/* From the `size` bytes of a string for --pipeline-model-parallel-layout, which need no NUL.
 * `rules` and `environment` may be NULL.
 *   - E, t, m and L are layers, `|` begins the next stage; commas mean nothing.
 *   - `(...)*n` repeats what is between, which holds no `)`. Then `x*n` repeats one character,
 *     a bar too. Each is done once, from left to right; n may be 0.
 * Time and memory are linear in what the groups unroll to, at most 2 * PPSCHED_MAX_LAYOUT_LAYERS.
 * Errors: ARGUMENT, STRUCT_SIZE; SYNTAX with `error->position`, the index of the byte that cannot
 *   be read; RANGE where it is too large, or a number is; REFUSED where a rule is broken, with
 *   `error->stage` and `error->position` where there is one; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_layout_create_from_text(ppsched_layout **out, const char *text,
                                                           size_t size, int64_t devices,
                                                           const ppsched_layout_rules *rules,
                                                           const ppsched_environment *environment,
                                                           ppsched_error *error);

/* As Megatron-LM splits `decoders` without a string; the embedding is put in the first stage, the
 * head in the last. `split` and `environment` may be NULL.
 *   - Even: each stage gets as many.
 *   - account_for_...: the embedding or the head counts as a decoder, and its stage gets one less.
 *   - first_decoders, last_decoders: of these devices; the others share the rest.
 *   - layers_per_chunk: the chunks follow from it.
 * Errors: ARGUMENT, STRUCT_SIZE, RANGE; REFUSED where Megatron-LM stops, or would build a model
 *   with other layers; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_layout_create_from_megatron(
    ppsched_layout **out, int64_t decoders, int64_t devices, const ppsched_megatron_split *split,
    const ppsched_environment *environment, ppsched_error *error);

/* As torchtitan splits `decoders` among stages: the embedding counts as `first_less` decoders, norm
 * and head as `last_less` (torchtitan's default is 1 each); the first stages get one more where it
 * does not go evenly. Neither may be more than the least of a stage. `environment` may be NULL.
 * Errors: ARGUMENT, STRUCT_SIZE, RANGE; REFUSED where torchtitan does; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_layout_create_from_torchtitan(
    ppsched_layout **out, int64_t decoders, int64_t devices, int64_t stages, int64_t first_less,
    int64_t last_less, const ppsched_environment *environment, ppsched_error *error);

/* How many stages torchtitan makes of a model for ppsched_layout_create_from_torchtitan:
 *   - `layers_per_stage` above 0: as many as that takes, embedding and head counted as above; they
 *     must be a multiple of devices, and 1 a device, or 2 or more where the schedule has several.
 *   - 0: one a device, or 2 where the schedule has several.
 * `several`: 1 where the schedule has several stages a device, such as Interleaved1F1B.
 * Errors: ARGUMENT, RANGE; REFUSED where torchtitan does. */
PPSCHED_API ppsched_status ppsched_layout_find_torchtitan_stages(
    uint32_t *out, int64_t decoders, int64_t devices, int64_t layers_per_stage, int64_t first_less,
    int64_t last_less, uint32_t several, ppsched_error *error);

/* Frees it. NULL is accepted. */
PPSCHED_API void ppsched_layout_destroy(ppsched_layout *layout);

/* --- reading it --- */

PPSCHED_API uint32_t ppsched_layout_devices(const ppsched_layout *layout);

/* Stages a device. */
PPSCHED_API uint32_t ppsched_layout_chunks(const ppsched_layout *layout);

/* The stages in order; `*count` gets their number. */
PPSCHED_API const ppsched_layout_stage *ppsched_layout_stages(const ppsched_layout *layout,
                                                              size_t *count);

/* Of each stage, how many decoders come before it: the number of its first, where it has one. */
PPSCHED_API const uint32_t *ppsched_layout_offsets(const ppsched_layout *layout, size_t *count);

/* --- writing it --- */

/* The string for --pipeline-model-parallel-layout, which is read back to the same stages: E, t, m
 * and L, runs of 3 or more as `x*n`, stages that repeat as `(...)*n`, as short as groups of up to
 * 16 stages make it. Fills a buffer: see ppsched.h.
 * Errors: ARGUMENT, BUFFER. */
PPSCHED_API ppsched_status ppsched_layout_write_text(char *out, size_t capacity, size_t *needed,
                                                     const ppsched_layout *layout,
                                                     ppsched_error *error);

/* The modules of a stage as torchtitan names them, with a blank between: tok_embeddings, layers.N
 * with N from 0, norm, lm_head. `rotary`: 1 adds rotary_emb to each, as its backend for models of
 * the transformers package has it. Fills a buffer: see ppsched.h.
 * Errors: ARGUMENT; RANGE, also for a stage past the last; REFUSED for MTP layers, for which
 *   torchtitan has no name; BUFFER. */
PPSCHED_API ppsched_status ppsched_layout_write_modules(char *out, size_t capacity, size_t *needed,
                                                        const ppsched_layout *layout,
                                                        uint32_t stage, uint32_t rotary,
                                                        ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
