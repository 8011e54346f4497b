/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of Hugging Face's config.json, by what they say here. From the configuration classes of transformers 5.23 for
 * causal language models and the texts of multimodal ones, and from the files of families whose classes come with the model. */
#include "description/known_fields.h"

#include <string.h>

#include "base/format.h"

enum { MOST_NAMES = 6, LINE = 320 };

/* In use in a family that does not ask for them, they are refused. Names in lines, sorted. */
static const char *const structure[] = {
    "H_cycles L_bp_cycles L_cycles _sliding_window_pattern activation_sparsity_pattern adapter_rank add_bias_linear",
    "add_cross_attention add_full_attention_sink_bias add_out_norm add_qkv_bias add_swa_attention_sink_bias",
    "additional_vocab_size allow_neg_eigval altup_active_idx altup_coef_clip altup_correct_scale altup_num_inputs",
    "apply_residual_connection_post_layernorm attention_bias attention_chunk_size attention_head_dim attention_head_size",
    "attention_heads attention_hidden_size attention_k_eq_v attention_layers attention_other_setting attention_out_bias",
    "attention_output_gate attention_sinks attention_type attention_types attention_window_size attn_cfg attn_config",
    "attn_hidden_size attn_layer_idx attn_layer_indices attn_layer_offset attn_layer_period attn_layers attn_output_gate",
    "attn_res_block_size attn_type attn_type_list attn_window_size backbone_hidden_size bias block_auto_adjust_ff_dim",
    "block_configs block_ffn_dim_multiplier block_multiple_of block_type block_types cca_time0 cca_time1",
    "chain_hidden_post_norm chunk_size_lm_head cla_share_factor compress_rates compress_ratios conv1d_width conv_L_cache",
    "conv_bias conv_kernel conv_kernel_size conv_kernel_sizes cross_attention_hidden_size cross_attention_layers",
    "cross_layer_attention d_conv d_ff d_head d_inner d_intermediate d_kv d_model d_rel d_state decoder_sparse_step",
    "dense_ffn_hidden_size dense_intermediate_size dense_layers_ids dff dim_ff dim_head draft_vocab_size",
    "dual_chunk_attention_config eagle_aux_hidden_state_layer_ids eagle_config emb_dim embed_dim embedding_dim",
    "embedding_fraction enable_bias enable_moe_block expand expand_k expand_v expansion_ratio expert_ffn_hidden_size",
    "expert_interval expert_layer_offset expert_layer_period experts_per_token feed_forward_size ffn_config ffn_dim",
    "ffn_hidden_size ffn_multipliers ffn_proj_factor ffn_round_up_to_multiple_of first_dense_layers first_k_dense_replace",
    "full_attention_idxs full_attention_interval full_attention_layers full_attn_alpha_factor full_attn_beta_factor",
    "full_attn_idxs full_attn_layers gated_attention gated_norm_rank gating global_attention_every_n_layers",
    "global_attention_layers global_attn_every_n_layers global_attn_idx global_head_dim hc_count hc_eps hc_lowrank",
    "hc_magnitude hc_mult hc_sinkhorn_iters head_dim heads_per_ngram hidden_mamba_act hidden_size_per_layer_input",
    "hybrid_block_size hybrid_layer_pattern hybrid_override_pattern index_block_size index_head_dim index_kpool",
    "index_kpool_always_select_tail index_local_blocks index_n_heads index_skip_topk_offset index_topk index_topk_blocks",
    "index_topk_freq index_topk_pattern indexer_budget indexer_compress_ratio indexer_head_dim indexer_kv_heads",
    "indexer_n_heads indexer_types input_embedding_size interleave_moe_layer_step intermediate_multiple_size",
    "intermediate_size intermediate_size_mlp intermediate_size_per_layer is_encoder_decoder is_moe kda_layers",
    "kda_lower_bound kda_safe_gate keep_window_size kv_channels kv_lora_rank kv_reuse_every_i_layer kv_reuse_group",
    "kv_source_layers lambda_std_dev latent_moe_use_norm laurel_rank layer_group_size layer_types layers_block_type",
    "learnable_sink_init lightning_attention linear_a_log_max linear_a_log_min linear_allow_neg_eigval",
    "linear_attention_layers linear_attn_alpha_factor linear_attn_beta_factor linear_attn_config linear_conv_kernel_dim",
    "linear_dt_init_floor linear_dt_max linear_dt_min linear_head_dim linear_key_head_dim linear_layers",
    "linear_lower_bound linear_num_heads linear_num_key_heads linear_num_value_heads linear_value_head_dim lm_head_bias",
    "local_attention local_attention_window local_attention_window_len local_attn_chunk_length local_layer_ids lru_width",
    "mamba_chunk_size mamba_conv_bias mamba_d_conv mamba_d_head mamba_d_ssm mamba_d_state mamba_dt_rank mamba_expand",
    "mamba_head_dim mamba_hidden_act mamba_layers mamba_n_groups mamba_n_heads mamba_ngroups mamba_norm_before_gate",
    "mamba_num_heads mamba_proj_bias mamba_rms_norm mamba_ssm_cache_dtype medusa_num_heads medusa_num_layers",
    "mhc_num_residual_streams mixer_type mixer_types mla_use_output_gate mlp_bias mlp_gate_softcap mlp_hidden_act",
    "mlp_hidden_size mlp_layer_types mlp_only_layers moba_block_size moba_topk moe_apply_router_weight_on_input",
    "moe_ffn_hidden_size moe_hidden_size moe_intermediate_size moe_intermediate_size_per_layer moe_k moe_latent_size",
    "moe_layer_end_index moe_layer_freq moe_layer_ids moe_layer_interval moe_layer_start_index moe_layers moe_layers_enum",
    "moe_layers_ids moe_num_experts moe_num_shared_experts moe_router_enable_expert_bias",
    "moe_shared_expert_intermediate_size moe_shared_expert_num moe_shared_expert_overlap moe_top_k moe_top_k_per_layer",
    "moe_topk mtp_hidden_states_first mtp_hybrid_override_pattern mtp_layer_types mtp_layers_block_type",
    "mtp_local_layer_ids mtp_mlp_layer_types mtp_num_hidden_layers mtp_num_layers mtp_transformer_layers",
    "mtp_use_dedicated_embeddings multi_query multi_query_attention multi_query_group_num n_embd n_groups n_head n_heads",
    "n_inner n_kv_head n_kv_heads n_layer n_layers n_layers_per_attn_res_block n_mamba_heads n_routed_experts",
    "n_shared_experts n_words new_decoder_architecture ngram_size ngram_vocab_size_base norm_after norm_bias",
    "normalize_qk_projections nsa_block_size nsa_config num_attention_groups num_attention_heads_per_layer num_attn_heads",
    "num_blocks num_conv_layers num_decoder_attention_heads num_decoder_layers num_dense_layers",
    "num_encoder_attention_heads num_encoder_layers num_experts num_experts_per_tok num_experts_per_token",
    "num_global_key_value_heads num_gqa_groups num_hash_layers num_hashes num_heads_kv num_key_value_heads",
    "num_key_value_heads_per_layer num_kv_heads num_kv_shared_layers num_layers num_layers_per_stack",
    "num_ln_in_parallel_attn num_local_experts num_mem_blocks num_memory_tokens num_mtp_layers num_mtp_modules",
    "num_nextn_predict_layers num_query_heads num_random_blocks num_residual_streams num_selects num_shared_expert",
    "num_shared_experts num_sliding_attention_heads num_ssm_heads num_swa_attention_heads num_swa_key_value_heads",
    "o_groups o_lora_rank output_embedding_size output_gate_type parallel_attn per_layer_config ple_conv_kernel_size",
    "ple_embed_dim ple_layer_ids post_mlp_layernorm post_self_attn_layernorm prefix_dense_intermediate_size",
    "prefix_dense_sliding_window_pattern pruned_heads q_lora_rank qk_dim_factor qk_head_dim qk_layernorm qk_nope_head_dim",
    "qk_norm_type qk_rope_head_dim qkv_bias qkv_multipliers rel_extent relative_attention_max_distance",
    "relative_attention_num_buckets relative_max_distance routed_expert_hidden_size router_hidden_size sconv_kernel_size",
    "share_expert_dim share_expert_dims share_input_output_layers share_q_dim shared_expert_combination_strategy",
    "shared_expert_gate shared_expert_intermediate_size shared_expert_sink shared_experts_intermediate_size",
    "shared_intermediate_size short_conv_kernel_size sliding_window sliding_window_layers sliding_window_pattern",
    "sliding_window_size sparse_attention_config sparse_config ssm_cfg ssm_in_multiplier ssm_layers ssm_multipliers",
    "ssm_out_multiplier ssm_state_size state_size swa_head_dim swa_num_attention_heads swa_num_key_value_heads",
    "swa_v_head_dim swiglu_alpha swiglu_limit swiglu_limits swiglu_limits_shared target_hidden_size time_step_floor",
    "time_step_init_scheme time_step_limit time_step_max time_step_min time_step_rank time_step_scale token_mixers",
    "top_k_experts unpadded_vocab_size use_attention_gate use_beta use_bias use_bidirectional_attention use_cla",
    "use_conv_bias use_conv_swa use_double_wide_mlp use_expert_bias use_full_rank_gate use_gate use_gated_attention",
    "use_head_wise_attn_gate use_learned_position_embeddings use_lightning_attention use_mamba_kernels use_mambapy",
    "use_mem_rope use_mixed_mlp_moe use_moe use_mtp use_nsa use_post_norm use_qk_norm use_qkv_bias use_repmixer_blocks",
    "use_routing_bias use_sandwich_norm use_shared_attention_adapter use_shared_expert_gate use_short_conv",
    "use_sliding_window v_dim_factor v_head_dim vocab_size_per_layer_input weight_tying window_size word_embed_proj_dim",
    "zero_expert_num",
};

