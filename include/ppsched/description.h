/* SPDX-License-Identifier: Apache-2.0 */
/* Model descriptions: the layers of a model, and the blocks of each layer.
 *
 * UNSTABLE: the declarations of this header may change before release 1.0.
 *
 * A layer is a list of blocks. A block is a mixer (attention, delta rule, Mamba, convolution),
 * which mixes tokens, or a feed-forward (MLP, experts). A block reads the residual stream through a
 * norm, and adds its result to this stream. A kind of layer is a list of blocks with a name. A
 * model is a list with the kind of each layer. Examples: a layer of Llama is attention, then an
 * MLP. A layer of Nemotron-H is a single block. A layer of Falcon-H1 is attention and Mamba in
 * parallel, then an MLP.
 *
 * As text, a description is JSON (ppsched_description_read, ppsched_description_write). In this
 * example, `layers` repeats the group in brackets 8 times; in each group the first 5 layers are of
 * the kind "window", and the last is of the kind "full":
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

/* Kinds of blocks. For each kind, this table lists the fields of ppsched_block that the kind uses
 * (fields in brackets may be 0), then the number of parameters or a short description. index_*
 * means all fields whose names begin with index_. An index selects the tokens that a query sees. In
 * formulas `a d` means a * d. Symbols:
 *     h = hidden_size, a = heads, k = key_value_heads, d = head_size, v = value_size,
 *     c = convolution, f = width, r = key_value_rank, q = query_rank, rope = rope_size,
 *     i = index_heads, d_i = index_size
 *   ATTENTION            heads [key_value_heads head_size value_size window chunk index_*]
 *                        h (a d + k d + k v) + a v h. An index (MiniMax-M3) adds
 *                        h i d_i + h d_i + 2 d_i
 *   LATENT_ATTENTION     heads key_value_rank value_size [query_rank head_size rope_size window
 *                        index_*] (DeepSeek-V2, arXiv 2405.04434): h q + q + q a (d + rope) +
 *                        h (r + rope) + r + r a (d + v) + a v h. An index (DeepSeek-V3.2) adds
 *                        q i d_i + h d_i + 2 d_i + h i
 *   DELTA                heads [head_size key_value_heads value_size convolution decay_rank
 *                        gate_rank]: the gated delta rule (arXiv 2412.06464). There are k heads of
 *                        queries and of keys, with size d, and a heads of values, with size v. With
 *                        decay_rank the block is KDA (arXiv 2510.26692)
 *   MAMBA                heads state_size [head_size groups convolution]: Mamba-2 (arXiv
 *                        2405.21060). With the flag MAMBA_1 the block is Mamba (arXiv 2312.00752),
 *                        with the fields width state_size time_step_rank [convolution]. In some
 *                        models (Jamba), the inner projections have norms. With MAMBA_1 the
 *                        parameters of these norms are not counted. Put their number in
 *                        extra_parameters
 *   CONVOLUTION          convolution: a gated short convolution of h channels (LFM2), 4 h h + c h.
 *                        The flag BIAS adds 5 h: 3 h for the first projection, h for the
 *                        convolution, h for the last projection
 *   COMPRESSED_ATTENTION heads query_rank output_groups output_rank window [head_size ratio
 *                        index_*]: DeepSeek-V4. All heads share one key, which is also their value
 *   MLP                  width: 2 h f, with the flag GATED 3 h f
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

/* The name of a kind of block, as in names.h. In the JSON of a description, "kind" of a block has
 * the same name. */
PPSCHED_API const char *ppsched_block_kind_name(int32_t block_kind);

/* Properties of a block. "For ..." says which kinds of blocks may have the property. */
enum ppsched_block_flag {
    /* For blocks of all kinds: the block reads the same normed input as the block before it, and
     * adds its result to the same residual stream. */
    PPSCHED_BLOCK_FLAG_PARALLEL = 1,

    /* For the kinds in this list: the block has biases.
     *   - Attention: the projections of queries, keys and values have biases.
     *   - Latent attention: the projections from h to the low-rank vectors have biases.
     *   - MLP and experts: all matrices have biases.
     *   - Mamba: the first and the last projection have biases.
     *   - Convolution: both projections and the convolution itself have biases. */
    PPSCHED_BLOCK_FLAG_BIAS = 2,

