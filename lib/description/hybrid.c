/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols of Megatron-LM's --hybrid-layer-pattern (core/models/hybrid/hybrid_layer_allocation.py of megatron-core 0.19.2):
 * M Mamba-2, G gated delta rule, * attention, + latent attention, D latent attention with a sparse index, - MLP, E experts. */
#include "description/hybrid.h"

static bool has_mamba(const ppsched_layer_kind *kind)
{
    for (uint32_t i = 0; i < kind->block_count; i++)
        if (kind->blocks[i]->kind == PPSCHED_BLOCK_KIND_MAMBA)
            return true;
    return false;
}

bool ppi_is_hybrid(const ppsched_description_info *info)
{
    bool is_single = true;
    for (uint32_t i = 0; i < info->layer_count; i++) {
        const ppsched_layer_kind *kind = info->kinds[info->layers[i]];
        if (has_mamba(kind))
            return true;
        is_single &= kind->block_count == 1;
    }
    return is_single;
}

/* 0: there is none. */
static char symbol_of(const ppsched_block *block)
{
    if ((block->flags & PPSCHED_BLOCK_FLAG_PARALLEL) != 0)
        return 0;
    switch (block->kind) {
    case PPSCHED_BLOCK_KIND_ATTENTION:
        return '*';
    case PPSCHED_BLOCK_KIND_LATENT_ATTENTION:
        return block->index_heads > 0 ? 'D' : '+';
    case PPSCHED_BLOCK_KIND_DELTA:
        return block->decay_rank == 0 ? 'G' : 0;
    case PPSCHED_BLOCK_KIND_MAMBA:
        return (block->flags & PPSCHED_BLOCK_FLAG_MAMBA_1) == 0 ? 'M' : 0;
    case PPSCHED_BLOCK_KIND_MLP:
        return '-';
    case PPSCHED_BLOCK_KIND_EXPERTS:
        return 'E';
    default:
        return 0;
    }
}

void ppi_hybrid_symbols(char out[PPI_SYMBOLS_SIZE], const ppsched_layer_kind *kind)
{
    uint32_t count = kind->block_count;
    for (uint32_t i = 0; i < count; i++) {
        out[i] = symbol_of(kind->blocks[i]);
        if (out[i] == 0)
            count = 0;
    }
    out[count] = '\0';
}
