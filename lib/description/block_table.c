/* SPDX-License-Identifier: Apache-2.0 */
/* The table of blocks. */
#include "description/block_table.h"

/* A bit for each kind. */
enum {
    ATTENTION = 1 << PPSCHED_BLOCK_KIND_ATTENTION,
    LATENT = 1 << PPSCHED_BLOCK_KIND_LATENT_ATTENTION,
    DELTA = 1 << PPSCHED_BLOCK_KIND_DELTA,
    MAMBA = 1 << PPSCHED_BLOCK_KIND_MAMBA,
    CONVOLUTION = 1 << PPSCHED_BLOCK_KIND_CONVOLUTION,
    COMPRESSED = 1 << PPSCHED_BLOCK_KIND_COMPRESSED_ATTENTION,
    MLP = 1 << PPSCHED_BLOCK_KIND_MLP,
    EXPERTS = 1 << PPSCHED_BLOCK_KIND_EXPERTS,
    LINEAR = 1 << PPSCHED_BLOCK_KIND_LINEAR,
    ALL = 2 * LINEAR - 1,
    HEADS = ATTENTION | LATENT | DELTA | COMPRESSED
};

const char *const ppi_block_kinds[PPI_BLOCK_KINDS] = {
    [PPSCHED_BLOCK_KIND_ATTENTION] = "attention",
    [PPSCHED_BLOCK_KIND_LATENT_ATTENTION] = "latent_attention",
    [PPSCHED_BLOCK_KIND_DELTA] = "delta",
    [PPSCHED_BLOCK_KIND_MAMBA] = "mamba",
    [PPSCHED_BLOCK_KIND_CONVOLUTION] = "convolution",
    [PPSCHED_BLOCK_KIND_COMPRESSED_ATTENTION] = "compressed_attention",
    [PPSCHED_BLOCK_KIND_MLP] = "mlp",
    [PPSCHED_BLOCK_KIND_EXPERTS] = "experts",
    [PPSCHED_BLOCK_KIND_LINEAR] = "linear",
};

#define FIELD(name, kinds, needed)                                                                                             \
    {                                                                                                                          \
#name, offsetof(ppsched_block, name), kinds, needed                                                                    \
    }

/* What Mamba needs depends on its version; complete.c has the rule. */
const struct ppi_block_field ppi_block_fields[PPI_BLOCK_FIELDS] = {
    FIELD(norms, ALL, 0),
    FIELD(heads, HEADS | MAMBA, HEADS),
    FIELD(key_value_heads, ATTENTION | DELTA, 0),
    FIELD(head_size, HEADS | MAMBA, 0),
    FIELD(value_size, ATTENTION | LATENT | DELTA, LATENT),
    FIELD(rope_size, LATENT, 0),
    FIELD(query_rank, LATENT | COMPRESSED, COMPRESSED),
    FIELD(key_value_rank, LATENT, LATENT),
    FIELD(window, ATTENTION | LATENT | COMPRESSED, COMPRESSED),
    FIELD(chunk, ATTENTION, 0),
    FIELD(index_heads, ATTENTION | LATENT | COMPRESSED, 0),
    FIELD(index_size, ATTENTION | LATENT | COMPRESSED, 0),
    FIELD(index_tokens, ATTENTION | LATENT | COMPRESSED, 0),
    FIELD(convolution, DELTA | MAMBA | CONVOLUTION, CONVOLUTION),
    FIELD(decay_rank, DELTA, 0),
    FIELD(gate_rank, DELTA, 0),
    FIELD(state_size, MAMBA, MAMBA),
    FIELD(groups, MAMBA, 0),
    FIELD(time_step_rank, MAMBA, 0),
    FIELD(ratio, COMPRESSED, 0),
    FIELD(output_groups, COMPRESSED, COMPRESSED),
    FIELD(output_rank, COMPRESSED, COMPRESSED),
    FIELD(width, MLP | EXPERTS | MAMBA, MLP | EXPERTS),
    FIELD(experts, EXPERTS, EXPERTS),
    FIELD(experts_per_token, EXPERTS, EXPERTS),
    FIELD(shared_width, EXPERTS, 0),
    FIELD(latent_size, EXPERTS, 0),
    FIELD(idle_experts, EXPERTS, 0),
};

const struct ppi_block_flag ppi_block_flags[PPI_BLOCK_FLAGS] = {
    {"parallel", PPSCHED_BLOCK_FLAG_PARALLEL, ALL},
    {"bias", PPSCHED_BLOCK_FLAG_BIAS, ATTENTION | LATENT | MAMBA | CONVOLUTION | MLP | EXPERTS},
    {"output_bias", PPSCHED_BLOCK_FLAG_OUTPUT_BIAS, ATTENTION | LATENT},
    {"qk_norm", PPSCHED_BLOCK_FLAG_QK_NORM, ATTENTION},
    {"qk_norm_all", PPSCHED_BLOCK_FLAG_QK_NORM_ALL, ATTENTION},
    {"no_latent_norms", PPSCHED_BLOCK_FLAG_NO_LATENT_NORMS, LATENT},
    {"output_gate", PPSCHED_BLOCK_FLAG_OUTPUT_GATE, ATTENTION | LATENT},
    {"head_gate", PPSCHED_BLOCK_FLAG_HEAD_GATE, ATTENTION | LATENT},
    {"sinks", PPSCHED_BLOCK_FLAG_SINKS, ATTENTION | LATENT},
    {"value_is_key", PPSCHED_BLOCK_FLAG_VALUE_IS_KEY, ATTENTION},
    {"shared_keys", PPSCHED_BLOCK_FLAG_SHARED_KEYS, ATTENTION},
    {"shared_index", PPSCHED_BLOCK_FLAG_SHARED_INDEX, LATENT},
    {"mamba_1", PPSCHED_BLOCK_FLAG_MAMBA_1, MAMBA},
    {"convolution_bias", PPSCHED_BLOCK_FLAG_CONVOLUTION_BIAS, MAMBA},
    {"no_gate_norm", PPSCHED_BLOCK_FLAG_NO_GATE_NORM, MAMBA},
    {"gated", PPSCHED_BLOCK_FLAG_GATED, MLP | EXPERTS},
    {"router_bias", PPSCHED_BLOCK_FLAG_ROUTER_BIAS, EXPERTS},
    {"shared_gate", PPSCHED_BLOCK_FLAG_SHARED_GATE, EXPERTS},
    {"latent_norm", PPSCHED_BLOCK_FLAG_LATENT_NORM, EXPERTS},
    {"free_norms", PPSCHED_BLOCK_FLAG_FREE_NORMS, ATTENTION},
    {"no_norm", PPSCHED_BLOCK_FLAG_NO_NORM, ALL},
};