    PPSCHED_BLOCK_FLAG_OUTPUT_BIAS = 4,      /* for attention and latent attention: the last
                                                projection has a bias */
    PPSCHED_BLOCK_FLAG_QK_NORM = 8,          /* for attention: queries and keys have norms of size
                                                d */
    PPSCHED_BLOCK_FLAG_QK_NORM_ALL = 16,     /* for attention: queries and keys have norms over all
                                                heads, of size a d and k d */
    PPSCHED_BLOCK_FLAG_NO_LATENT_NORMS = 32, /* for latent attention: the low-rank vectors, of sizes
                                                query_rank and key_value_rank, have no norms */
    PPSCHED_BLOCK_FLAG_OUTPUT_GATE = 64,     /* for attention and latent attention: one output gate
                                                per element, with h a v parameters */
    PPSCHED_BLOCK_FLAG_HEAD_GATE = 128,      /* for attention and latent attention: one output gate
                                                per head, with h a parameters */
    PPSCHED_BLOCK_FLAG_SINKS = 256,          /* for attention and latent attention: each head has a
                                                learned sink */
    PPSCHED_BLOCK_FLAG_VALUE_IS_KEY = 512,   /* for attention: the keys are also the values, so
                                                values have no projection */

    /* For attention: the block uses the keys and values of an earlier layer. Of the earlier layers
     * that compute keys and values and have the same window, this is the nearest layer. */
    PPSCHED_BLOCK_FLAG_SHARED_KEYS = 1024,

    /* For latent attention: the block uses the index of an earlier layer. So the layer of this
     * block must not be the first layer of a stage. */
    PPSCHED_BLOCK_FLAG_SHARED_INDEX = 2048,

    PPSCHED_BLOCK_FLAG_MAMBA_1 = 4096,          /* for Mamba: the block is Mamba, not Mamba-2 */
    PPSCHED_BLOCK_FLAG_CONVOLUTION_BIAS = 8192, /* for Mamba: the convolution has a bias */
    PPSCHED_BLOCK_FLAG_NO_GATE_NORM = 16384,    /* for Mamba-2: there is no norm before the last
                                                   projection */
    PPSCHED_BLOCK_FLAG_GATED = 32768,           /* for MLP and experts: each MLP or expert has three
                                                   matrices, not two (SwiGLU) */
    PPSCHED_BLOCK_FLAG_ROUTER_BIAS = 65536,     /* for experts: the router has a bias */
    PPSCHED_BLOCK_FLAG_SHARED_GATE = 131072,    /* for experts: the shared experts have a gate with
                                                   h parameters */
    PPSCHED_BLOCK_FLAG_LATENT_NORM = 262144,    /* for experts: the latent input has a norm */
    PPSCHED_BLOCK_FLAG_FREE_NORMS = 524288,     /* for attention: the norms of QK_NORM have no
                                                   weights */
    PPSCHED_BLOCK_FLAG_NO_NORM = 1048576        /* for blocks of all kinds: there is no norm before
                                                   the block */
};

/* A block. Set `size` to sizeof of this struct. Fields that its kind does not use are 0. */
typedef struct ppsched_block {
    uint32_t size;
    int32_t kind;   /* enum ppsched_block_kind */
    uint32_t flags; /* enum ppsched_block_flag */
    uint32_t norms; /* number of norms of size h before and after the block. 0 means one norm, or
                       none with the flag PARALLEL or NO_NORM */
    uint32_t heads; /* number of heads, a */
    uint32_t key_value_heads; /* number of heads of keys and values, k; 0 means `heads` */
    uint32_t head_size;       /* size d of a query and a key of a head; 0 means h / heads */
    uint32_t value_size;      /* size v of a value of a head; 0 means head_size */
    uint32_t rope_size;       /* size of the rotary part of latent queries and keys, in addition to
                                 head_size */
    uint32_t query_rank;      /* rank q of queries: two matrices compute the queries, with a vector
                                 of size q between the matrices. 0: one matrix computes the
                                 queries */
    uint32_t key_value_rank;  /* rank r of keys and values */
    uint32_t window; /* number of tokens that a query sees, its own token included; 0 means no
                        limit */
    uint32_t chunk;  /* number of tokens of a chunk; a query sees only its own chunk. 0 means no
                        chunks */
    uint32_t index_heads;    /* number of heads of the index */
    uint32_t index_size;     /* size of each head of the index */
    uint32_t index_tokens;   /* number of tokens that the index selects for each query */
    uint32_t convolution;    /* length of the short convolution in tokens; 0 means no convolution */
    uint32_t decay_rank;     /* rank of the decay of KDA, which has one decay per channel; 0 means
                                one decay per head */
    uint32_t gate_rank;      /* rank of the delta rule's output gate; 0 means a full matrix */
    uint32_t state_size;     /* size of Mamba's state */
    uint32_t groups;         /* number of Mamba-2's groups; 0 means 1 */
    uint32_t time_step_rank; /* rank of Mamba's time step */
    uint32_t ratio;          /* number of tokens that become one token by compression. 0 means no
                                compression: queries see only their window */
    uint32_t output_groups;  /* number of groups of the output projection */
    uint32_t output_rank;    /* rank of each group of the output projection */
    uint32_t width;   /* width of an MLP or of each expert; number of channels of Mamba. In Mamba-2
                         the number of channels is heads * head_size */
    uint32_t experts; /* number of routed experts */
    uint32_t experts_per_token; /* number of routed experts that a token uses */
    uint32_t shared_width;      /* sum of the widths of all shared experts */
    uint32_t latent_size;       /* width of the input and output of routed experts; 0 means h */
    uint32_t idle_experts;      /* number of experts that the router may choose but that do nothing
                                   (LongCat) */
    uint32_t reserved;          /* 0 */
    uint64_t extra_parameters;  /* number of further parameters. They count as parameters, but add
                                   no operations */
} ppsched_block;