/* They pass. */
static const char *const harmless[] = {
    "_attn_implementation activation activation_dropout activation_function afn alibi apply_spec_augment architectures",
    "asm att_impl_type attention_dropout attention_in_multiplier attention_method attention_multiplier",
    "attention_out_multiplier attention_probs_dropout_prob attention_sink_size attention_softmax_in_fp32",
    "attention_value_scale attn_implementation attn_logit_softcapping attn_pdrop attn_scale attn_temperature_tuning",
    "auto_map autocast_kernel_dtype aux_loss_alpha aux_loss_coef bad_words_ids batch_norm_eps bf16 bos_index",
    "cache_implementation centroid_intermediate_top_k chunk_size_feed_forward chunkwise_kernel clamp_len",
    "classifier_activation classifier_bias classifier_dropout classifier_dropout_prob classifier_proj_size clip_qkv",
    "compress_rope_theta compression_config context_length context_window_size dense_act_fn dim_model_base",
    "diversity_penalty do_layer_norm_before do_sample dropout dropout_p dropout_rate dtype early_stopping emb_pdrop",
    "embd_pdrop embed_dropout embed_init_std embedding_dropout embedding_initializer_range embedding_multiplier",
    "embedding_scale enable_moe_fp32_combine end_n_top eos_index ep_size eps expert_dtype expert_selection_fn",
    "exponential_decay_length_penalty ff_activation ffn_with_glu final_logit_softcapping finetuning_task flash_attn",
    "floor_scale fp16 fp32 gate_soft_cap gelu_activation gradient_checkpointing hidden_act hidden_activation",
    "hidden_dropout hidden_dropout_prob id2label inference_state_dtype init_device init_std initial_context_length",
    "initializer_cutoff_factor initializer_factor initializer_range input_jitter_noise is_causal is_decoder",
    "is_llama_config key_multiplier label2id label_smoothing layer_norm_elementwise_affine layer_norm_eps",
    "layer_norm_epsilon layer_rope_theta layerdrop layernorm_embedding layernorm_epsilon learned_pos_emb length_penalty",
    "lm_head_multiplier log_scaling_alpha log_scaling_n_floor logit_scale logits_mup_width_multiplier logits_scaling",
    "logits_soft_cap logits_to_keep make_ngram_vocab_size_divisible_by mask_feature_length mask_feature_min_masks",
    "mask_feature_prob mask_index mask_time_length mask_time_min_masks mask_time_prob max_batch_size",
    "max_inference_chunksize max_length max_position_embeddings max_seq_len max_sequence_length max_window_layers",
    "median_filter_width mem_len min_length min_p mixer_rms_eps mla_scale_kv_lora mla_scale_q_lora mlp_alpha_factor",
    "mlp_beta_factor mlp_dropout mlp_init_std mlp_multipliers mlp_up_softcap mm_tokens_per_image mode model_max_length",
    "model_type moe_norm_min moe_routed_scaling_factor moe_router_activation moe_router_logit_softcapping",
    "moe_router_scaling_factor mrope_section mtp_loss_scaling_factor mup_enabled n_ctx n_group n_positions name_or_path",
    "need_fp32_gate neftune_noise_alpha no_bias no_repeat_ngram_size no_rope_layer_interval no_rope_layers norm_eps",
    "norm_epsilon norm_expert_weight norm_head norm_reduction_force_float32 norm_softmax norm_topk_prob norm_type",
    "num_beam_groups num_beams num_expert_groups num_limited_groups num_logits_to_keep num_return_sequences",
    "org_vocab_size original_max_position_embeddings output_attentions output_dropout output_hidden_states",
    "output_logit_soft_cap output_multiplier output_router_logits output_scores pad_id pad_index partial_rotary_factor",
    "partial_rotary_factors pipeline_parallel_size pooling_epsilon position_embedding_type post_layer_norm post_norm_eps",
    "prefill_chunk_size prefix pretraining_tp problem_type projection_hidden_act qk_l2_clip_threshold qk_scale_factor",
    "quantization_config query_pre_attn_scalar rel_l2_clip_threshold remove_invalid_values reorder_and_upcast_attn",
    "repetition_penalty rescale_embeddings rescale_every rescale_prenorm_residual resid_dropout resid_pdrop",
    "residual_dropout residual_gate_temperature residual_in_fp32 residual_multiplier return_dict return_dict_in_generate",
    "return_last_states reuse_len rms_norm rms_norm_eps rms_norm_eps_moe_gate rmsnorm rope_interleave rope_interleaved",
    "rope_local_base_freq rope_parameters rope_scaling rope_scaling_layers rope_theta rotary_dim rotary_emb_base",
    "rotary_pct rotary_percent rotary_value route_norm route_scale routed_scaling_factor router_aux_loss_coef",
    "router_dtype router_jitter_noise router_scaling_factor same_length scale_attention_softmax_in_fp32",
    "scale_attn_by_inverse_layer_idx scale_attn_weights scale_depth scale_emb scale_embedding scale_sqrt_depth score_func",
    "score_function scoring_func seed seq_aux seq_len seq_length sequence_kernel sinusoidal_embeddings slow_but_exact",
    "softmax_in_fp32 split_ngram_parts start_n_top step_kernel summary_activation summary_first_dropout",
    "summary_hidden_size summary_last_dropout summary_type summary_use_proj swa_rope_theta task_specific_params",
    "temperature tensor_model_parallel_size tensor_parallel_shards tensor_parallel_size tf_legacy_loss",
    "tie_encoder_decoder tokenizer_class top_k top_p topk_group topk_method torch_dtype torchscript",
    "transformers.js_config transformers_version typical_p unk_index unsloth_fixed unsloth_version use_associative_scan",
    "use_bfloat16 use_cache use_dynamic_ntk use_fast use_flash_attention_2 use_flash_attn use_grouped_mm use_logn_attn",
    "use_long_context use_mem_eff_path use_mems_eval use_mems_train use_mrope use_ordered_embeddings",
    "use_parallel_residual use_prompt use_return_dict w_init_variance_scale weight_mode yarn_only_types",
    "z_loss_coefficient zero_expert_type",
};

