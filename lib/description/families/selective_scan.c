/* SPDX-License-Identifier: Apache-2.0 */
/* Families with the first Mamba: alone, or with attention in some layers and experts in some (Jamba). */
#include "description/families/functions.h"
#include "description/families/common_mixers.h"

/* What the fields of a family are called. */
struct scan_names {
    const char *state, *convolution, *expand, *rank, *bias, *convolution_bias;
};

/* The rank of step sizes is a sixteenth of the hidden size, if the file does not say or says "auto". */
static ppsched_block read_mamba(struct ppi_fields *fields, const struct ppi_draft *draft, const struct scan_names *names)
{
    uint32_t hidden = draft->info.hidden_size, expand = ppi_count_or(fields, names->expand, 1, 2);
    ppsched_block block = {.kind = PPSCHED_BLOCK_KIND_MAMBA,
                           .flags = PPSCHED_BLOCK_FLAG_MAMBA_1,
                           .width = ppi_size_product(fields, "the width of Mamba", expand, hidden),
                           .state_size = ppi_count_or(fields, names->state, 1, 16),
                           .convolution = ppi_count_or(fields, names->convolution, 1, 4),
                           .time_step_rank = ppi_count_or_auto(fields, names->rank, (hidden + 15) / 16)};
    if (ppi_switch_or(fields, names->convolution_bias, true))
        block.flags |= PPSCHED_BLOCK_FLAG_CONVOLUTION_BIAS;
    if (ppi_switch_or(fields, names->bias, false))
        block.flags |= PPSCHED_BLOCK_FLAG_BIAS;
    ppi_ignore(fields, "use_mamba_kernels|use_mambapy|use_falcon_mambapy|use_associative_scan");
    return block;
}

/* --- Mamba alone --- */

void ppi_family_mamba(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct scan_names names = {"state_size",     "conv_kernel", "expand",
                                            "time_step_rank", "use_bias",    "use_conv_bias"};
    static const struct ppi_frame frame = {.vocabulary = 50280, .hidden = 768, .layers = 32, .is_tied = true};
    ppi_read_frame(fields, draft, &frame);
    ppsched_block block = read_mamba(fields, draft, &names);
    uint32_t layers = ppi_read_layers(fields, &frame);
    ppi_require_count(fields, "intermediate_size", block.width);
    for (uint32_t i = 0; i < layers && fields->status == PPSCHED_OK; i++)
        ppi_draft_add_layer(draft, &block, 1);
    ppi_ignore(fields, "time_step_scale|time_step_min|time_step_max|time_step_init_scheme|time_step_floor|"
                       "layer_norm_epsilon");
}

/* --- Jamba --- */

static ppsched_block read_experts(struct ppi_fields *fields, uint32_t width)
{
    return (ppsched_block){.kind = PPSCHED_BLOCK_KIND_EXPERTS,
                           .flags = PPSCHED_BLOCK_FLAG_GATED,
                           .experts = ppi_count_or(fields, "num_experts|num_local_experts", 0, 16),
                           .experts_per_token = ppi_count_or(fields, "num_experts_per_tok", 1, 2),
                           .width = width};
}

/* Each so many layers, from an offset on. */
struct period {
    uint32_t layers, offset;
};

static struct period read_period(struct ppi_fields *fields, const char *period, uint32_t layers, const char *offset,
                                 uint32_t first)
{
    struct period read = {ppi_count_or(fields, period, 1, layers), ppi_count_or(fields, offset, 0, first)};
    if (read.offset >= read.layers)
        ppi_fields_fail(fields, "%s is %u; it must be below %s, which is %u", offset, read.offset, period, read.layers);
    return read;
}

static bool is_in(const struct period *period, uint32_t layer)
{
    return layer % period->layers == period->offset;
}

/* Mamba has norms of step sizes and of both vectors of the state. */
void ppi_family_jamba(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct scan_names names = {"mamba_d_state", "mamba_d_conv",    "mamba_expand",
                                            "mamba_dt_rank", "mamba_proj_bias", "mamba_conv_bias"};
    static const struct ppi_frame frame = {.vocabulary = 65536, .hidden = 4096, .width = 14336, .layers = 32, .heads = 32};
    ppi_read_frame(fields, draft, &frame);
    ppsched_block mamba = read_mamba(fields, draft, &names), attention = ppi_read_attention(fields, &frame, 8, 0);
    ppsched_block mlp = ppi_read_mlp(fields, &frame), experts = read_experts(fields, mlp.width);
    mamba.extra_parameters = (uint64_t)mamba.time_step_rank + 2 * (uint64_t)mamba.state_size;
    struct period full = read_period(fields, "attn_layer_period", 8, "attn_layer_offset", 4);
    struct period sparse = read_period(fields, "expert_layer_period", 2, "expert_layer_offset", 1);
    uint32_t layers = ppi_read_layers(fields, &frame);
    for (uint32_t i = 0; i < layers && fields->status == PPSCHED_OK; i++) {
        const ppsched_block blocks[] = {is_in(&full, i) ? attention : mamba,
                                        experts.experts > 1 && is_in(&sparse, i) ? experts : mlp};
        ppi_draft_add_layer(draft, blocks, 2);
    }
}
