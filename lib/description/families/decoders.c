/* SPDX-License-Identifier: Apache-2.0 */
/* Families of plain decoders: attention to the whole sequence or, in all layers, to a window, and an MLP. */
#include <string.h>

#include "description/families/common.h"
#include "description/families/functions.h"

/* --- Llama and what is made of its layers --- */

void ppi_family_llama(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {32000, 4096, 11008, 32, 32, 0, 0},
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_MLP_BIAS};
    ppi_read_plain(fields, draft, &class);
}

void ppi_family_iquestcoder(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {76800, 5120, 27648, 80, 40, 8, 128},
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_MLP_BIAS};
    ppi_read_plain(fields, draft, &class);
}

void ppi_family_internlm3(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {128512, 4096, 10240, 48, 32, 2, 128},
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_MLP_BIAS};
    ppi_read_plain(fields, draft, &class);
}

void ppi_family_hyperclovax(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {32000, 4096, 11008, 32, 32, 0, 0},
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_MLP_BIAS};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    if (ppi_switch_or(fields, "use_post_norm", true))
        stack.attention.norms = stack.mlp.norms = 2;
    ppi_add_layers(fields, draft, &stack);
}

void ppi_family_helium(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {48000, 2560, 7040, 24, 20, 20, 128},
                                                  .traits = PPI_CLASS_INPUT_BIAS | PPI_CLASS_MLP_BIAS};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    const uint64_t width = (uint64_t)stack.attention.heads * stack.attention.head_size;
    if (fields->status == PPSCHED_OK && width != draft->info.hidden_size)
        ppi_fields_fail(fields,
                        "the heads of a helium are as wide as its hidden_size, %u; head_dim %u with %u head%p makes %llu",
                        draft->info.hidden_size, stack.attention.head_size, stack.attention.heads, (unsigned long long)width);
    ppi_add_layers(fields, draft, &stack);
}

void ppi_family_seed_oss(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {155136, 4096, 27648, 64, 80, 8, 128},
                                                  .traits = PPI_CLASS_INPUT_BIAS | PPI_CLASS_IS_BIASED | PPI_CLASS_MLP_BIAS};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    if (ppi_switch_or(fields, "attention_out_bias", false))
        stack.attention.flags |= PPSCHED_BLOCK_FLAG_OUTPUT_BIAS;
    ppi_add_layers(fields, draft, &stack);
}

/* One switch for all biases. */
void ppi_family_ernie4_5(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {103424, 1024, 3072, 18, 16, 2, 128}, .traits = PPI_CLASS_TIED};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    if (ppi_switch_or(fields, "use_bias", false)) {
        stack.attention.flags |= PPSCHED_BLOCK_FLAG_BIAS | PPSCHED_BLOCK_FLAG_OUTPUT_BIAS;
        stack.mlp.flags |= PPSCHED_BLOCK_FLAG_BIAS;
    }
    ppi_add_layers(fields, draft, &stack);
}

/* --- a window in all layers --- */

void ppi_family_mistral(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {
        .sizes = {32000, 4096, 14336, 32, 32, 8, 0}, .traits = PPI_CLASS_WINDOW_ALL, .window = 4096};
    ppi_read_plain(fields, draft, &class);
    ppi_ignore(fields, "use_sliding_window");
}

void ppi_family_ministral(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {
        .sizes = {32000, 4096, 14336, 32, 32, 8, 0}, .traits = PPI_CLASS_WINDOW, .window = 4096};
    ppi_read_plain(fields, draft, &class);
}

void ppi_family_ministral3(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {131072, 4096, 14336, 34, 32, 8, 128},
                                                  .traits = PPI_CLASS_WINDOW_ALL};
    ppi_read_plain(fields, draft, &class);
}

void ppi_family_phi3(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {32064, 3072, 8192, 32, 32, 0, 0}, .traits = PPI_CLASS_WINDOW_ALL};
    ppi_read_plain(fields, draft, &class);
}