/* Of configs with several in them: how the parts are put together. */
static const char *const joints[] = {
    "downsample_ratio dynamic_image_size force_image_size ignore_index image_grid_pinpoints image_seq_length image_size",
    "image_token_len max_dynamic_patch merged_hidden_size min_dynamic_patch mm_tokens_per_image multimodal_projector_bias",
    "pad2square patch_token_len position_id_per_seconds projection_layer_norm_eps projector_bias projector_hidden_act",
    "ps_version seconds_per_chunk select_layer spatial_merge_size template understand_projector_stride use_backbone_lora",
    "use_image_newline_parameter use_llm_lora use_thumbnail use_unified_vision_chunk video_placeholder",
    "vision_aspect_ratio vision_feature_layer vision_feature_select_strategy vision_soft_tokens_per_image",
};

/* Activations of an MLP without a gate. */
static const char *const ungated[] = {"relu2", "relu_squared", "squared_relu", "xielu"};
static const char *const harmless_endings[] = {"_token_id", "_token_index", "_token_ids", "_token",
                                               "_tokens",   "_label",       "_labels"};

/* --- tables --- */

/* Whether a word comes before the first word of a line, in the order of the lines. */
static bool is_before(const char *name, size_t length, const char *line)
{
    int order = strncmp(name, line, length);
    return order < 0 || (order == 0 && line[length] != ' ' && line[length] != '\0');
}