/* --- the model --- */

/* The largest number of kinds of layers of a model, and the largest number of blocks of a kind. */
#define PPSCHED_MAX_LAYER_KINDS 256
#define PPSCHED_MAX_BLOCKS 16

/* A kind of layer. Set `size` to sizeof of this struct. */
typedef struct ppsched_layer_kind {
    uint32_t size;
    uint32_t block_count; /* number of blocks; 0 for a layer that does nothing */
    const char *name;     /* name of the kind, which no other kind has. It must not contain blanks,
                             commas, quotes or brackets, and must not begin with a digit */
    const ppsched_block *const *blocks;
} ppsched_layer_kind;

/* A tower: an encoder before the layers, such as a vision encoder. It is in the first stage. Set
 * `size` to sizeof of this struct. */
typedef struct ppsched_tower {
    uint32_t size;
    uint32_t is_frozen; /* 1: the tower is not trained, so it has no gradients, no optimizer states
                           and no backward */
    const char *name;
    uint32_t hidden_size;
    uint32_t layers;
    uint32_t tokens; /* number of tokens per sample; 0 means `sequence_length` of the training */
    uint32_t has_norm_bias;
    const ppsched_layer_kind *kind; /* the kind of all layers of the tower. It must not have
                                       experts. The name of the tower replaces the name of the
                                       kind */
    uint64_t extra_parameters;      /* number of parameters of patch embedding, positions and
                                       projections to the model */
    uint32_t deepstack_layers;      /* number N: the tower adds features to the outputs of the
                                       model's first N layers (DeepStack, arXiv 2406.04334). These N
                                       layers are in the first stage, with the tower */
    uint32_t patches_per_token;     /* number of tokens of the tower that become one token of the
                                       model; 0 means 1 */
} ppsched_tower;

/* Properties of a model. */
enum ppsched_description_flag {
    PPSCHED_DESCRIPTION_FLAG_TIED = 1,       /* the output uses the embedding's matrix */
    PPSCHED_DESCRIPTION_FLAG_NORM_BIAS = 2,  /* norms are LayerNorm with 2h parameters. Without this
                                                flag they are RMSNorm with h parameters */
    PPSCHED_DESCRIPTION_FLAG_NOT_CAUSAL = 4, /* queries also see later tokens */
    PPSCHED_DESCRIPTION_FLAG_DROPOUT = 8,    /* there is dropout after each block, and on scores if
                                                they are kept */
    PPSCHED_DESCRIPTION_FLAG_NO_FINAL_NORM = 16
};

/* The content of a description. Set `size` to sizeof of this struct. */
typedef struct ppsched_description_info {
    uint32_t size;
    uint32_t flags; /* enum ppsched_description_flag */
    uint32_t hidden_size;
    uint32_t vocabulary_size;
    uint32_t positions; /* number of learned positions; 0 means none */
    uint32_t layer_count;
    const uint32_t *layers; /* the kind of each layer, as an index into `kinds` */
    const ppsched_layer_kind *const *kinds;
    uint32_t kind_count;
    uint32_t tower_count;
    const ppsched_tower *const *towers; /* the towers, in order */
    uint32_t mtp_layers; /* number of layers for multi-token prediction (DeepSeek-V3, arXiv
                            2412.19437). Each of these layers has the blocks of `mtp_kind`, a
                            projection of 2h to h, and three norms */
    uint32_t mtp_kind;   /* the kind of the MTP layers, as an index into `kinds` */
    uint32_t streams;    /* number of residual streams. All streams are sent from stage to stage. 0
                            means 1 */
    uint32_t stream_interval;  /* number of layers in a group. The first layer of each group adds
                                  one residual stream of size h, which is also sent from stage to
                                  stage (Kimi K3). 0: no groups */
    uint64_t extra_parameters; /* number of further parameters of the whole model. They are counted
                                  in the stage of the embedding */
    uint32_t sequence_length;  /* the longest sequence for which the model was made, in tokens; 0:
                                  unknown */
    uint32_t layer_input;      /* number of elements per token that each layer gets from the
                                  embedding in addition to its input (Gemma 4 E2B and E4B). A stage
                                  also sends these elements to the next stage, for all later layers.
                                  0: none */
    const char *family;        /* model_type of the config.json that was read, or NULL */
} ppsched_description_info;

