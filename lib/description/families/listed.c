/* SPDX-License-Identifier: Apache-2.0 */
/* Nemotron-NAS (Llama-Nemotron): block_configs lists for each layer its attention and its MLP, each of which may be a matrix or
 * nothing. */
#include "description/families/common.h"
#include "description/families/functions.h"

/* A width is a share of the hidden size: two thirds of it times the factor, up to a multiple of 256. */
static uint32_t width_of(struct ppi_fields *part, uint32_t hidden)
{
    double factor = ppi_number_or(part, "ffn_mult", 0);
    double width = 2 * factor * hidden / 3;
    if (!(width >= 1 && width < INT32_MAX / 2.0)) {
        ppi_fields_fail(part, "ffn_mult is %g; the MLP would have no width, or one that is too large", factor);
        return 0;
    }
    return ((uint32_t)width + 255) / 256 * 256;
}

/* A block of a layer by its part of the list's entry: 1, or 0 where there is none. */
static uint32_t read_block(struct ppi_fields *entry, struct ppi_draft *draft, const char *name, ppsched_block *block)
{
    struct ppi_fields part;
    ppi_part_start(&part, entry, name);
    bool is_none = ppi_switch_or(&part, "no_op", false), is_linear = ppi_switch_or(&part, "replace_with_linear", false);
    if (is_linear)
        *block = (ppsched_block){.kind = PPSCHED_BLOCK_KIND_LINEAR};
    else if (!is_none && block->kind == PPSCHED_BLOCK_KIND_MLP)
        block->width = width_of(&part, draft->info.hidden_size);
    else if (!is_none && block->heads > 0)
        block->key_value_heads = block->heads / ppi_count_or(&part, "n_heads_in_group", 1, 1);
    ppi_ignore(&part, "sparsify|window_length|num_sink_tokens|use_prefill_window_in_sink_attention|unshifted_sink");
    if (ppi_json_in_use(ppi_json_member_of(part.object, "window_length")) ||
        ppi_json_in_use(ppi_json_member_of(part.object, "sparsify")))
        ppi_fields_fail(&part, "block_configs has windows or sparse blocks, which are not supported");
    ppi_part_end(entry, &part, draft);
    return is_none && !is_linear ? 0 : 1;
}

static void add_layer(struct ppi_fields *fields, struct ppi_draft *draft, const struct ppi_stack *stack,
                      const struct ppi_json_value *entry)
{
    struct ppi_fields own;
    ppsched_block blocks[2] = {stack->attention};
    if (entry->type != PPI_JSON_OBJECT) {
        ppi_fields_fail(fields, "block_configs must be a list of objects");
        return;
    }
    ppi_fields_start(&own, entry, fields->family, fields->arena, fields->error);
    uint32_t count = read_block(&own, draft, "attention", &blocks[0]);
    blocks[count] = stack->mlp;
    count += read_block(&own, draft, "ffn", &blocks[count]);
    ppi_part_end(fields, &own, draft);
    if (fields->status == PPSCHED_OK)
        ppi_draft_add_layer(draft, blocks, count);
}

void ppi_family_nemotron_nas(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {128256, 8192, 0, 80, 64, 0, 0},
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_MLP_BIAS | PPI_CLASS_OWN_WIDTH};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    const struct ppi_json_value *list = ppi_list_of(fields, "block_configs", stack.layers);
    if (ppi_field(fields, "block_configs") == NULL)
        ppi_needed(fields, "block_configs");
    ppi_ignore(fields, "num_key_value_heads|intermediate_size");
    for (uint32_t i = 0; list != NULL && i < list->count && fields->status == PPSCHED_OK && fields->missing_count == 0; i++)
        add_layer(fields, draft, &stack, &list->items[i]);
}