/* Whether the sorted lines have this word: it can be only in the last line that does not begin after it. */
static bool is_in(const char *const *lines, size_t count, const char *name)
{
    size_t length = strlen(name), low = 0;
    for (size_t high = count; low < high;) {
        size_t middle = (low + high) / 2;
        if (is_before(name, length, lines[middle]))
            high = middle;
        else
            low = middle + 1;
    }
    if (low == 0 || length == 0 || strchr(name, ' ') != NULL)
        return false;
    const char *line = lines[low - 1];
    for (const char *at = strstr(line, name); at != NULL; at = strstr(at + length, name))
        if ((at == line || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

#define IS_IN(names, name) is_in(names, sizeof(names) / sizeof *(names), name)

bool ppi_is_structure(const char *name)
{
    return IS_IN(structure, name);
}

bool ppi_is_harmless(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof harmless_endings / sizeof *harmless_endings; i++) {
        size_t ending = strlen(harmless_endings[i]);
        if (length > ending && strcmp(name + length - ending, harmless_endings[i]) == 0)
            return true;
    }
    return name[0] == '_' || IS_IN(harmless, name);
}

/* --- lists of names --- */

void ppi_add_name(char *line, size_t size, uint32_t count, const char *name)
{
    size_t used = count == 0 ? 0 : strlen(line);
    if (count < MOST_NAMES)
        ppi_print(line + used, size - used, count > 0 ? ", %q" : "%q", name);
    else if (count == MOST_NAMES)
        ppi_print(line + used, size - used, " and more");
}

/* The names of members that the family has not asked for and that are in use, of those which `belongs` takes. Their number. */
static uint32_t list_names(const struct ppi_fields *fields, bool (*belongs)(const struct ppi_fields *, uint32_t),
                           char line[LINE])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < fields->object->count; i++)
        if (!fields->asked[i] && ppi_json_in_use(&fields->object->items[i]) && belongs(fields, i))
            ppi_add_name(line, LINE, count++, fields->object->keys[i]);
    return count;
}

