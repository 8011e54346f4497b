/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts: splits of a model in the notations of Megatron-LM and torchtitan, which these functions
 * read, make and write.
 *
 * A layout puts the layers of a model into the stages of a pipeline, in order: one embedding (E in
 * the strings of Megatron-LM), decoders (t), layers for multi-token prediction (MTP, m), and one
 * head with the loss (L). Stage s is chunk s / D of device s mod D. */
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

/* Most layers of a layout, of all kinds together. Most stages: PPSCHED_MAX_STAGES. */
#define PPSCHED_MAX_LAYOUT_LAYERS 1000000

/* A layout that Megatron-LM's rules accept:
 *   - The number of stages is a multiple of the number of devices; any stage may be empty.
 *   - There is one embedding, the first of all layers, and one head, the last.
 *   - All MTP layers are in one stage, after all decoders, in the last chunk of their device.
 * Lifetime: the caller destroys it.
 * Thread-safety: it never changes; any number of threads may read it. */
typedef struct ppsched_layout ppsched_layout;

/* Number of layers of each kind in a stage; they run in this order. */
typedef struct ppsched_layout_stage {
    uint32_t embeddings;
    uint32_t decoders;
    uint32_t mtps;
    uint32_t heads;
} ppsched_layout_stage;

/* Conditions that a layout string must meet. Sized: set `size`; zero means any number. */
typedef struct ppsched_layout_rules {
    uint32_t size;
    uint32_t no_decoders; /* 1: `decoders` 0 means none */
    uint32_t no_mtps;     /* 1: `mtps` 0 means none, as in Megatron-LM */
    uint32_t launcher;    /* 1: Megatron-LM's launcher must accept it, too: several chunks per
                             device need more than 1 device */
    uint32_t no_overlap;  /* 1: with `launcher`, --no-overlap-p2p-communication is given: several
                             chunks per device need more than 2 devices */
    uint32_t reserved;    /* 0 */
    int64_t chunks;       /* stages per device (virtual_pipeline_model_parallel_size) */
    int64_t decoders;     /* of the model (num_layers) */
    int64_t mtps;         /* of the model (mtp_num_layers) */
} ppsched_layout_rules;

/* Flags of Megatron-LM's launcher, for a split without a string. Sized: set `size`; zero means that
 * the flag is not given. */
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

