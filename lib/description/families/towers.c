/* SPDX-License-Identifier: Apache-2.0 */
/* Vision towers: an encoder of patches, and what hands its output to the text model. */
#include <string.h>

#include "description/families/common_mixers.h"
#include "description/families/tower_parts.h"
#include "description/families/towers.h"
#include "description/known_fields.h"

/* --- Qwen3-VL, Qwen3-Omni, Qwen3.5 --- */

/* Puts m values of neighbouring patches together: two matrices, and a norm before. */
static double qwen_merger(double norm, double merged, double out)
{
    return norm + merged * merged + merged + merged * out + out;
}

static void read_qwen3(struct ppi_fields *vision, struct ppi_fields *wrapper, struct ppi_tower_parts *parts)
{
    ppi_tower_qwen_sizes(vision, parts, 1152, 27, 4304, 16);
    uint32_t positions = ppi_count_or(vision, "num_position_embeddings", 1, 2304);
    double hidden = parts->tower.hidden_size, side = ppi_count_or(vision, "spatial_merge_size", 1, 2);
    double out = ppi_count_or(vision, "out_hidden_size", 1, 3584), merged = side * side * hidden, deep = 0;
    const struct ppi_json_value *indexes = ppi_integers(vision, "deepstack_visual_indexes");
    bool has_deepstack = strncmp(wrapper->family, "qwen3_vl", 8) == 0 || strncmp(wrapper->family, "qwen3_omni", 10) == 0;
    if (has_deepstack)
        deep = indexes != NULL ? indexes->count : 3;
    else if (ppi_json_in_use(indexes))
        ppi_fields_fail(wrapper, "vision_config has deepstack_visual_indexes, which a %s does not have", wrapper->family);
    parts->tower.has_norm_bias = 1;
    parts->tower.tokens = positions;
    parts->tower.patches_per_token = ppi_size_product(vision, "the patches of a token", (uint32_t)side, (uint32_t)side);
    parts->tower.deepstack_layers = (uint32_t)deep;
    parts->others = ppi_tower_patches(vision, "in_channels", 16, 2, hidden, true) + positions * hidden +
                    qwen_merger(2 * hidden, merged, out) + deep * qwen_merger(2 * merged, merged, out);
}

/* --- Qwen2.5-VL, Qwen2.5-Omni --- */

/* Most layers see windows of patches alone. The file does not say how many patches there are. */
static void read_qwen2_5(struct ppi_fields *vision, struct ppi_fields *wrapper, struct ppi_tower_parts *parts)
{
    ppi_tower_qwen_sizes(vision, parts, 3584, 32, 3420, 16);
    parts->mlp->flags |= PPSCHED_BLOCK_FLAG_GATED;
    uint32_t patch = ppi_count_or(vision, "patch_size|spatial_patch_size", 1, 14),
             window = ppi_count_or(vision, "window_size", 1, 112);
    uint32_t side = window / (patch > 0 ? patch : 1);
    double hidden = parts->tower.hidden_size, merge = ppi_count_or(vision, "spatial_merge_size", 1, 2);
    parts->chunk = ppi_size_product(vision, "the patches of a window", side, side);
    parts->full = ppi_integers(vision, "fullatt_block_indexes");
    parts->full_otherwise = 4;
    parts->others = ppi_tower_patches(vision, "in_channels|in_chans", 14, 2, hidden, false) +
                    qwen_merger(hidden, merge * merge * hidden, ppi_count_or(vision, "out_hidden_size", 1, 3584));
    ppi_ignore(vision, "tokens_per_second|in_chans|spatial_patch_size");
    (void)wrapper;
}

/* --- Qwen2-VL --- */

/* hidden_size is that of the text model; the tower's own is embed_dim. */
static void read_qwen2(struct ppi_fields *vision, struct ppi_fields *wrapper, struct ppi_tower_parts *parts)
{
    ppi_tower_qwen_sizes(vision, parts, 3584, 32, 0, 16);
    double out = parts->tower.hidden_size, merge = ppi_count_or(vision, "spatial_merge_size", 1, 2);
    uint32_t hidden = ppi_count_or(vision, "embed_dim", 1, 1280), ratio = ppi_count_or(vision, "mlp_ratio", 1, 4);
    parts->tower.hidden_size = hidden;
    parts->tower.has_norm_bias = 1;
    parts->mlp->width = ppi_size_product(vision, "the width of the MLP", hidden, ratio);
    parts->others = ppi_tower_patches(vision, "in_channels|in_chans", 14, 2, hidden, false) +
                    qwen_merger(2.0 * hidden, merge * merge * hidden, out);
    ppi_ignore(vision, "in_chans|spatial_patch_size");
    (void)wrapper;
}

