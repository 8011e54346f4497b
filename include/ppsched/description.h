/* SPDX-License-Identifier: Apache-2.0 */
/* The description of a model: which layers it has, and what these are made of.
 *
 * UNSTABLE: the declarations of this header may change before release 1.0.
 *
 * A layer is a list of blocks. Each block reads the residual stream through a norm and adds its
 * result to it: a mixer (attention, delta rule, Mamba, convolution) or a feed-forward (MLP,
 * experts). A kind of layer is such a list with a name, and the model says of each layer which kind
 * it is. So a Llama layer is attention and an MLP; a layer of Nemotron-H is one block alone; a
 * layer of Falcon-H1 is attention and Mamba side by side, then an MLP.
 *
 * As text a description is JSON (ppsched_description_read, ppsched_description_write):
 *     {"hidden_size": 4096, "vocabulary_size": 131072,
 *      "kinds": {
 *       "window": [{"kind": "attention", "heads": 32, "key_value_heads": 8, "window": 1024},
 *                  {"kind": "mlp", "width": 14336, "gated": true}],
 *       "full": [{"kind": "attention", "heads": 32, "key_value_heads": 8},
 *                {"kind": "experts", "experts": 64, "experts_per_token": 4, "width": 2048}]},
 *      "layers": "8x[5xwindow full]"}
 *
 * Sample:
 *     static const char text[] =
 *         "{\"hidden_size\": 512, \"vocabulary_size\": 32000,"
 *         " \"kinds\": {\"delta\": [{\"kind\": \"delta\", \"heads\": 8, \"head_size\": 64},"
 *         "                       {\"kind\": \"mlp\", \"width\": 2048}]},"
 *         " \"layers\": \"12xdelta\"}";
 *     const ppsched_description *description = NULL;
 *     ppsched_description_info info = {.size = sizeof info};
 *     ppsched_status status =
 *         ppsched_description_read(&description, text, sizeof text - 1, NULL, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_description_get_info(&info, description, NULL);
 *     ppsched_description_release(description);
 */
#ifndef PPSCHED_DESCRIPTION_H
#define PPSCHED_DESCRIPTION_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/environment.h>
#include <ppsched/export.h>
#include <ppsched/export_macro.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- blocks --- */

/* Kinds of blocks. The comment names the fields of ppsched_block that each uses (those in brackets
 * may be 0), and its parameters; h is hidden_size, a heads, k key_value_heads, d head_size, v
 * value_size, c convolution, f width.
 *   ATTENTION            heads [key_value_heads head_size value_size window chunk index_*]
 *                        h (a d + k d + k v) + a v h. Index (MiniMax-M3): h i d_i + h d_i + 2 d_i
 *                        for i index_heads of d_i index_size
 *   LATENT_ATTENTION     heads key_value_rank value_size [query_rank head_size rope_size index_*]
 *                        (DeepSeek-V2, arXiv 2405.04434): h q + q + q a (d + rope) + h (r + rope) +
 *                        r + r a (d + v) + a v h. Index (DeepSeek-V3.2): q i d_i + h d_i + 2 d_i +
 *                        h i
 *   DELTA                heads head_size [key_value_heads value_size convolution decay_rank
 *                        gate_rank] gated delta rule (arXiv 2412.06464) with k = key_value_heads
 *                        heads of queries and keys of size d and a heads of values of size v; KDA
 *                        (arXiv 2510.26692) where decay_rank is above 0
 *   MAMBA                heads head_size state_size [groups convolution]: Mamba-2 (arXiv
 *                        2405.21060); with flag MAMBA_1 width state_size time_step_rank
 *                        [convolution]: Mamba (arXiv 2312.00752)
 *   CONVOLUTION          convolution: a gated short convolution of h channels (LFM2)
 *   COMPRESSED_ATTENTION heads head_size query_rank output_groups output_rank window [ratio
 *                        index_*]: DeepSeek-V4; one key that is the value too
 *   MLP                  width: 2 h f, with flag GATED 3 h f
 *   EXPERTS              experts experts_per_token width [shared_width latent_size idle_experts]
 *   LINEAR               one matrix of h x h in place of a block (Nemotron-NAS) */