/* Makes a layout from records, one per stage. `environment` may be NULL.
 * Errors: ARGUMENT, STRUCT_SIZE; LENGTH without stages; RANGE; REFUSED where a rule is broken, with
 *   `error->stage`; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_layout_create(ppsched_layout **out, int64_t devices,
                                                 const ppsched_layout_stage *stages, size_t count,
                                                 const ppsched_environment *environment,
                                                 ppsched_error *error);

/* Makes a layout from a string for --pipeline-model-parallel-layout: `size` bytes, which need no
 * NUL. `rules` and `environment` may be NULL.
 *   - E, t, m and L are layers; `|` begins the next stage; commas mean nothing.
 *   - A first pass, from left to right, unrolls groups: `(...)*n` is the content n times; it must
 *     not contain `)`. A second pass unrolls single characters: `x*n` is a layer or a bar n times.
 *     n may be 0.
 * Time and memory are linear in the length after groups are unrolled, at most 2 *
 * PPSCHED_MAX_LAYOUT_LAYERS.
 * Errors: ARGUMENT, STRUCT_SIZE; SYNTAX, where `error->position` is the index of the byte that
 *   cannot be read; RANGE where the layout or a number in it is too large; REFUSED where a rule is
 *   broken, with `error->stage` and, if it has one, `error->position`; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_layout_create_from_text(ppsched_layout **out, const char *text,
                                                           size_t size, int64_t devices,
                                                           const ppsched_layout_rules *rules,
                                                           const ppsched_environment *environment,
                                                           ppsched_error *error);

/* Makes the layout by which Megatron-LM splits `decoders` without a string; the embedding is in the
 * first stage, the head in the last. `split` and `environment` may be NULL.
 *   - Without flags all stages have equally many decoders.
 *   - With account_for_... the embedding or the head counts as a decoder, so its stage has one
 *     decoder less.
 *   - With first_decoders or last_decoders the first or the last device has that many; the other
 *     devices share the rest evenly.
 *   - With layers_per_chunk the number of chunks follows from it.
 * Errors: ARGUMENT, STRUCT_SIZE, RANGE; REFUSED where Megatron-LM fails, or would build a model
 *   with other layers; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_layout_create_from_megatron(
    ppsched_layout **out, int64_t decoders, int64_t devices, const ppsched_megatron_split *split,
    const ppsched_environment *environment, ppsched_error *error);

/* Makes the layout by which torchtitan splits `decoders` into stages. The embedding counts as
 * `first_less` decoders, norm and head as `last_less`; torchtitan's default is 1 each, and neither
 * may exceed the least number of layers of a stage, counted in this way. If the layers do not
 * divide evenly, the first stages get one more each. `environment` may be NULL.
 * Errors: ARGUMENT, STRUCT_SIZE, RANGE; REFUSED where torchtitan does; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_layout_create_from_torchtitan(
    ppsched_layout **out, int64_t decoders, int64_t devices, int64_t stages, int64_t first_less,
    int64_t last_less, const ppsched_environment *environment, ppsched_error *error);

/* Finds the number of stages that torchtitan makes of a model, for
 * ppsched_layout_create_from_torchtitan.
 *   - `several`: 1 if the schedule has several stages per device, such as Interleaved1F1B, else 0.
 *   - `layers_per_stage` above 0: as many stages as that needs; embedding and head count as above.
 *     There must be equally many per device: 1, or with `several` 2 or more.
 *   - `layers_per_stage` 0: 1 stage per device, or with `several` 2.
 * Errors: ARGUMENT, RANGE; REFUSED where torchtitan does. */
PPSCHED_API ppsched_status ppsched_layout_find_torchtitan_stages(
    uint32_t *out, int64_t decoders, int64_t devices, int64_t layers_per_stage, int64_t first_less,
    int64_t last_less, uint32_t several, ppsched_error *error);

/* Frees it. NULL is accepted. */
PPSCHED_API void ppsched_layout_destroy(ppsched_layout *layout);

/* --- reading it --- */

/* Number of devices. */
PPSCHED_API uint32_t ppsched_layout_devices(const ppsched_layout *layout);

/* Stages per device. */
PPSCHED_API uint32_t ppsched_layout_chunks(const ppsched_layout *layout);

/* The stages in order, borrowed; `*count` receives their number. */
PPSCHED_API const ppsched_layout_stage *ppsched_layout_stages(const ppsched_layout *layout,
                                                              size_t *count);

/* For each stage the number of decoders before it, borrowed. That is the number of its first
 * decoder, if it has one. */
PPSCHED_API const uint32_t *ppsched_layout_offsets(const ppsched_layout *layout, size_t *count);

/* --- writing it --- */

/* Writes the string for --pipeline-model-parallel-layout that is read as the same stages. 3 or more
 * equal layers in a row become `x*n`, repeated stages `(...)*n`. It is the shortest string with
 * groups of up to 16 stages. Fills a buffer: see ppsched.h.
 * Errors: ARGUMENT, BUFFER. */
PPSCHED_API ppsched_status ppsched_layout_write_text(char *out, size_t capacity, size_t *needed,
                                                     const ppsched_layout *layout,
                                                     ppsched_error *error);

/* Writes torchtitan's names for the modules of a stage, separated by blanks: tok_embeddings,
 * layers.N with N from 0, norm, lm_head. `rotary` 1 adds rotary_emb to each stage, as torchtitan's
 * backend for models of the transformers package needs it. Fills a buffer: see ppsched.h.
 * Errors: ARGUMENT; RANGE, also for a stage past the last; REFUSED for MTP layers, for which
 *   torchtitan has no names; BUFFER. */
PPSCHED_API ppsched_status ppsched_layout_write_modules(char *out, size_t capacity, size_t *needed,
                                                        const ppsched_layout *layout,
                                                        uint32_t stage, uint32_t rotary,
                                                        ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