/* A description of a model.
 * Lifetime: immutable and reference-counted. The caller that makes a description holds its first
 *   reference. A description has copies of its inputs. Each model holds its own reference.
 * Thread-safety: any number of threads may use it at the same time. */
typedef struct ppsched_description ppsched_description;

/* Makes a description. Fields that are 0 get their defaults. `environment` may be NULL. The caller
 * owns one reference to `*out`, also after the functions below that make a description.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE (the message names the kind, the block and the wrong field,
 *   and says what would work); NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_description_create(const ppsched_description **out,
                                                      const ppsched_description_info *info,
                                                      const ppsched_environment *environment,
                                                      ppsched_error *error);

/* Reads a description from JSON. The JSON has the form that the top of this header shows, or it is
 * Hugging Face's config.json of a known family (ppsched_model_family_at). `text` has `length` bytes
 * of UTF-8. `environment` may be NULL.
 * Errors: ARGUMENT; SYNTAX with line and column; RANGE for a wrong value, for an unknown family, or
 *   if the file uses a field that its family does not have; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_description_read(const ppsched_description **out,
                                                    const char *text, size_t length,
                                                    const ppsched_environment *environment,
                                                    ppsched_error *error);

/* Properties of a transformer. */
enum ppsched_transformer_flag {
    PPSCHED_TRANSFORMER_FLAG_TIED = 1,      /* the output uses the embedding's matrix */
    PPSCHED_TRANSFORMER_FLAG_GATED = 2,     /* an MLP has three matrices, not two (SwiGLU, GeGLU) */
    PPSCHED_TRANSFORMER_FLAG_NORM_BIAS = 4, /* norms are LayerNorm with 2h parameters. Without this
                                               flag they are RMSNorm with h parameters */
    PPSCHED_TRANSFORMER_FLAG_QKV_BIAS = 8,  /* queries, keys and values have biases */
    PPSCHED_TRANSFORMER_FLAG_PROJECTION_BIAS = 16, /* the projection after the attention has a
                                                      bias */
    PPSCHED_TRANSFORMER_FLAG_MLP_BIAS = 32,     /* the matrices of MLPs and experts have biases */
    PPSCHED_TRANSFORMER_FLAG_QK_NORM = 64,      /* queries and keys have norms of size d */
    PPSCHED_TRANSFORMER_FLAG_POST_NORMS = 128,  /* a layer has four norms (Gemma 2) */
    PPSCHED_TRANSFORMER_FLAG_ROUTER_BIAS = 256, /* the router has one bias for each expert */
    PPSCHED_TRANSFORMER_FLAG_CAUSAL = 512,   /* queries see no later tokens. If scores are not kept,
                                                only half of the scores count */
    PPSCHED_TRANSFORMER_FLAG_DROPOUT = 1024, /* there is dropout after attention and MLP, and on
                                                scores if they are kept */
    PPSCHED_TRANSFORMER_FLAG_NO_FINAL_NORM = 2048,  /* there is no norm before the output */
    PPSCHED_TRANSFORMER_FLAG_NO_LATENT_NORMS = 4096 /* latent attention has no norms */
};

/* A decoder-only transformer, described in one struct. Each layer has attention, and either an MLP
 * or experts. All MLPs have one size, and all experts have one size. Set `size` to sizeof of this
 * struct. Fields of parts that the model does not have are 0. */