/* --- SigLIP with Gemma 3 and LFM2-VL --- */

/* A head that pools all patches: a query, attention, a norm and an MLP. */
static double pooling_head(struct ppi_fields *vision, const struct ppi_tower_parts *parts)
{
    double h = parts->tower.hidden_size, f = parts->mlp->width;
    return ppi_switch_or(vision, "vision_use_head", true) ? h + 4 * h * h + 4 * h + 2 * h + 2 * h * f + f + h : 0;
}

static void read_gemma3(struct ppi_fields *vision, struct ppi_fields *wrapper, struct ppi_tower_parts *parts)
{
    ppi_tower_sizes(vision, parts, 768, 12, 3072, 12);
    double hidden = parts->tower.hidden_size;
    parts->tower.has_norm_bias = 1;
    parts->tower.tokens = ppi_tower_image(vision, 224, 16);
    parts->others = ppi_tower_patches(vision, "num_channels", 16, 0, hidden, true) + parts->tower.tokens * hidden + 2 * hidden +
                    pooling_head(vision, parts) + hidden * parts->text + hidden;
    ppi_ignore(wrapper, "mm_tokens_per_image");
}

static void read_lfm2(struct ppi_fields *vision, struct ppi_fields *wrapper, struct ppi_tower_parts *parts)
{
    ppi_tower_sizes(vision, parts, 768, 12, 3072, 12);
    double hidden = parts->tower.hidden_size, factor = ppi_count_or(wrapper, "downsample_factor", 1, 2);
    double merged = factor * factor * hidden, middle = ppi_count_or(wrapper, "projector_hidden_size", 1, 2560);
    double norm = ppi_switch_or(wrapper, "projector_use_layernorm", true) ? 2 * merged : 0;
    double bias = ppi_switch_or(wrapper, "projector_bias", true) ? middle + parts->text : 0;
    parts->tower.has_norm_bias = 1;
    parts->tower.tokens = ppi_count_or(vision, "num_patches", 1, 256);
    parts->others = ppi_tower_patches(vision, "num_channels", 16, 0, hidden, true) + parts->tower.tokens * hidden + 2 * hidden +
                    pooling_head(vision, parts) + norm + merged * middle + middle * parts->text + bias;
}

/* How many outputs of layers the projector takes at once. */
static double outputs_of(struct ppi_fields *wrapper)
{
    const struct ppi_json_value *chosen = ppi_field(wrapper, "vision_feature_layer");
    return chosen != NULL && chosen->type == PPI_JSON_LIST ? chosen->count : 1;
}

/* --- Pixtral --- */

static void read_pixtral(struct ppi_fields *vision, struct ppi_fields *wrapper, struct ppi_tower_parts *parts)
{
    ppi_tower_sizes(vision, parts, 1024, 24, 4096, 16);
    parts->mlp->flags = PPSCHED_BLOCK_FLAG_GATED;
    parts->attention->flags = 0;
    double hidden = parts->tower.hidden_size, text = parts->text, side = ppi_count_or(wrapper, "spatial_merge_size", 1, 2);
    double outputs = outputs_of(wrapper);
    double bias = ppi_switch_or(wrapper, "multimodal_projector_bias", false) ? 2 * text : 0;
    parts->tower.tokens = ppi_tower_image(vision, 1024, 16);
    parts->others = ppi_tower_patches(vision, "num_channels", 16, 0, hidden, false) + hidden + hidden +
                    side * side * hidden * hidden + outputs * hidden * text + text * text + bias;
    ppi_require_count(vision, "head_dim",
                      parts->tower.hidden_size / (parts->attention->heads > 0 ? parts->attention->heads : 1));
}

/* --- CLIP with LLaVA, InternViT --- */