enum ppsched_block_kind {
    PPSCHED_BLOCK_KIND_ATTENTION = 0,
    PPSCHED_BLOCK_KIND_LATENT_ATTENTION = 1,
    PPSCHED_BLOCK_KIND_DELTA = 2,
    PPSCHED_BLOCK_KIND_MAMBA = 3,
    PPSCHED_BLOCK_KIND_CONVOLUTION = 4,
    PPSCHED_BLOCK_KIND_COMPRESSED_ATTENTION = 5,
    PPSCHED_BLOCK_KIND_MLP = 6,
    PPSCHED_BLOCK_KIND_EXPERTS = 7,
    PPSCHED_BLOCK_KIND_LINEAR = 8
};

/* Properties of a block. Each belongs to the kinds in its comment. */
enum ppsched_block_flag {
    PPSCHED_BLOCK_FLAG_PARALLEL = 1, /* all: reads the same normed input as the block before it, and
                                           adds to the same residual */
    PPSCHED_BLOCK_FLAG_BIAS = 2, /* projections into the block: queries, keys and values; both of
                                           an MLP or an expert; of Mamba and convolution all */
    PPSCHED_BLOCK_FLAG_OUTPUT_BIAS = 4, /* attention: its last projection */
    PPSCHED_BLOCK_FLAG_QK_NORM = 8,     /* attention: norms of queries and keys, of size d */
    PPSCHED_BLOCK_FLAG_QK_NORM_ALL =
        16, /* attention: the same over all heads, of size a d and k d */
    PPSCHED_BLOCK_FLAG_NO_LATENT_NORMS = 32, /* latent attention: no norms of the ranks */
    PPSCHED_BLOCK_FLAG_OUTPUT_GATE = 64,     /* attention, latent: a gate for each element, h a v */
    PPSCHED_BLOCK_FLAG_HEAD_GATE = 128,      /* attention: a gate for each head, h a */
    PPSCHED_BLOCK_FLAG_SINKS = 256,          /* attention: a learned sink for each head */
    PPSCHED_BLOCK_FLAG_VALUE_IS_KEY = 512,   /* attention: no projection of values */
    PPSCHED_BLOCK_FLAG_SHARED_KEYS = 1024,   /* attention: keys and values are those of the nearest
                                                earlier layer with its own and the same window */
    PPSCHED_BLOCK_FLAG_SHARED_INDEX =
        2048,                          /* latent: the index is that of an earlier layer, so that
                                                no stage may begin with this layer */
    PPSCHED_BLOCK_FLAG_MAMBA_1 = 4096, /* Mamba: its first version */
    PPSCHED_BLOCK_FLAG_CONVOLUTION_BIAS = 8192, /* Mamba: of its convolution */
    PPSCHED_BLOCK_FLAG_NO_GATE_NORM = 16384,    /* Mamba-2: no norm before its last projection */
    PPSCHED_BLOCK_FLAG_GATED = 32768,           /* MLP, experts: three matrices, not two (SwiGLU) */
    PPSCHED_BLOCK_FLAG_ROUTER_BIAS = 65536,     /* experts */
    PPSCHED_BLOCK_FLAG_SHARED_GATE = 131072,    /* experts: a gate of h for the shared ones */
    PPSCHED_BLOCK_FLAG_LATENT_NORM = 262144,    /* experts: a norm of the latent */
    PPSCHED_BLOCK_FLAG_FREE_NORMS = 524288,     /* attention: QK_NORM without weights */
    PPSCHED_BLOCK_FLAG_NO_NORM = 1048576        /* all: no norm before it */
};