typedef struct ppsched_transformer {
    uint32_t size;
    uint32_t flags;           /* enum ppsched_transformer_flag */
    uint32_t layers;          /* number of layers, without MTP layers */
    uint32_t hidden_size;     /* size h of the hidden vector of a token */
    uint32_t ffn_size;        /* width f of a dense MLP */
    uint32_t heads;           /* number of attention heads, a */
    uint32_t key_value_heads; /* number of heads of keys and values; 0 means `heads` */
    uint32_t head_size;       /* size d of a head; 0 means hidden_size / heads */
    uint32_t vocabulary_size; /* number of tokens in the vocabulary, V */
    uint32_t positions;       /* number of learned positions; 0 means none */
    /* Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434), if key_value_rank is above 0. */
    uint32_t query_rank;      /* rank of queries; 0 means one matrix for queries, not two */
    uint32_t key_value_rank;  /* rank of keys and values; 0: no latent attention */
    uint32_t rope_head_size;  /* size of the rotary part of queries and keys, in addition to
                                 head_size */
    uint32_t value_head_size; /* size of a value of a head, in latent attention */
    /* Mixture of experts, if experts is above 0. */
    uint32_t experts;           /* number of routed experts; 0: no layer has experts */
    uint32_t experts_per_token; /* number of routed experts that a token uses */
    uint32_t expert_ffn_size;   /* width of each routed expert */
    uint32_t shared_ffn_size;   /* sum of the widths of all shared experts */
    uint32_t dense_layers;      /* number N: the first N layers have no experts */
    uint32_t expert_interval; /* says which of the layers after the dense layers have experts: each
                                 layer i (counted from 0 over all layers) for which i +
                                 expert_offset is a multiple of this number. 0: all these layers */
    uint32_t expert_offset;   /* which layers have experts; see expert_interval */
    uint32_t mtp_layers;      /* number of layers for multi-token prediction (DeepSeek-V3, arXiv
                                 2412.19437). Each of these layers is like the last layer, and
                                 also has a projection of 2h to h and three norms */
    uint32_t reserved[2];     /* 0 */
    const uint8_t *expert_layers; /* `layers` values: 1 if the layer has experts, else 0; copied. If
                                     this list is given, dense_layers, expert_interval and
                                     expert_offset must be 0. NULL: these three fields say which
                                     layers have experts */
} ppsched_transformer;

/* Makes the description of a transformer. Its kinds of layers are "decoder" (with an MLP) and
 * "moe_decoder" (with experts). `environment` may be NULL.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE (the message has the wrong value and one that works);
 *   NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_description_from_transformer(
    const ppsched_description **out, const ppsched_transformer *transformer,
    const ppsched_environment *environment, ppsched_error *error);

/* Reads a first draft of a description from a config.json, also of an unknown family. The call
 * reads the fields that have usual names. The description has warnings
 * (ppsched_description_warning_at), whose texts are names of fields, parts or sizes:
 *   - a warning for each field that the call does not understand;
 *   - a warning for each part of the model that is not counted, such as an unknown vision tower;
 *   - a warning for each size that is missing; such a size is 1.
 * If there are no warnings, the description is complete. `environment` may be NULL.
 * Errors: as ppsched_description_read, except that an unknown family is no error. */
PPSCHED_API ppsched_status ppsched_description_guess(const ppsched_description **out,
                                                     const char *text, size_t length,
                                                     const ppsched_environment *environment,
                                                     ppsched_error *error);

/* ppsched_description_retain takes one more reference, and returns its argument.
 * ppsched_description_release gives one reference back. Both accept NULL. */
PPSCHED_API const ppsched_description *
ppsched_description_retain(const ppsched_description *description);
PPSCHED_API void ppsched_description_release(const ppsched_description *description);

/* The content of a description, with defaults filled in. Its pointers are borrowed from the
 * description.
 * Errors: ARGUMENT, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_description_get_info(ppsched_description_info *out,
                                                        const ppsched_description *description,
                                                        ppsched_error *error);

/* Warnings for the user, one line each. After ppsched_description_read, each warning names a field
 * of the text that is unknown, and was ignored. `index` is 0 to count - 1. For a larger index the
 * result is NULL. */
PPSCHED_API uint32_t ppsched_description_warning_count(const ppsched_description *description);
PPSCHED_API const char *ppsched_description_warning_at(const ppsched_description *description,
                                                       uint32_t index);

/* Writes the description as JSON, from which ppsched_description_read makes an equal description.
 * Errors: ARGUMENT; WRITER if `write` stops the output. */
PPSCHED_API ppsched_status ppsched_description_write(const ppsched_description *description,
                                                     ppsched_write_function write, void *user,
                                                     ppsched_error *error);

/* The families of Hugging Face's config.json that the library reads: values of model_type, sorted.
 * `index` is 0 to count - 1. For a larger index the result is NULL. Static storage. */
PPSCHED_API uint32_t ppsched_model_family_count(void);
PPSCHED_API const char *ppsched_model_family_at(uint32_t index);

#ifdef __cplusplus
}
#endif
#endif