/* A class and positions beside the patches, norms before and behind. */
static void read_llava(struct ppi_fields *vision, struct ppi_fields *wrapper, struct ppi_tower_parts *parts)
{
    ppi_tower_sizes(vision, parts, 768, 12, 3072, 12);
    double hidden = parts->tower.hidden_size, text = parts->text, outputs = outputs_of(wrapper);
    double bias = ppi_switch_or(wrapper, "multimodal_projector_bias", true) ? 2 * text : 0;
    parts->tower.has_norm_bias = 1;
    parts->tower.tokens = ppi_tower_image(vision, 224, 32) + 1;
    parts->others = ppi_tower_patches(vision, "num_channels", 32, 0, hidden, false) + hidden + parts->tower.tokens * hidden +
                    4 * hidden + outputs * hidden * text + text * text + bias;
    ppi_ignore(vision, "projection_dim|vocab_size");
}

/* Scales behind each half of a layer, and norms of queries and keys, which never have biases. */
static void read_internvl_layer(struct ppi_fields *vision, struct ppi_tower_parts *parts)
{
    const bool has_bias = strcmp(ppi_text_or(vision, "norm_type", "layer_norm"), "rms_norm") != 0;
    const bool has_norms = ppi_switch_or(vision, "use_qk_norm", false);
    parts->tower.has_norm_bias = has_bias;
    parts->attention->flags = PPSCHED_BLOCK_FLAG_OUTPUT_BIAS;
    if (ppi_switch_or(vision, "attention_bias", false))
        parts->attention->flags |= PPSCHED_BLOCK_FLAG_BIAS;
    if (has_norms && !has_bias)
        parts->attention->flags |= PPSCHED_BLOCK_FLAG_QK_NORM_ALL;
    parts->attention->extra_parameters = (has_norms && has_bias ? 3 : 1) * (uint64_t)parts->tower.hidden_size;
    parts->mlp->extra_parameters = parts->tower.hidden_size;
}

/* Neighbouring patches become one token. */
static void read_internvl(struct ppi_fields *vision, struct ppi_fields *wrapper, struct ppi_tower_parts *parts)
{
    ppi_tower_sizes(vision, parts, 1024, 24, 4096, 16);
    read_internvl_layer(vision, parts);
    double hidden = parts->tower.hidden_size, text = parts->text, ratio = ppi_number_or(wrapper, "downsample_ratio", 0.5);
    const uint32_t side = ratio >= 0.01 && ratio <= 1 ? (uint32_t)(1 / ratio) : 0;
    if (side == 0)
        ppi_fields_fail(wrapper, "downsample_ratio is %g; it must be 0.01 to 1", ratio);
    const double merged = (double)side * side * hidden;
    parts->tower.tokens = ppi_tower_image(vision, 448, 14) + 1;
    parts->tower.patches_per_token = side * side;
    double positions = ppi_switch_or(vision, "use_absolute_position_embeddings", true) ? parts->tower.tokens * hidden : 0;
    double norm = ppi_switch_or(vision, "use_mean_pooling", true) ? 0 : 2 * hidden;
    double mask = ppi_switch_or(vision, "use_mask_token", false) ? hidden : 0;
    parts->others = ppi_tower_patches(vision, "num_channels", 14, 0, hidden, true) + hidden + positions + norm + mask +
                    2 * merged + merged * text + text + text * text + text;
    ppi_ignore(vision, "layer_scale_init_value|projection_dropout|hidden_dropout_prob");
}

/* --- Llama 4 --- */

static void read_llama4(struct ppi_fields *vision, struct ppi_fields *wrapper, struct ppi_tower_parts *parts)
{
    ppi_tower_sizes(vision, parts, 768, 34, 5632, 16);
    double hidden = parts->tower.hidden_size, in = ppi_count_or(vision, "projector_input_dim", 1, 4096);
    double out = ppi_count_or(vision, "projector_output_dim", 1, 4096);
    parts->tower.has_norm_bias = 1;
    parts->tower.tokens = ppi_tower_image(vision, 448, 14) + 1;
    parts->others = ppi_tower_patches(vision, "num_channels", 14, 0, hidden, false) + hidden + parts->tower.tokens * hidden +
                    4 * hidden + parts->mlp->width * in + out * out +
                    ppi_count_or(vision, "vision_output_dim", 1, 7680) * (double)parts->text;
    ppi_require_switch(vision, "multi_modal_projector_bias", false);
    ppi_ignore(vision, "pixel_shuffle_ratio|vision_feature_select_strategy|vision_feature_layer|projector_dropout");
    (void)wrapper;
}

/* --- Gemma 4 --- */