/* A block. Sized: set `size`. Parts that the block does not have are 0. */
typedef struct ppsched_block {
    uint32_t size;
    int32_t kind;   /* enum ppsched_block_kind */
    uint32_t flags; /* enum ppsched_block_flag */
    uint32_t
        norms; /* number of norms of size h, before and after it; 0: one, or none with the flags
                       PARALLEL and NO_NORM */
    uint32_t heads;
    uint32_t key_value_heads; /* 0: `heads` */
    uint32_t head_size;       /* d, of queries and keys; 0: h / heads */
    uint32_t value_size;      /* v; 0: head_size */
    uint32_t rope_size;       /* of latent queries and keys, in addition to head_size */
    uint32_t query_rank;      /* 0: queries have no low-rank form */
    uint32_t key_value_rank;
    uint32_t window; /* tokens that a query sees, itself included; 0: all before it */
    uint32_t chunk;  /* tokens of a chunk, of which a query sees its own alone; 0: no chunks */
    uint32_t index_heads;
    uint32_t index_size;
    uint32_t index_tokens;   /* tokens that an index selects for each query */
    uint32_t convolution;    /* tokens of a short convolution; 0: none */
    uint32_t decay_rank;     /* of KDA's decay for each channel; 0: one decay a head */
    uint32_t gate_rank;      /* of the delta rule's output gate; 0: a full matrix */
    uint32_t state_size;     /* of Mamba */
    uint32_t groups;         /* of Mamba-2; 0: 1 */
    uint32_t time_step_rank; /* of Mamba */
    uint32_t ratio;          /* tokens that are compressed to one; 0: none, the window alone */
    uint32_t output_groups;
    uint32_t output_rank;
    uint32_t width; /* of an MLP or an expert; channels of Mamba, where these are not heads times
                       head_size */
    uint32_t experts;
    uint32_t experts_per_token;
    uint32_t shared_width;     /* sum over all shared experts */
    uint32_t latent_size;      /* width that routed experts read and write; 0: h */
    uint32_t idle_experts;     /* that may be chosen and do nothing (LongCat) */
    uint32_t reserved;         /* 0 */
    uint64_t extra_parameters; /* others that the model has, counted without operations */
} ppsched_block;

/* --- the model --- */

/* Most kinds of layers, and blocks of one. */
#define PPSCHED_MAX_LAYER_KINDS 256
#define PPSCHED_MAX_BLOCKS 16

/* A kind of layer. Sized: set `size`. */
typedef struct ppsched_layer_kind {
    uint32_t size;
    uint32_t block_count; /* may be 0: a layer that does nothing */
    const char *name;     /* no two alike; no blanks or brackets */
    const ppsched_block *const *blocks;
} ppsched_layer_kind;

/* An encoder before the layers, such as a vision tower. Its rows stand in the first stage. Sized:
 * set `size`. */
typedef struct ppsched_tower {
    uint32_t size;
    uint32_t is_frozen; /* 1: not trained: no gradients, no optimizer, no backward */
    const char *name;
    uint32_t hidden_size;
    uint32_t layers;
    uint32_t tokens; /* for each sample; 0: `sequence_length` of the training */
    uint32_t has_norm_bias;
    const ppsched_layer_kind *kind; /* of all its layers; no experts; gets the tower's name */
    uint64_t extra_parameters;      /* patch embedding, positions, projections to the model */
} ppsched_tower;

/* Properties of a model. */
enum ppsched_description_flag {
    PPSCHED_DESCRIPTION_FLAG_TIED = 1,       /* the output uses the embedding's matrix */
    PPSCHED_DESCRIPTION_FLAG_NORM_BIAS = 2,  /* LayerNorm with 2h parameters; else RMSNorm with h */
    PPSCHED_DESCRIPTION_FLAG_NOT_CAUSAL = 4, /* queries see tokens after them too */
    PPSCHED_DESCRIPTION_FLAG_DROPOUT = 8,    /* after each block, and on scores if they are kept */
    PPSCHED_DESCRIPTION_FLAG_NO_FINAL_NORM = 16
};