/* --- checks --- */

static bool is_in_use(const struct ppi_fields *fields, const char *name)
{
    return ppi_json_in_use(ppi_json_member_of(fields->object, name));
}

static bool is_truth(const struct ppi_fields *fields, const char *name, bool truth)
{
    const struct ppi_json_value *value = ppi_json_member_of(fields->object, name);
    return value != NULL && value->type == PPI_JSON_BOOL && value->truth == truth;
}

static bool is_asked(const struct ppi_fields *fields, const char *name)
{
    for (uint32_t i = 0; i < fields->object->count; i++)
        if (strcmp(fields->object->keys[i], name) == 0)
            return fields->asked[i];
    return false;
}

static bool is_foreign(const struct ppi_fields *fields, uint32_t member)
{
    return ppi_is_structure(fields->object->keys[member]);
}

static bool is_unknown(const struct ppi_fields *fields, uint32_t member)
{
    const char *name = fields->object->keys[member];
    return !ppi_is_structure(name) && !ppi_is_harmless(name);
}

/* Whether a block of the draft has this property. */
static bool has_flag(const struct ppi_draft *draft, uint32_t flag)
{
    for (uint32_t i = 0; i < draft->info.kind_count; i++)
        for (uint32_t block = 0; block < draft->kinds[i]->block_count; block++)
            if ((draft->kinds[i]->blocks[block]->flags & flag) != 0)
                return true;
    return false;
}

static void refuse(struct ppi_fields *fields, const char *names, bool is_one)
{
    ppi_fields_fail(fields, "%s %s in use, but a %s does not have %s, so %s would not be counted; " PPI_INSTEAD, names,
                    is_one ? "is" : "are", fields->family, is_one ? "it" : "them", is_one ? "it" : "they");
}

/* What says that layers are others without being in use: queries that see all tokens, norms with a bias, a last projection
 * without the bias of the others. */