/* Four norms, and norms of queries and keys; each image becomes as many tokens as the file says, of so many patches each. */
static void read_gemma4(struct ppi_fields *vision, struct ppi_fields *wrapper, struct ppi_tower_parts *parts)
{
    ppi_tower_sizes(vision, parts, 768, 16, 3072, 12);
    double hidden = parts->tower.hidden_size, positions = ppi_count_or(vision, "position_embedding_size", 1, 10240);
    uint32_t pool = ppi_count_or(vision, "pooling_kernel_size", 1, 3),
             tokens = ppi_count_or(vision, "default_output_length", 1, 280);
    parts->attention->key_value_heads = ppi_count_or(vision, "num_key_value_heads", 1, 12);
    parts->attention->head_size = ppi_count_or(vision, "head_dim", 1, 64);
    parts->attention->flags = PPSCHED_BLOCK_FLAG_QK_NORM;
    parts->mlp->flags = PPSCHED_BLOCK_FLAG_GATED;
    parts->attention->norms = parts->mlp->norms = 2;
    tokens = ppi_count_or(wrapper, "vision_soft_tokens_per_image", 1, tokens);
    parts->tower.tokens = ppi_size_product(vision, "the number of patches", tokens, pool * pool);
    parts->others = ppi_tower_patches(vision, NULL, 16, 0, hidden, false) + 2 * positions * hidden + hidden * parts->text;
    ppi_require_switch(vision, "attention_bias", false);
    ppi_ignore(vision, "use_clipped_linears|standardize|global_head_dim");
}

/* --- Kimi K2.5 --- */

static void read_kimi(struct ppi_fields *vision, struct ppi_fields *wrapper, struct ppi_tower_parts *parts)
{
    ppi_tower_kimi_sizes(vision, parts);
    const struct ppi_json_value *kernel = ppi_field(vision, "merge_kernel_size");
    double hidden = parts->tower.hidden_size, sides = ppi_tower_area(vision, "merge_kernel_size", kernel, 2),
           merged = sides * hidden;
    uint32_t height = ppi_count_or(vision, "pos_emb_height|init_pos_emb_height", 1, 64);
    uint32_t width = ppi_count_or(vision, "pos_emb_width|init_pos_emb_width", 1, 64);
    double norm = ppi_count_or(wrapper, "projection_hidden_size", 1, ppi_count_or(vision, "mm_hidden_size", 1, 1152));
    parts->tower.has_norm_bias = 1;
    parts->tower.tokens = ppi_size_product(vision, "the number of patches", height, width);
    parts->others = ppi_tower_patches(vision, NULL, 14, 0, hidden, true) + parts->tower.tokens * hidden + 2 * hidden +
                    2 * norm + merged * merged + merged + merged * parts->text + parts->text;
    ppi_require_count(vision, "text_hidden_size", parts->text);
    ppi_ignore(vision,
               "pos_emb_time|init_pos_emb_time|pos_emb_type|merge_type|video_attn_type|mm_projector_type|projector_ln_eps|"
               "projector_hidden_act");
}

/* --- GLM-4.1V --- */

/* The MLP of its layers is as wide as the text model; intermediate_size is the width of the merger. */
static void read_glm4v(struct ppi_fields *vision, struct ppi_fields *wrapper, struct ppi_tower_parts *parts)
{
    ppi_tower_qwen_sizes(vision, parts, 1536, 24, 13696, 12);
    uint32_t merger = parts->mlp->width, out = ppi_count_or(vision, "out_hidden_size", 1, 4096);
    double hidden = parts->tower.hidden_size, side = ppi_count_or(vision, "spatial_merge_size", 1, 2), wide = out;
    parts->mlp->width = out;
    parts->mlp->flags = PPSCHED_BLOCK_FLAG_GATED;
    parts->attention->flags = ppi_switch_or(vision, "attention_bias", false) ? PPSCHED_BLOCK_FLAG_BIAS : 0;
    parts->tower.tokens = ppi_tower_image(vision, 336, 14);
    parts->others = ppi_tower_patches(vision, "in_channels", 14, 2, hidden, true) + parts->tower.tokens * hidden + 2 * hidden +
                    side * side * hidden * wide + wide + wide * wide + 2 * wide + 3 * wide * merger;
    (void)wrapper;
}

/* --- MiniMax-M3 --- */