/* All that a description says. Sized: set `size`. */
typedef struct ppsched_description_info {
    uint32_t size;
    uint32_t flags; /* enum ppsched_description_flag */
    uint32_t hidden_size;
    uint32_t vocabulary_size;
    uint32_t positions; /* learned positions: rows of their table */
    uint32_t layer_count;
    const uint32_t *layers; /* of each layer its index in `kinds` */
    const ppsched_layer_kind *const *kinds;
    uint32_t kind_count;
    uint32_t tower_count;
    const ppsched_tower *const *towers; /* in order */
    uint32_t mtp_layers; /* multi-token prediction (DeepSeek-V3, arXiv 2412.19437): each is a layer
                            of kind `mtp_kind`, a projection of 2h to h and three norms */
    uint32_t mtp_kind;   /* index in `kinds` */
    uint32_t streams;    /* residual streams, which all cross each boundary; 0: 1 */
    uint32_t stream_interval;  /* one more of size h crosses the boundaries for each so many layers
                                 before (Kimi K3); 0: none */
    uint64_t extra_parameters; /* others of the whole model, counted with the embedding */
    uint32_t sequence_length;  /* the longest that the model was made for; 0: unknown */
    uint32_t reserved;         /* 0 */
    const char *family;        /* its model_type, or NULL */
} ppsched_description_info;

/* A description of a model.
 * Lifetime: immutable and reference-counted; the maker holds the first reference. It holds copies
 *   of its inputs. Models hold a reference of their own.
 * Thread-safety: may be used by any number of threads at once. */
typedef struct ppsched_description ppsched_description;

/* Makes a description. Fields that are 0 for a default are filled in. `environment` may be NULL.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE, with the kind, the block and the field that is wrong, and
 *   what would work; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_description_create(const ppsched_description **out,
                                                      const ppsched_description_info *info,
                                                      const ppsched_environment *environment,
                                                      ppsched_error *error);

/* Reads a description from JSON: its own form (see above), or Hugging Face's config.json of a
 * family that the library knows. `text` has `length` bytes of UTF-8. `environment` may be NULL.
 * Errors: ARGUMENT; SYNTAX with line and column; RANGE for a value that is wrong, a family that is
 *   not known, or a field that is in use and that the family does not have; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_description_read(const ppsched_description **out,
                                                    const char *text, size_t length,
                                                    const ppsched_environment *environment,
                                                    ppsched_error *error);

/* Properties of a transformer. */
enum ppsched_transformer_flag {
    PPSCHED_TRANSFORMER_FLAG_TIED = 1,      /* the output uses the embedding's matrix */
    PPSCHED_TRANSFORMER_FLAG_GATED = 2,     /* an MLP has three matrices, not two (SwiGLU, GeGLU) */
    PPSCHED_TRANSFORMER_FLAG_NORM_BIAS = 4, /* LayerNorm with 2h parameters; else RMSNorm with h */
    PPSCHED_TRANSFORMER_FLAG_QKV_BIAS = 8,
    PPSCHED_TRANSFORMER_FLAG_PROJECTION_BIAS = 16, /* after the attention */
    PPSCHED_TRANSFORMER_FLAG_MLP_BIAS = 32,
    PPSCHED_TRANSFORMER_FLAG_QK_NORM = 64,     /* norms of queries and of keys, of size d */
    PPSCHED_TRANSFORMER_FLAG_POST_NORMS = 128, /* four norms per layer (Gemma 2) */
    PPSCHED_TRANSFORMER_FLAG_ROUTER_BIAS = 256,
    PPSCHED_TRANSFORMER_FLAG_CAUSAL = 512,   /* half of the scores, if these are not kept */
    PPSCHED_TRANSFORMER_FLAG_DROPOUT = 1024, /* after attention and MLP, and on scores if kept */
    PPSCHED_TRANSFORMER_FLAG_NO_FINAL_NORM = 2048,
    PPSCHED_TRANSFORMER_FLAG_NO_LATENT_NORMS = 4096 /* no norms in latent attention */
};

/* A decoder-only transformer with attention, and an MLP or experts of one size, in each layer: a
 * description in one struct. Sized: set `size`. Parts that the model does not have are 0. */