/* LayerNorm, an MLP without a gate, and one switch for all biases. */
void ppi_family_starcoder2(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {49152, 3072, 12288, 30, 24, 2, 0},
                                                  .traits = PPI_CLASS_TIED | PPI_CLASS_NO_GATE | PPI_CLASS_WINDOW_ALL};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    draft->info.flags |= PPSCHED_DESCRIPTION_FLAG_NORM_BIAS;
    if (ppi_switch_or(fields, "use_bias", true)) {
        stack.attention.flags |= PPSCHED_BLOCK_FLAG_BIAS | PPSCHED_BLOCK_FLAG_OUTPUT_BIAS;
        stack.windowed.flags = stack.attention.flags;
        stack.mlp.flags |= PPSCHED_BLOCK_FLAG_BIAS;
    }
    ppi_add_layers(fields, draft, &stack);
}

/* --- Qwen --- */

/* A window in the layers from max_window_layers on, if it is switched on or layer_types names layers. */
static void add_qwen_layers(struct ppi_fields *fields, struct ppi_draft *draft, struct ppi_stack *stack, uint32_t first)
{
    bool has_window = ppi_switch_or(fields, "use_sliding_window", false);
    stack->first_window = ppi_count_or(fields, "max_window_layers", 0, first);
    if (!has_window && stack->types == NULL)
        stack->end_window = 0;
    ppi_add_layers(fields, draft, stack);
}

static const struct ppi_family_class qwen2 = {
    .sizes = {151936, 4096, 22016, 32, 32, 32, 0}, .traits = PPI_CLASS_ALWAYS_BIAS | PPI_CLASS_WINDOW, .window = 4096};

/* Qwen2 with layers of multi-token prediction. */
void ppi_family_mimo(struct ppi_fields *fields, struct ppi_draft *draft)
{
    struct ppi_stack stack = ppi_read_stack(fields, draft, &qwen2);
    stack.has_mtp = true;
    add_qwen_layers(fields, draft, &stack, 28);
    ppi_require_switch(fields, "attention_bias", true);
}

static void read_qwen2_text(struct ppi_fields *fields, struct ppi_draft *draft, const struct ppi_family_class *class,
                            uint32_t first)
{
    struct ppi_stack stack = ppi_read_stack(fields, draft, class);
    add_qwen_layers(fields, draft, &stack, first);
    ppi_ignore(fields, "attention_bias|qkv_bias|use_qkv_bias");
}

void ppi_family_qwen2(struct ppi_fields *fields, struct ppi_draft *draft)
{
    read_qwen2_text(fields, draft, &qwen2, 28);
}

/* The text of Qwen2-VL and Qwen2.5-VL. */
void ppi_family_qwen2_vl(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {
        .sizes = {152064, 8192, 29568, 80, 64, 8, 0}, .traits = PPI_CLASS_ALWAYS_BIAS | PPI_CLASS_WINDOW, .window = 4096};
    read_qwen2_text(fields, draft, &class, 80);
}

void ppi_family_qwen2_5_omni(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {
        .sizes = {152064, 3584, 18944, 28, 28, 4, 0}, .traits = PPI_CLASS_ALWAYS_BIAS | PPI_CLASS_WINDOW, .window = 32768};
    read_qwen2_text(fields, draft, &class, 28);
}

void ppi_family_qwen3(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {151936, 4096, 22016, 32, 32, 32, 128},
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_QK_NORM | PPI_CLASS_WINDOW,
                                                  .window = 4096};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    add_qwen_layers(fields, draft, &stack, 28);
    ppi_require_switch(fields, "use_qk_norm", true);
}

void ppi_family_qwen3_vl(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {151936, 4096, 22016, 32, 32, 32, 128},
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_QK_NORM};
    ppi_read_plain(fields, draft, &class);
}

/* --- norms of other kinds --- */

void ppi_family_glm(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {151552, 4096, 13696, 40, 32, 2, 128},
                                                  .traits = PPI_CLASS_INPUT_BIAS | PPI_CLASS_IS_BIASED};
    ppi_read_plain(fields, draft, &class);
}