static void read_minimax(struct ppi_fields *vision, struct ppi_fields *wrapper, struct ppi_tower_parts *parts)
{
    ppi_tower_sizes(vision, parts, 1280, 32, 5120, 16);
    double hidden = parts->tower.hidden_size, text = parts->text, side = ppi_count_or(vision, "spatial_merge_size", 1, 2);
    double middle = ppi_count_or(wrapper, "projector_hidden_size", 1, 6144);
    parts->tower.has_norm_bias = 1;
    parts->tower.tokens = ppi_tower_image(vision, 2016, 14);
    parts->others = ppi_tower_patches(vision, "num_channels", 14, 2, hidden, false) + 2 * hidden + hidden * middle + middle +
                    side * side * text * middle + middle + 2 * (middle * text + text);
}

/* --- Muse Glimmer --- */

/* How many layers see all patches: those that are listed, or each fourth and the last. */
static uint32_t count_full(struct ppi_fields *vision, uint32_t layers)
{
    static const char *const allowed[] = {"full_attention", "window_attention", NULL};
    const struct ppi_json_value *types = ppi_types_of(vision, "layer_types", layers, allowed);
    uint32_t count = 0;
    for (uint32_t i = 0; i < layers; i++)
        count += ppi_type_is(types, i, allowed[0], (i + 1) % 4 == 0 || i + 1 == layers);
    return count;
}

static void read_muse(struct ppi_fields *vision, struct ppi_fields *wrapper, struct ppi_tower_parts *parts)
{
    ppi_tower_sizes(vision, parts, 1536, 50, 8960, 16);
    uint32_t height = ppi_count_or(vision, "pos_emb_height", 1, 32), width = ppi_count_or(vision, "pos_emb_width", 1, 32);
    double hidden = parts->tower.hidden_size, middle = ppi_count_or(wrapper, "projector_hidden_size", 1, 4096);
    parts->chunk = ppi_size_product(vision, "the patches of a window", height, width);
    parts->full_otherwise = count_full(vision, parts->tower.layers);
    parts->tower.has_norm_bias = 1;
    parts->tower.tokens = parts->chunk;
    parts->others = ppi_tower_patches(vision, NULL, 14, 0, hidden, false) * ppi_count_or(vision, "patch_temporal", 1, 2) +
                    parts->tower.tokens * hidden + 4 * hidden + ppi_count_or(wrapper, "out_hidden_size", 1, 6144) * middle +
                    middle * middle + middle * parts->text;
    ppi_ignore(vision, "merge_size");
}

/* --- Step 3.7 --- */

/* Two convolutions of three by three after the layers make of four values one, twice; each layer scales what it adds. */
static void read_step(struct ppi_fields *vision, struct ppi_fields *wrapper, struct ppi_tower_parts *parts)
{
    ppsched_tower *tower = &parts->tower;
    tower->hidden_size = ppi_count_or(vision, "width|hidden_size", 1, 1536);
    tower->layers = ppi_count_or(vision, "layers|num_hidden_layers", 1, 47);
    parts->attention->heads = ppi_count_or(vision, "heads|num_attention_heads", 1, 16);
    double hidden = tower->hidden_size, ratio = ppi_number_or(vision, "mlp_ratio", 8960.0 / 1536);
    if (!(ratio * hidden >= 1 && ratio * hidden < INT32_MAX))
        ppi_fields_fail(vision, "mlp_ratio is %g; the MLP would have no width, or one that is too large", ratio);
    else
        parts->mlp->width = (uint32_t)(ratio * hidden);
    parts->attention->extra_parameters = parts->mlp->extra_parameters = tower->hidden_size;
    tower->has_norm_bias = 1;
    tower->tokens = ppi_tower_image(vision, 728, 14);
    double bias = ppi_switch_or(wrapper, "projector_bias", false) ? parts->text : 0;
    parts->others = ppi_tower_patches(vision, "num_channels", 14, 0, hidden, false) + tower->tokens * hidden + 2 * hidden +
                    90 * hidden * hidden + 6 * hidden + 4 * hidden * parts->text + bias;
    ppi_require_switch(vision, "use_cls_token", false);
    ppi_require_switch(vision, "use_ln_pre", true);
    ppi_require_switch(vision, "use_ln_post", false);
    ppi_require_switch(vision, "use_abs_posemb", true);
    ppi_ignore(vision, "intermediate_size|ls_init_value|layer_scale_init_value|hidden_act|layer_norm_eps|pool_type|use_rope2d");
}

/* --- all --- */