typedef struct ppsched_transformer {
    uint32_t size;
    uint32_t flags; /* enum ppsched_transformer_flag */
    uint32_t layers;
    uint32_t hidden_size;
    uint32_t ffn_size; /* f, of a dense MLP */
    uint32_t heads;
    uint32_t key_value_heads; /* 0: `heads` */
    uint32_t head_size;       /* d; 0: hidden_size / heads */
    uint32_t vocabulary_size;
    uint32_t positions; /* learned positions: rows of their table */
    /* Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434), if key_value_rank is above 0. */
    uint32_t query_rank; /* 0: queries have no low-rank form */
    uint32_t key_value_rank;
    uint32_t rope_head_size; /* of queries and keys, in addition to head_size */
    uint32_t value_head_size;
    /* Mixture of experts, if experts is above 0. */
    uint32_t experts;
    uint32_t experts_per_token;
    uint32_t expert_ffn_size;
    uint32_t shared_ffn_size; /* sum over all shared experts */
    uint32_t dense_layers;    /* how many of the first layers have no experts */
    uint32_t expert_interval; /* of the other layers, layer i (from 0, over all layers) has experts
                                 if this divides i + expert_offset; 0: all of them */
    uint32_t expert_offset;
    uint32_t mtp_layers; /* multi-token prediction (DeepSeek-V3, arXiv 2412.19437): each is like the
                            last layer, plus a projection of 2h to h and three norms */
    uint32_t reserved[2];         /* 0 */
    const uint8_t *expert_layers; /* `layers` values: 1 if the layer has experts, else 0; copied.
                                     dense_layers, expert_interval and expert_offset must then be
                                     0. NULL: these three decide */
} ppsched_transformer;

/* Makes the description of a transformer, with kinds "decoder" and "moe_decoder". `environment` may
 * be NULL.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE, with the wrong value and one that works; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_description_from_transformer(
    const ppsched_description **out, const ppsched_transformer *transformer,
    const ppsched_environment *environment, ppsched_error *error);

/* The same for a start of a description: of a config.json of an unknown family it takes what the
 * usual names say. Each field that is not understood, or a size that is missing and 1 here, is a
 * warning of its name alone; without warnings the description is complete. `environment` may be
 * NULL.
 * Errors: as ppsched_description_read, but not for an unknown family. */
PPSCHED_API ppsched_status ppsched_description_guess(const ppsched_description **out,
                                                     const char *text, size_t length,
                                                     const ppsched_environment *environment,
                                                     ppsched_error *error);

/* One more reference, which ppsched_description_release gives back; returns its argument. NULL is
 * accepted by both. */
PPSCHED_API const ppsched_description *
ppsched_description_retain(const ppsched_description *description);
PPSCHED_API void ppsched_description_release(const ppsched_description *description);

/* What the description says, with defaults filled in. What the struct points to belongs to the
 * description.
 * Errors: ARGUMENT, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_description_get_info(ppsched_description_info *out,
                                                        const ppsched_description *description,
                                                        ppsched_error *error);

/* Lines for whoever asked: fields of the text that are not known, and so not counted. `index` is 0
 * to count - 1; for a larger one the result is NULL. */
PPSCHED_API uint32_t ppsched_description_warning_count(const ppsched_description *description);
PPSCHED_API const char *ppsched_description_warning_at(const ppsched_description *description,
                                                       uint32_t index);

/* Writes the description as JSON, which ppsched_description_read reads back to an equal one.
 * Errors: ARGUMENT; WRITER if `write` stops the output. */
PPSCHED_API ppsched_status ppsched_description_write(const ppsched_description *description,
                                                     ppsched_write_function write, void *user,
                                                     ppsched_error *error);

/* The families of Hugging Face's config.json that the library reads: names of model_type, sorted.
 * `index` is 0 to count - 1; for a larger one the result is NULL. Static storage. */
PPSCHED_API uint32_t ppsched_model_family_count(void);
PPSCHED_API const char *ppsched_model_family_at(uint32_t index);

#ifdef __cplusplus
}
#endif
#endif
