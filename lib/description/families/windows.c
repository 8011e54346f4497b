/* SPDX-License-Identifier: Apache-2.0 */
/* Families of decoders in which some layers see a window and the others the whole sequence, by layer_types or by turns. */
#include <string.h>

#include "description/families/common.h"
#include "description/families/functions.h"

/* --- Gemma --- */

void ppi_family_gemma(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {256000, 3072, 24576, 28, 16, 16, 256},
                                                  .traits = PPI_CLASS_TIED | PPI_CLASS_BIAS};
    ppi_read_plain(fields, draft, &class);
}

void ppi_family_gemma2(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {256000, 2304, 9216, 26, 8, 4, 256},
                                                  .norms = 2,
                                                  .window = 4096,
                                                  .interval = 2,
                                                  .offset = 1,
                                                  .traits = PPI_CLASS_TIED | PPI_CLASS_BIAS | PPI_CLASS_WINDOW};
    ppi_read_plain(fields, draft, &class);
    ppi_ignore(fields, "use_sliding_window|sliding_window_size");
}

void ppi_family_vaultgemma(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {256000, 2304, 9216, 26, 8, 4, 256},
                                                  .window = 4096,
                                                  .interval = 2,
                                                  .offset = 1,
                                                  .traits = PPI_CLASS_TIED | PPI_CLASS_BIAS | PPI_CLASS_WINDOW};
    ppi_read_plain(fields, draft, &class);
}

void ppi_family_gemma3(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {262208, 2304, 9216, 26, 8, 4, 256},
                                                  .norms = 2,
                                                  .window = 4096,
                                                  .offset = 1,
                                                  .traits = PPI_CLASS_TIED | PPI_CLASS_BIAS | PPI_CLASS_QK_NORM |
                                                            PPI_CLASS_WINDOW};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    stack.interval = ppi_count_or(fields, "sliding_window_pattern|_sliding_window_pattern", 1, 6);
    ppi_add_layers(fields, draft, &stack);
}

/* --- others with norms of queries and keys --- */

void ppi_family_olmo3(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {50304, 4096, 11008, 32, 32, 0, 0},
                                                  .window = 4096,
                                                  .interval = 4,
                                                  .offset = 1,
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_QK_NORM_ALL | PPI_CLASS_WINDOW};
    ppi_read_plain(fields, draft, &class);
}

/* The last of so many layers has full attention. A pattern of letters, which older files have, goes with layer_types. */
static void read_turns(struct ppi_fields *fields, struct ppi_stack *stack)
{
    const struct ppi_json_value *pattern = ppi_field(fields, "sliding_window_pattern");
    if (stack->types != NULL)
        return;
    if (pattern != NULL && pattern->type == PPI_JSON_TEXT)
        ppi_fields_fail(fields, "sliding_window_pattern is %q, and there are no layer_types; give them", pattern->text);
    stack->interval = ppi_count_or(fields, "sliding_window_pattern", 0, 4);
    stack->offset = 1;
}

void ppi_family_exaone4(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {
        .sizes = {102400, 4096, 16384, 32, 32, 32, 0}, .window = 4096, .traits = PPI_CLASS_QK_NORM | PPI_CLASS_WINDOW};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    read_turns(fields, &stack);
    ppi_add_layers(fields, draft, &stack);
}

/* With experts after the first layers. */
void ppi_family_exaone_moe(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {
        .sizes = {102400, 4096, 16384, 32, 32, 32, 0}, .window = 4096, .traits = PPI_CLASS_QK_NORM | PPI_CLASS_WINDOW};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    stack.experts = ppi_read_experts(fields, "num_experts|num_local_experts", 64, 8, 1024);
    stack.experts.flags |= PPSCHED_BLOCK_FLAG_ROUTER_BIAS;
    ppi_read_shared(fields, &stack.experts, "num_shared_experts", 1);
    ppi_read_dense_layers(fields, &stack, ppi_count_or(fields, "first_last_k_dense_replace", 0, 1));
    stack.marks = ppi_list_of(fields, "is_moe_layer", stack.layers);
    read_turns(fields, &stack);
    stack.has_mtp = true;
    ppi_add_layers(fields, draft, &stack);
}

/* --- without norms of queries and keys --- */

void ppi_family_cwm(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {128256, 6144, 21504, 64, 48, 8, 128},
                                                  .window = 8192,
                                                  .interval = 4,
                                                  .traits = PPI_CLASS_MLP_BIAS | PPI_CLASS_WINDOW};
    ppi_read_plain(fields, draft, &class);
}

/* Windows are off in all that is published. Which layers have one if they are on depends on their positions. */
void ppi_family_smollm3(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {128256, 2048, 11008, 36, 16, 4, 0},
                                                  .traits = PPI_CLASS_TIED | PPI_CLASS_BIAS | PPI_CLASS_MLP_BIAS |
                                                            PPI_CLASS_WINDOW};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    bool has_window = ppi_switch_or(fields, "use_sliding_window", false);
    if (has_window && stack.windowed.window > 0 && stack.types == NULL)
        ppi_fields_fail(fields, "use_sliding_window is true, and there are no layer_types; give them");
    stack.end_window = 0;
    ppi_add_layers(fields, draft, &stack);
}

void ppi_family_granite_swa(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {100352, 2560, 8192, 24, 20, 4, 0},
                                                  .window = 128,
                                                  .interval = 4,
                                                  .traits = PPI_CLASS_TIED | PPI_CLASS_BIAS | PPI_CLASS_MLP_BIAS |
                                                            PPI_CLASS_WINDOW};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    stack.attention.flags |= PPSCHED_BLOCK_FLAG_SINKS;
    stack.windowed.flags |= PPSCHED_BLOCK_FLAG_SINKS;
    ppi_add_layers(fields, draft, &stack);
}

/* Attention has an output gate; the last layer and each fourth before it see the whole sequence. */
void ppi_family_muse_glimmer(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {202048, 6656, 19968, 52, 32, 2, 128},
                                                  .norms = 2,
                                                  .window = 2048,
                                                  .interval = 4,
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_FREE_QK_NORM | PPI_CLASS_OUTPUT_GATE |
                                                            PPI_CLASS_WINDOW};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    stack.offset = 3 * (stack.layers + 3) % 4;
    ppi_add_layers(fields, draft, &stack);
}