static void check_signs(struct ppi_fields *fields, const struct ppi_draft *draft, bool is_gated)
{
    static const char *const norms[] = {"layer_norm_eps", "layer_norm_epsilon"};
    bool has_rms = is_in_use(fields, "rms_norm_eps") || (draft->info.flags & PPSCHED_DESCRIPTION_FLAG_NORM_BIAS) != 0;
    if (is_truth(fields, "is_causal", false) && (draft->info.flags & PPSCHED_DESCRIPTION_FLAG_NOT_CAUSAL) == 0)
        ppi_fields_fail(fields, "is_causal is false, but the layers of a %s are causal; " PPI_INSTEAD, fields->family);
    if (is_truth(fields, "attention_out_bias", false) && is_truth(fields, "attention_bias", true) &&
        !is_asked(fields, "attention_out_bias") && has_flag(draft, PPSCHED_BLOCK_FLAG_OUTPUT_BIAS))
        ppi_fields_fail(fields, "attention_out_bias is false, but attention_bias of a %s includes that bias; " PPI_INSTEAD,
                        fields->family);
    for (size_t i = 0; i < sizeof norms / sizeof *norms && is_gated && !has_rms; i++)
        if (is_in_use(fields, norms[i]) && !is_asked(fields, norms[i]))
            refuse(fields, norms[i], true);
}

static void check_activation(struct ppi_fields *fields, bool is_gated)
{
    static const char *const names[] = {"hidden_act", "hidden_activation"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *given = ppi_text_or(fields, names[i], NULL);
        for (size_t other = 0; other < sizeof ungated / sizeof *ungated && given != NULL && is_gated; other++)
            if (strcmp(given, ungated[other]) == 0)
                ppi_fields_fail(fields, "%s is %s, which needs an MLP without a gate; that of a %s has one; " PPI_INSTEAD,
                                names[i], given, fields->family);
    }
}

void ppi_check_fields(struct ppi_fields *fields, struct ppi_draft *draft)
{
    char line[LINE] = "";
    bool is_gated = has_flag(draft, PPSCHED_BLOCK_FLAG_GATED);
    if (fields->status != PPSCHED_OK)
        return;
    uint32_t foreign = list_names(fields, is_foreign, line);
    if (foreign > 0)
        refuse(fields, line, foreign == 1);
    check_signs(fields, draft, is_gated);
    check_activation(fields, is_gated);
    uint32_t unknown = fields->status == PPSCHED_OK ? list_names(fields, is_unknown, line) : 0;
    if (unknown > 0)
        ppi_draft_warn(draft, "%s %s not known, and not counted", line, unknown == 1 ? "is" : "are");
}

/* --- configs with several in them --- */

static bool is_equal_value(const struct ppi_json_value *one, const struct ppi_json_value *other)
{
    if (other == NULL || one->type != other->type || one->count != other->count)
        return false;
    if (one->type == PPI_JSON_TEXT)
        return strcmp(one->text, other->text) == 0;
    if (one->type == PPI_JSON_NUMBER || one->type == PPI_JSON_BOOL)
        return one->type == PPI_JSON_BOOL ? one->truth == other->truth : one->number == other->number;
    for (uint32_t i = 0; i < one->count; i++)
        if (!is_equal_value(&one->items[i],
                            one->type == PPI_JSON_OBJECT ? ppi_json_member_of(other, one->keys[i]) : &other->items[i]))
            return false;
    return true;
}

void ppi_check_wrapper(struct ppi_fields *wrapper, const struct ppi_json_value *text, struct ppi_draft *draft)
{
    char line[LINE] = "";
    uint32_t count = 0;
    for (uint32_t i = 0; i < wrapper->object->count && wrapper->status == PPSCHED_OK; i++) {
        const char *name = wrapper->object->keys[i];
        const struct ppi_json_value *value = &wrapper->object->items[i];
        bool is_known = wrapper->asked[i] || ppi_is_harmless(name) || IS_IN(joints, name) || !ppi_json_in_use(value);
        if (is_known || is_equal_value(value, ppi_json_member_of(text, name)))
            continue;
        if (draft->is_start)
            ppi_draft_warn(draft, "%s", name);
        else
            ppi_add_name(line, sizeof line, count++, name);
    }
    if (count > 0)
        ppi_draft_warn(draft, "%s %s outside the text's own fields, and not counted", line, count == 1 ? "is" : "are");
}