void ppi_family_glm4(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {
        .sizes = {151552, 4096, 13696, 40, 32, 2, 128}, .traits = PPI_CLASS_INPUT_BIAS | PPI_CLASS_IS_BIASED, .norms = 2};
    ppi_read_plain(fields, draft, &class);
}

/* The text of GLM-4.1V: always with biases. */
void ppi_family_glm4v(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {
        .sizes = {151552, 4096, 13696, 40, 32, 2, 0}, .norms = 2, .traits = PPI_CLASS_ALWAYS_BIAS | PPI_CLASS_NO_HEAD_DIM};
    ppi_read_plain(fields, draft, &class);
    ppi_require_switch(fields, "attention_bias", true);
}

void ppi_family_hunyuan_v1_dense(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {290943, 4096, 11008, 32, 32, 0, 0},
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_QK_NORM};
    ppi_read_plain(fields, draft, &class);
    ppi_require_switch(fields, "use_qk_norm", true);
}

/* Norms have no weights. */
void ppi_family_olmo(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {50304, 4096, 11008, 32, 32, 0, 0}, .traits = PPI_CLASS_BIAS};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    stack.attention.flags |= PPSCHED_BLOCK_FLAG_NO_NORM;
    stack.mlp.flags |= PPSCHED_BLOCK_FLAG_NO_NORM;
    draft->info.flags |= PPSCHED_DESCRIPTION_FLAG_NO_FINAL_NORM;
    ppi_add_layers(fields, draft, &stack);
}

void ppi_family_olmo2(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {50304, 4096, 11008, 32, 32, 0, 0},
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_QK_NORM_ALL};
    ppi_read_plain(fields, draft, &class);
}

/* --- an MLP without a gate --- */

void ppi_family_arcee(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {32000, 2560, 18432, 32, 32, 0, 0},
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_MLP_BIAS | PPI_CLASS_NO_GATE};
    ppi_read_plain(fields, draft, &class);
}

/* Its activation has two parameters. */
void ppi_family_apertus(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {131072, 4096, 14336, 32, 32, 0, 0},
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_QK_NORM | PPI_CLASS_NO_GATE};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    stack.mlp.extra_parameters = strcmp(ppi_text_or(fields, "hidden_act", "xielu"), "xielu") == 0 ? 2 : 0;
    ppi_require_switch(fields, "qk_norm", true);
    ppi_add_layers(fields, draft, &stack);
}

void ppi_family_jais2(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {150272, 3328, 26624, 32, 26, 0, 0},
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_IS_BIASED | PPI_CLASS_NO_GATE};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    draft->info.flags |= PPSCHED_DESCRIPTION_FLAG_NORM_BIAS;
    if (ppi_switch_or(fields, "mlp_bias", true))
        stack.mlp.flags |= PPSCHED_BLOCK_FLAG_BIAS;
    ppi_add_layers(fields, draft, &stack);
}

void ppi_family_nemotron(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {256000, 6144, 24576, 32, 48, 0, 0},
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_MLP_BIAS | PPI_CLASS_NO_GATE};
    ppi_read_plain(fields, draft, &class);
    draft->info.flags |= PPSCHED_DESCRIPTION_FLAG_NORM_BIAS;
}

/* Norms have no weights. */
void ppi_family_nanochat(struct ppi_fields *fields, struct ppi_draft *draft)
{
    static const struct ppi_family_class class = {.sizes = {50304, 768, 8192, 12, 6, 0, 0},
                                                  .traits = PPI_CLASS_BIAS | PPI_CLASS_FREE_QK_NORM | PPI_CLASS_NO_GATE};
    struct ppi_stack stack = ppi_read_stack(fields, draft, &class);
    stack.attention.flags |= PPSCHED_BLOCK_FLAG_NO_NORM;
    stack.mlp.flags |= PPSCHED_BLOCK_FLAG_NO_NORM;
    draft->info.flags |= PPSCHED_DESCRIPTION_FLAG_NO_FINAL_NORM;
    ppi_add_layers(fields, draft, &stack);
}
