/* SPDX-License-Identifier: Apache-2.0 */
/* GPT-2 and GPT-NeoX: LayerNorm, biases, an MLP without a gate. */
#include "description/families/common.h"
#include "description/families/functions.h"

static void add_layers(struct ppi_fields *fields, struct ppi_draft *draft, struct ppi_stack *stack)
{
    draft->info.flags |= PPSCHED_DESCRIPTION_FLAG_NORM_BIAS;
    stack->mlp.flags |= PPSCHED_BLOCK_FLAG_BIAS;
    ppi_add_layers(fields, draft, stack);
}

static void read_dropout(struct ppi_fields *fields, struct ppi_draft *draft)
{
    double share = ppi_number_or(fields, "resid_pdrop", 0.1);
    if (!(share >= 0 && share <= 1))
        ppi_fields_fail(fields, "resid_pdrop must be a number from 0 to 1, not %g", share);
    if (share > 0)
        draft->info.flags |= PPSCHED_DESCRIPTION_FLAG_DROPOUT;
}

/* Names of its own, and learned positions. */
void ppi_family_gpt2(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const char *const full[] = {"full_attention", NULL};
    ppsched_description_info *info = &draft->info;
    struct ppi_stack stack = {
        .attention = {.kind = PPSCHED_BLOCK_KIND_ATTENTION, .flags = PPSCHED_BLOCK_FLAG_BIAS | PPSCHED_BLOCK_FLAG_OUTPUT_BIAS},
        .mlp = {.kind = PPSCHED_BLOCK_KIND_MLP}};
    info->hidden_size = ppi_needed(fields, "n_embd|hidden_size");
    stack.layers = ppi_needed(fields, "n_layer|num_hidden_layers");
    stack.attention.heads = ppi_needed(fields, "n_head|num_attention_heads");
    info->vocabulary_size = ppi_needed(fields, "vocab_size");
    stack.mlp.width = ppi_count_or(fields, "n_inner", 1, ppi_size_product(fields, "n_inner", 4, info->hidden_size));
    info->positions = ppi_needed(fields, "n_positions|n_ctx");
    info->sequence_length = ppi_count_or(fields, "max_position_embeddings", 1, info->positions);
    if (ppi_switch_or(fields, "tie_word_embeddings", true))
        info->flags |= PPSCHED_DESCRIPTION_FLAG_TIED;
    ppi_types_of(fields, "layer_types", stack.layers, full);
    read_dropout(fields, draft);
    add_layers(fields, draft, &stack);
}

void ppi_family_gpt_neox(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {50432, 6144, 24576, 44, 64, 0, 0},
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_IS_BIASED | PPI_CLASS_NO_GATE};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    ppi_require_count(fields, "num_key_value_heads", stack.attention.heads);
    add_layers(fields, draft, &stack);
}
