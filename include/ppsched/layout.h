/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts: which layers are in which stage, in the notations of Megatron-LM and torchtitan. The
 * functions read, make and write them.
 *
 * A layout puts the layers of a model into the stages of a pipeline, in order: one embedding (E in
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

/* The largest number of layers of a layout, of all kinds together. It has up to PPSCHED_MAX_STAGES
 * stages. */
#define PPSCHED_MAX_LAYOUT_LAYERS 1000000

/* A layout that Megatron-LM's rules accept:
 *   - The number of stages is a multiple of the number of devices. Any stage may be empty.
 *   - There is one embedding, the first of all layers, and one head, the last.
 *   - MTP layers come after all decoders. They are all in one stage, the last chunk of its device.
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

/* What a layout string must agree with. Sized: set `size`; a number of 0 means any. */
typedef struct ppsched_layout_rules {
    uint32_t size;
    uint32_t no_decoders; /* 1: `decoders` 0 means none */
    uint32_t no_mtps;     /* 1: `mtps` 0 means none, as in Megatron-LM */
    uint32_t launcher;    /* 1: the rules of Megatron-LM's launcher, too: several chunks per device
                             need more than 1 device */
    uint32_t no_overlap;  /* 1: with `launcher`, as for --no-overlap-p2p-communication: several
                             chunks need more than 2 devices */
    uint32_t reserved;    /* 0 */
    int64_t chunks;       /* stages per device (virtual_pipeline_model_parallel_size) */
    int64_t decoders;     /* decoders of the model (num_layers) */
    int64_t mtps;         /* MTP layers of the model (mtp_num_layers) */
} ppsched_layout_rules;

/* Flags of Megatron-LM's launcher that define a split without a string. Sized: set `size`; zero
 * means that the flag is not given. */
typedef struct ppsched_megatron_split {
    uint32_t size;
    uint32_t account_for_embedding; /* 1: --account-for-embedding-in-pipeline-split */
    uint32_t account_for_loss;      /* 1: --account-for-loss-in-pipeline-split */
    uint32_t no_overlap;            /* 1: --no-overlap-p2p-communication */
    int64_t layers_per_chunk;       /* --num-layers-per-virtual-pipeline-stage */
    int64_t chunks;                 /* --num-virtual-stages-per-pipeline-rank */
    int64_t first_decoders;         /* --decoder-first-pipeline-num-layers, of device 0 */
    int64_t last_decoders;          /* --decoder-last-pipeline-num-layers, of the last device */
    int64_t mtps;                   /* --mtp-num-layers; in the last stage */
} ppsched_megatron_split;

/* --- making one --- */

/* Makes a layout from records, one per stage. `environment` may be NULL.
 * Errors: ARGUMENT, STRUCT_SIZE; LENGTH without stages; RANGE; REFUSED if a rule is broken, with
 *   `error->stage`; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_layout_create(ppsched_layout **out, int64_t devices,
                                                 const ppsched_layout_stage *stages, size_t count,
                                                 const ppsched_environment *environment,
                                                 ppsched_error *error);

/* Reads a layout from the `size` bytes of a string for --pipeline-model-parallel-layout. The string
 * needs no NUL. `rules` and `environment` may be NULL.
 *   - E, t, m and L are layers. `|` begins the next stage. Commas mean nothing.
 *   - `(...)*n` repeats its content, which must not contain `)`. All groups are unrolled first,
 *     from left to right. Then `x*n` repeats one character, which may be a bar. n may be 0. Each is
 *     done once, so `t*2*3` is an error.
 * Time and memory are linear in the characters after groups are unrolled, which are at most
 * 2 * PPSCHED_MAX_LAYOUT_LAYERS.
 * Errors: ARGUMENT, STRUCT_SIZE; SYNTAX with `error->position`, the index of the byte that cannot
 *   be read; RANGE if the layout or a number is too large; REFUSED if a rule is broken, with
 *   `error->stage`, and `error->position` if there is one; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_layout_create_from_text(ppsched_layout **out, const char *text,
                                                           size_t size, int64_t devices,
                                                           const ppsched_layout_rules *rules,
                                                           const ppsched_environment *environment,
                                                           ppsched_error *error);

/* Makes the layout in which Megatron-LM splits `decoders` without a string. The embedding is in the
 * first stage, the head in the last. `split` and `environment` may be NULL.
 *   - Without flags, each stage gets the same number of decoders.
 *   - account_for_...: the embedding or the head counts as a decoder, so its stage gets one less.
 *   - first_decoders, last_decoders: the numbers of these devices; the others share the rest.
 *   - layers_per_chunk: determines the number of chunks.
 * Errors: ARGUMENT, STRUCT_SIZE, RANGE; REFUSED if Megatron-LM stops, or would build a model with
 *   other layers; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_layout_create_from_megatron(
    ppsched_layout **out, int64_t decoders, int64_t devices, const ppsched_megatron_split *split,
    const ppsched_environment *environment, ppsched_error *error);

/* Makes the layout in which torchtitan splits `decoders`. `environment` may be NULL.
 *   - The embedding counts as `first_less` decoders, norm and head as `last_less` (torchtitan's
 *     default is 1 each). With these, each stage gets the same number. If a rest remains, the first
 *     stages get one more.
 *   - Neither may count more than the smallest stage has.
 * Errors: ARGUMENT, STRUCT_SIZE, RANGE; REFUSED if torchtitan refuses it; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_layout_create_from_torchtitan(
    ppsched_layout **out, int64_t decoders, int64_t devices, int64_t stages, int64_t first_less,
    int64_t last_less, const ppsched_environment *environment, ppsched_error *error);

/* Finds the number of stages that torchtitan makes of a model, for
 * ppsched_layout_create_from_torchtitan. `several` is 1 if the schedule has several stages per
 * device, such as Interleaved1F1B.
 *   - `layers_per_stage` above 0: as many stages as needed for that, with embedding and head
 *     counted as above. Their number must be a multiple of devices: 1 per device, or with `several`
 *     at least 2 per device.
 *   - `layers_per_stage` 0: 1 stage per device, or 2 with `several`.
 * Errors: ARGUMENT, RANGE; REFUSED if torchtitan refuses it. */
PPSCHED_API ppsched_status ppsched_layout_find_torchtitan_stages(
    uint32_t *out, int64_t decoders, int64_t devices, int64_t layers_per_stage, int64_t first_less,
    int64_t last_less, uint32_t several, ppsched_error *error);

/* Frees it. NULL is accepted. */
PPSCHED_API void ppsched_layout_destroy(ppsched_layout *layout);

/* --- reading it --- */

PPSCHED_API uint32_t ppsched_layout_devices(const ppsched_layout *layout);

/* The number of stages per device. */
PPSCHED_API uint32_t ppsched_layout_chunks(const ppsched_layout *layout);

/* The stages in order. `*count` receives their number. */
PPSCHED_API const ppsched_layout_stage *ppsched_layout_stages(const ppsched_layout *layout,
                                                              size_t *count);

/* For each stage, the number of decoders before it. That is the number of its first decoder, if it
 * has one. */
PPSCHED_API const uint32_t *ppsched_layout_offsets(const ppsched_layout *layout, size_t *count);

/* --- writing it --- */

/* Writes the string for --pipeline-model-parallel-layout. Megatron-LM reads it as the same stages.
 *   - Runs of 3 or more equal letters are written as `x*n`, stages that repeat as `(...)*n`.
 *   - It is the shortest string with groups of up to 16 stages.
 * Fills a buffer: see ppsched.h.
 * Errors: ARGUMENT, BUFFER. */
PPSCHED_API ppsched_status ppsched_layout_write_text(char *out, size_t capacity, size_t *needed,
                                                     const ppsched_layout *layout,
                                                     ppsched_error *error);

/* Writes torchtitan's names of the modules of a stage, separated by blanks: tok_embeddings,
 * layers.N with N from 0, norm, lm_head. With `rotary` 1 each stage also has rotary_emb, as in
 * torchtitan's backend for models of the transformers package. Fills a buffer: see ppsched.h.
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