/* Which tower a model has: by its family, and where that may have several, by the tower's own type. */
static const struct {
    const char *family, *type;
    ppi_tower_function read;
} towers[] = {{"gemma3", "siglip_vision_model", read_gemma3},
              {"gemma4", "gemma4_vision", read_gemma4},
              {"glm4v", NULL, read_glm4v},
              {"glm4v_moe", NULL, read_glm4v},
              {"internvl", "internvl_vision", read_internvl},
              {"kimi_k25", NULL, read_kimi},
              {"lfm2_vl", "siglip2_vision_model", read_lfm2},
              {"llama4", NULL, read_llama4},
              {"llava", "clip_vision_model", read_llava},
              {"minimax_m3_vl", NULL, read_minimax},
              {"ministral3", "pixtral", read_pixtral},
              {"mistral3", "pixtral", read_pixtral},
              {"muse_glimmer", NULL, read_muse},
              {"qwen2_5_omni", NULL, read_qwen2_5},
              {"qwen2_5_omni_thinker", NULL, read_qwen2_5},
              {"qwen2_5_vl", NULL, read_qwen2_5},
              {"qwen2_vl", NULL, read_qwen2},
              {"qwen3_5", NULL, read_qwen3},
              {"qwen3_5_moe", NULL, read_qwen3},
              {"qwen3_omni_moe", NULL, read_qwen3},
              {"qwen3_omni_moe_thinker", NULL, read_qwen3},
              {"qwen3_vl", NULL, read_qwen3},
              {"qwen3_vl_moe", NULL, read_qwen3},
              {"step3p7", NULL, read_step}};

static ppi_tower_function tower_of(const struct ppi_fields *wrapper, struct ppi_fields *vision)
{
    const char *type = ppi_text_or(vision, "model_type", "");
    for (size_t i = 0; i < sizeof towers / sizeof *towers; i++)
        if (strcmp(towers[i].family, wrapper->family) == 0)
            return towers[i].type == NULL || *type == '\0' || strcmp(towers[i].type, type) == 0 ? towers[i].read : NULL;
    return NULL;
}

/* What is in use and nobody read does not change the plan of the text, so it is no error. */
static void warn_unknown(const struct ppi_fields *tower, const char *part, struct ppi_draft *draft)
{
    char names[320] = "";
    uint32_t count = 0;
    for (uint32_t i = 0; i < tower->object->count; i++)
        if (!tower->asked[i] && ppi_json_in_use(&tower->object->items[i]) && !ppi_is_harmless(tower->object->keys[i]))
            ppi_add_name(names, sizeof names, count++, tower->object->keys[i]);
    if (count > 0)
        ppi_draft_warn(draft, "%s of %s %s not known, and not counted", names, part, count == 1 ? "is" : "are");
}

/* The tower that `part` describes: vision_config or audio_config. */
static void read_tower(struct ppi_fields *wrapper, const char *part, struct ppi_draft *draft)
{
    struct ppi_fields fields;
    struct ppi_tower_parts parts;
    bool is_vision = strcmp(part, "vision_config") == 0;
    if (!ppi_json_in_use(ppi_field(wrapper, part)))
        return;
    ppi_part_start(&fields, wrapper, part);
    ppi_tower_function read = is_vision ? tower_of(wrapper, &fields) : ppi_audio_tower_of(wrapper->family);
    if (read == NULL && draft->is_start)
        ppi_draft_warn(draft, "%s", part);
    else if (read == NULL)
        ppi_draft_warn(draft, "the %s tower of a %s is not known, and not counted", is_vision ? "vision" : "audio",
                       wrapper->family);
    if (read == NULL)
        return;
    ppi_tower_start(&parts, draft);
    read(&fields, wrapper, &parts);
    if (fields.status == PPSCHED_OK && wrapper->status == PPSCHED_OK) {
        ppi_tower_add(draft, &parts);
        warn_unknown(&fields, part, draft);
    }
    ppi_part_join(wrapper, &fields);
}

void ppi_read_towers(struct ppi_fields *wrapper, struct ppi_draft *draft)
{
    static const char *const others[] = {"talker_config", "token2wav_config", "code2wav_config", "speech_config"};
    read_tower(wrapper, "vision_config", draft);
    read_tower(wrapper, "audio_config", draft);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (ppi_json_in_use(ppi_field(wrapper, others[i])))
            ppi_draft_warn(draft, draft->is_start ? "%s" : "what %s describes is not known, and not counted", others[i]);
}
