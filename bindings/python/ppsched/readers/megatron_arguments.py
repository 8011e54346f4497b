# SPDX-License-Identifier: Apache-2.0
"""Megatron-LM's arguments that are not counted, by what they would change."""
from typing import Any, Dict, NamedTuple

RELEASE = "0.20.0, d98e8a6"  # Megatron-LM's; names and defaults are from its argument parser and its config classes


class Argument(NamedTuple):
    """effect: "refused" if it changes parameters, operations or kinds of layers; "not taken" if it changes times or memory in another
    way; else "nothing". default: the launcher's default, which has no effect. only: the values that have an effect; empty: all but the default."""

    effect: str
    default: Any
    release: str
    only: Any = ()


REFUSED: Dict[str, Any] = {
    "gdp_num_householder": 3, "qk_l2_norm": False,
    "moe_expert_rank_capacity_factor": None, "moe_token_dropping": False, "heterogeneous_layers_config_path": None, "heterogeneous_layers_config_encoded_json": None,
    "heterogeneous_block_specs": False, "enable_mhc_connections": False, "mhc_num_residual_streams": 4,
    "mhc_sinkhorn_iterations": 20, "mtp_use_repeated_layer": False, "mtp_hsm": False, "freeze_all_layers": False,
    "decoder_num_layers": None, "decoder_seq_length": None, "yaml_cfg": None,
}

# Accepted with one warning that lists those that the file sets.
NOT_TAKEN: Dict[str, Any] = {
    "account_for_embedding_in_pipeline_split": False, "account_for_loss_in_pipeline_split": False,
    "activation_func_fp8_input_store": False, "activation_offload_fraction": 1.0, "cpu_offloading": False,
    "cpu_offloading_activations": False, "cpu_offloading_num_layers": 0, "cpu_offloading_weights": False,
    "dataloader_inter_document_masking": False, "decoder_first_pipeline_num_layers": None,
    "decoder_last_pipeline_num_layers": None, "defer_embedding_wgrad_compute": False, "delay_wgrad_compute": False,
    "distribute_saved_activations": False, "enable_full_sharding_in_hsdp": False, "ep_overlap_early_attn_memory_release": False,
    "expert_gtp_weight_remat_size": 1, "expert_tensor_parallel_num_weight_shards": None,
    "fine_grained_activation_offloading": False, "fp32_residual_connection": False, "fp4": None, "fp4_format": None,
    "fp4_param": False, "fp4_param_gather": False, "fp8": None, "fp8_format": None, "fp8_param": False,
    "fp8_param_gather": False, "fsdp_double_buffer": False, "gtp_weight_remat_size": 1,
    "hierarchical_context_parallel_sizes": None, "hybrid_context_parallel": False, "kitchen_config_file": None,
    "kitchen_recipe_number": None, "mhc_recompute_layer_num": None, "microbatch_group_size_per_virtual_pipeline_stage": None,
    "microbatch_group_size_per_vp_stage": None, "mlp_chunks_for_training": 1, "moe_combine_bwd_dtype": "bf16",
    "moe_dispatch_fwd_dtype": "bf16", "moe_layer_recompute": False, "moe_paged_stash": False,
    "moe_shared_expert_overlap": False, "mtp_detach_heads": False, "num_distributed_optimizer_instances": 1,
    "num_layers_in_first_pipeline_stage": None, "num_layers_in_last_pipeline_stage": None,
    "num_microbatches_with_partial_activation_checkpoints": None, "offload_modules": [], "optimizer": "adam",
    "optimizer_cpu_offload": False, "optimizer_offload_fraction": 1.0, "outer_dp_sharding_strategy": "no_shard",
    "overlap_dispatch_backward_with_experts_wgrad": False, "overlap_grad_reduce": False,
    "overlap_moe_expert_parallel_comm": False, "overlap_param_gather": False, "overlap_param_gather_with_optimizer_step": False,
    "perform_rl_step": False, "pipeline_model_parallel_layout": None, "quant_recipe": None, "rampup_batch_size": None,
    "recompute_modules": None, "step_batch_size_schedule": None, "te_precision_config_file": None,
    "tensor_parallel_num_weight_shards": None, "torch_fsdp2_no_reshard_after_forward": False,
    "torch_fsdp2_reshard_after_forward": True, "tp_comm_overlap": False, "use_layer_wise_distributed_optimizer": False,
    "use_tp_pp_dp_mapping": False,
}

# The same, but only for these values: attention scores that are stored, an all-gather of tokens for experts, an all-to-all of heads
# for context parallelism, and other data types than those assumed for Megatron-FSDP.
NOT_TAKEN_ONLY: Dict[str, Any] = {
    "transformer_impl": ("local",), "attention_backend": ("local", "unfused", "AttnBackend.local", "AttnBackend.unfused"),
    "moe_token_dispatcher_type": ("allgather",), "cp_comm_type": ("a2a", "a2a+p2p", ["a2a"], ["a2a+p2p"]),
    "megatron_fsdp_main_grads_dtype": ("auto", "bf16", "fp16", "torch.bfloat16", "torch.float16"),
    "megatron_fsdp_main_params_dtype": ("auto", "bf16", "fp16", "torch.bfloat16", "torch.float16"),
}

# Arguments of earlier releases, with their defaults.
OLDER: Dict[str, Argument] = {
    "hybrid_attention_ratio": Argument("refused", 0.0, "0.16.0"), "hybrid_mlp_ratio": Argument("refused", 0.0, "0.16.0"),
    "batch_size": Argument("refused", None, "1.0"), "model_parallel_size": Argument("refused", None, "1.0"),
    "checkpoint_activations": Argument("refused", False, "2.6"),
}

NOTHING = """
dsa_indexer_k_norm_epsilon dsa_indexer_k_norm_fp32 dsa_indexer_loss_coeff dsa_indexer_rope_interleaved dsa_indexer_rotate_activation
dsa_indexer_scoring_relu dsa_indexer_use_sparse_loss dsa_kernel_backend
DDP_impl _is_global_batch_size_explicitly_specified activation_func activation_func_clamp_value adam_beta1 adam_beta2 adam_eps
adlr_autoresume adlr_autoresume_interval align_grad_reduce align_param_gather allow_ambiguous_pad_tokens app_tag_run_name
app_tag_run_version apply_layernorm_1p apply_query_key_layer_scaling apply_residual_connection_post_layernorm
apply_rope_fusion apply_wd_to_qk_layernorm async_ckpt_cpu_priority async_ckpt_io_priority async_ckpt_use_cpu_shm async_save
async_strategy attention_softmax_in_fp32 auto_detect_ckpt_format autocast_dtype barrier_with_L1_time batch_invariant_backend
batch_invariant_mode batch_p2p_comm batch_p2p_sync bert_binary_head bert_embedder_type bert_load bert_no_binary_head beta_fast
beta_slow bias_activation_fusion bias_dropout_fusion bias_gelu_fusion bias_swiglu_fusion biencoder_projection_dim
biencoder_shared_query_context_model block_data_path cache_mla_latents calc_ft_timeouts calculate_per_token_loss chat_template
check_for_large_grads check_for_nan_in_loss check_for_nan_in_loss_and_grad check_for_spiky_loss
check_weight_hash_across_dp_replicas_interval ckpt_assume_constant_structure ckpt_convert_format ckpt_convert_save
ckpt_convert_update_legacy_dist_opt_format ckpt_drop_redundant_extra_state ckpt_format ckpt_fully_parallel_load
ckpt_fully_parallel_load_exchange_algo ckpt_fully_parallel_load_per_rank_objects ckpt_fully_parallel_load_process_group
ckpt_fully_parallel_save ckpt_fully_parallel_save_deprecated ckpt_fully_parallel_save_process_group
ckpt_load_validate_sharding_integrity ckpt_pg_tensors_cache_create ckpt_pg_tensors_cache_path ckpt_step classes_fraction
clip_grad clone_scatter_output_in_embedding config_logger_dir consumed_train_samples consumed_valid_samples
cpu_offloading_double_buffering cpu_offloading_retain_pinned_cpu_buffers create_all_gather_group
create_attention_mask_in_dataloader cross_entropy_fusion_impl cross_entropy_loss_fusion cuda_graph_impl cuda_graph_modules
cuda_graph_retain_backward_graph cuda_graph_scope cuda_graph_scope_deprecated cuda_graph_use_single_mempool
cuda_graph_warmup_steps curr_iteration data_args_path data_cache_path data_impl data_parallel_random_init data_path
data_per_class_fraction data_sharding dataloader_defer_npy_index_mmap dataloader_fast_cache_load dataloader_type
ddp_average_in_collective ddp_bucket_size ddp_num_buckets ddp_pad_buckets_for_high_nccl_busbw
ddp_param_name_patterns_for_fp32_local_accumulation ddp_reduce_scatter_with_fp32_accumulation deallocate_pipeline_outputs
decode_only_cuda_graphs decoupled_lr decoupled_min_lr decrease_batch_size_if_needed delay_offload_until_cuda_graph
delta_offload_bytes_across_pp_ranks deprecated_use_mcore_models deterministic_mode dino_bottleneck_size dino_freeze_last_layer
dino_head_hidden_size dino_local_crops_number dino_local_img_size dino_norm_last_layer dino_teacher_temp
dino_warmup_teacher_temp dino_warmup_teacher_temp_epochs disable_bf16_reduced_precision_matmul disable_gloo_process_groups
disable_jit_fuser disable_mamba_mem_eff_path disable_msc disable_msc_deprecated disable_parameter_transpose_cache
disable_straggler_on_startup disable_symmetric_registration dist_ckpt_format dist_ckpt_format_deprecated
dist_ckpt_optim_fully_reshardable dist_ckpt_save_pre_mcore_014 dist_ckpt_strictness dist_ckpt_workers
distrib_optim_fully_reshardable_mem_efficient distribute_checkpointed_activations distributed_backend
distributed_timeout_minutes distributed_timeout_seconds_after_init dump_param_to_param_group_map embedding_init_method
embedding_init_method_std embedding_path empty_unused_memory_level enable_autocast enable_chunked_prefill enable_cuda_graph
enable_experimental enable_ft_package enable_msc enable_one_logger end_weight_decay eod_mask_loss error_injection_rate
error_injection_type eval_global_batch_size eval_interval eval_iters eval_micro_batch_size evidence_data_path
exit_duration_in_mins exit_interval exit_on_missing_checkpoint exit_signal exit_signal_handler
exit_signal_handler_for_dataloader exit_signal_handler_for_training experimental_attention_variant_loss_scale_func
external_cuda_graph fake_process_group fault_injector_delay_start_iteration fault_injector_fault_delay
fault_injector_fault_probabilities fault_injector_fault_types fault_injector_mtti_seconds fault_injector_num_ranks
fault_injector_offset_seconds fault_injector_ranks fault_injector_seed filter_warnings fim_data fim_eod_token
fim_fragment_rate fim_middle_token fim_no_prefix fim_pad_token fim_prefix_token fim_rate fim_split_sample fim_spm_rate
fim_suffix_token finalize_model_grads_func fine_grained_offloading_max_inflight_offloads finetune first_last_layers_bf16
flash_attention_version flash_decode flight_recorder_dump_on_timeout flight_recorder_dump_path
flight_recorder_extra_dump_on_exec flight_recorder_include_only_active flight_recorder_include_stack_trace
flight_recorder_trace_buffer_size fp16_lm_cross_entropy fp4_quantizer_factory fp4_recipe fp8_amax_compute_algo
fp8_amax_history_len fp8_dot_product_attention fp8_interval fp8_margin fp8_multi_head_attention fp8_output_proj
fp8_quantizer_factory fp8_recipe fp8_wgrad fsdp_db_use_persist_buf_on_alloc_fail fsdp_manual_registration ft_num_warmup_iters
full_validation fully_parallel_load fully_parallel_save fused_residual_rmsnorm fused_single_qkv_rope gdp_cutedsl_kernel
gdp_num_chunk_states_to_recompute glu_linear_offset gpu_sniff_test_interval grad_scale_func grad_sync_func
gradient_accumulation_fusion gradient_reduce_div_fusion grpo_clamp_eps_lower grpo_clamp_eps_upper grpo_entropy_term_weight
grpo_filter_groups_with_same_reward grpo_group_size grpo_iterations grpo_kl_beta grpo_prompts_per_step
gtp_expert_remat_nccl_ub gtp_remat_nccl_ub gtp_remat_opt_in_modules gtp_remat_reduce_scatter_with_fp32_accumulation
head_lr_mult high_priority_a2a_comm_stream high_priority_stream_groups hysteresis ict_head_size ict_load img_h img_w
indexer_batch_size indexer_log_interval inference_batch_times_seqlen_threshold inference_coordinator_port
inference_cuda_graph_all_prefills inference_cuda_graph_max_tokens inference_cuda_graph_scope inference_disable_ep_consensus
inference_disable_triton_nvls_kernels inference_dynamic_batching inference_dynamic_batching_async_sched_mode
inference_dynamic_batching_block_size inference_dynamic_batching_buffer_size_gb
inference_dynamic_batching_cuda_graph_mixed_prefill_count inference_dynamic_batching_cuda_graph_sizing_distribution
inference_dynamic_batching_enable_prefix_caching inference_dynamic_batching_logprobs_mode
inference_dynamic_batching_mamba_memory_ratio inference_dynamic_batching_max_requests inference_dynamic_batching_max_tokens
inference_dynamic_batching_num_cuda_graphs inference_dynamic_batching_paused_buffer_size_gb
inference_dynamic_batching_prefix_caching inference_dynamic_batching_prefix_caching_coordinator_policy
inference_dynamic_batching_prefix_caching_eviction_policy inference_dynamic_batching_prefix_caching_mamba_gb
inference_dynamic_batching_prefix_caching_routing_alpha inference_dynamic_batching_sampling_backend
inference_dynamic_batching_track_generated_token_events inference_dynamic_batching_track_paused_request_events
inference_dynamic_batching_unified_memory_level inference_fuse_tp_communication inference_grouped_gemm_backend
inference_logging_step_interval inference_max_requests inference_max_seq_length inference_moe_disable_fused_quant_kernels
inference_moe_token_dispatcher_type inference_rng_tracker inference_sampling_seed inference_shards
inference_text_gen_server_logging inference_use_synchronous_zmq_collectives inference_wandb_logging init_method
init_method_std init_method_xavier_uniform init_model_with_meta_device initial_loss_scale inprocess_active_world_size
inprocess_barrier_timeout inprocess_completion_timeout inprocess_empty_cuda_cache inprocess_granularity inprocess_hard_timeout
inprocess_heartbeat_interval inprocess_heartbeat_timeout inprocess_last_call_wait inprocess_max_iterations
inprocess_monitor_process_interval inprocess_monitor_thread_interval inprocess_progress_watchdog_interval inprocess_restart
inprocess_soft_timeout inprocess_termination_grace_time iter_per_epoch iteration iterations_to_skip keep_fp8_transpose_cache
kitchen_attention_backend langrl_env_config layernorm_epsilon layernorm_zero_centered_gamma lazy_mpu_init lion_beta1
lion_beta2 load load_main_params_from_ckpt load_optim load_rng local_rank log_device_memory_used log_energy log_interval
log_l2_norm_grad_to_tensorboard log_loss_scale_to_tensorboard log_max_attention_logit log_memory_interval
log_memory_to_tensorboard log_num_zeros_in_grad log_params_norm log_progress log_runtime_to_tensorboard log_straggler
log_throughput log_throughput_to_tensorboard log_timers_to_tensorboard log_validation_ppl_to_tensorboard
log_world_size_to_tensorboard logging_level logit_dtype logits_load_decode_threads logits_load_dir logits_load_ignore_errors
logits_load_kd_loss_alpha logits_load_msc_prefetch_depth logits_load_prefetch_factor logits_save_dir logits_save_dtype
logits_save_top_k logits_save_top_p logits_save_top_p_min_k loss_scale loss_scale_window lr lr_decay_iters lr_decay_samples
lr_decay_steps lr_decay_style lr_warmup_fraction lr_warmup_init lr_warmup_iters lr_warmup_samples lr_warmup_steps
lr_wsd_decay_iters lr_wsd_decay_samples lr_wsd_decay_style mamba_inference_conv_states_dtype mamba_inference_ssm_states_dtype
mamba_training_ssm_states_dtype manual_gc manual_gc_eval manual_gc_interval mask_factor mask_prob mask_type
masked_softmax_fusion max_seqlen_per_dp_cp_rank max_tokens_to_oom megatron_fsdp_enable_fine_grained_param_gather
megatron_fsdp_grad_comm_dtype megatron_fsdp_max_pool_double_buffer megatron_fsdp_version memory_efficient_layer_norm
memory_keys memory_snapshot_path merge_file metadata_path mhc_init_gating_factor mid_level_dataset_surplus min_loss_scale
min_lr min_offloaded_tensor_size mla_down_proj_fusion mlp_chunks_for_prefill mmap_bin_files mock_data modules_to_filter
moe_apply_probs_on_input moe_aux_loss_coeff moe_deepep_num_sms moe_enable_deepep moe_enable_routing_replay
moe_flex_dispatcher_backend moe_flex_dispatcher_num_sms moe_grad_scale_func moe_grouped_gemm moe_hybridep_num_blocks_permute
moe_hybridep_num_blocks_unpermute moe_hybridep_num_sms moe_hybridep_num_sms_preprocessing
moe_hybridep_pad_uneven_dispatch_inputs moe_input_jitter_eps moe_mlp_glu_interleave_size moe_ncclep_zero_copy
moe_pad_experts_for_cuda_graph_inference moe_paged_stash_buffer_size_factor_cpu moe_paged_stash_buffer_size_factor_cuda
moe_paged_stash_page_size moe_per_layer_logging moe_permute_fusion moe_permute_fusion_into_hybridep
moe_router_bias_update_rate moe_router_dtype moe_router_enable_expert_bias moe_router_force_biased
moe_router_force_load_balancing moe_router_fusion moe_router_group_topk moe_router_load_balancing_type moe_router_num_groups
moe_router_padding_for_fp8 moe_router_padding_for_quantization moe_router_pre_softmax moe_router_quantile_balancing_ema
moe_router_score_function moe_router_topk_limited_devices moe_router_topk_scaling_factor
moe_routing_trace_capture_hidden_states moe_routing_trace_capture_logits moe_routing_trace_dump_weights
moe_routing_trace_max_training_iters moe_routing_trace_path moe_shared_expert_glu_interleave_size moe_single_grouped_bias
moe_single_grouped_weight moe_token_drop_policy moe_upcycling_granularity moe_use_grouped_tensor moe_use_upcycling
moe_z_loss_coeff most_recent_k mrope_section mscale mscale_all_dim mtp_grad_scale_func mtp_loss_scaling_factor mtp_standalone
multiple_validation_sets muon_coefficient_type muon_extra_scale_factor muon_fp32_matmul_prec muon_momentum muon_nesterov
muon_no_split_qkv muon_num_ns_steps muon_scalar_optimizer muon_scale_mode muon_split_qkv muon_tp_mode muon_use_syrk
mup_attn_scale_power mup_base_head_dim mup_base_hidden_size mup_embedding_mult mup_output_mult mup_width_mult
nccl_all_reduce_for_prefill nccl_communicator_config_path nccl_ub no_align_param_gather
no_async_tensor_model_parallel_allreduce no_barrier_with_level_1_timing no_bias_dropout_fusion no_bias_gelu_fusion
no_bias_swiglu_fusion no_check_for_nan_in_loss_and_grad no_ckpt_fully_parallel_save no_contiguous_buffers_in_local_ddp
no_create_attention_mask_in_dataloader no_data_sharding no_gradient_accumulation_fusion no_gradient_reduce_div_fusion
no_initialization no_load_optim no_load_rng no_masked_softmax_fusion no_mmap_bin_files no_one_logger
no_overlap_p2p_communication no_persist_layer_norm no_pin_cpu_grads no_pin_cpu_params no_query_key_layer_scaling no_rope_freq
no_rope_fusion no_save_optim no_save_rng no_sync_func no_use_layer_wise_param_layout no_weight_decay_cond_type
no_yarn_correction_range_round_to_int non_persistent_ckpt_type non_persistent_global_ckpt_dir non_persistent_local_ckpt_algo
non_persistent_local_ckpt_dir non_persistent_save_interval norm_epsilon null_tokenizer_eod_id null_tokenizer_pad_id
num_channels num_classes num_dataset_builder_threads num_layers_at_end_in_bf16 num_layers_at_start_in_bf16
num_speculative_tokens num_workers nvtx_ranges object_storage_cache_path offset_sampling_seed_by_dp_rank one_logger_async
one_logger_project one_logger_run_name onnx_safe openai_gelu optimizer_cuda_graph original_max_position_embeddings
otel_enabled otel_service_name otel_span_groups output_bert_embeddings output_layer_init_method output_logit_dtype
overlap_cpu_optimizer_d2h_h2d overlap_p2p_comm overlap_p2p_comm_warmup_flush overlap_p2p_communication
overlap_p2p_communication_warmup_flush override_ckpt_iteration override_opt_param_scheduler pad_vocab_size param_sync_func
params_dtype patch_dim per_dataset_sequences_path per_split_data_args_path perform_initialization persist_layer_norm
persistent_save_interval phase_transition_iterations pin_cpu_grads pin_cpu_params pipeline_dtype
pipeline_model_parallel_comm_backend pretrained_checkpoint profile profile_ranks profile_step_end profile_step_start
pytorch_profiler_collect_callstack pytorch_profiler_collect_chakra pytorch_profiler_collect_shapes qk_clip qk_clip_alpha
qk_clip_threshold query_in_block_prob rank record_memory_history record_shapes refit_method relative_attention_max_distance
relative_attention_num_buckets replication replication_factor replication_jump rerun_mode reset_attention_mask
reset_position_ids result_rejected_tracker_filename retriever_report_topk_accuracies retriever_score_scaling
reuse_grad_buf_for_mxfp8_param_ag rl_consumption_granularity rl_default_temperature rl_default_top_k rl_default_top_p
rl_durable_rollout_bank rl_generation_lag rl_importance_sampling_truncation_coef rl_inference_expert_model_parallel_size
rl_inference_expert_tensor_model_parallel_size rl_inference_logprobs_is_correction rl_inference_model_unified_memory_level
rl_inference_parsers rl_inference_pipeline_model_parallel_size rl_inference_tensor_model_parallel_size
rl_kv_cache_management_mode rl_max_inflight_requests rl_offload_inference_model_weights_when_idle
rl_offload_optimizer_during_inference rl_partial_rollouts rl_persist_cuda_graphs rl_profile rl_profile_dir rl_prompts_per_eval
rl_rollout_bank_dir rl_rollout_bank_max_bytes rl_sequence_packing_algo rl_sequence_packing_max_sequences_per_bin
rl_skip_bos_token rl_submission_granularity rl_training_cuda_graphs rl_use_sequence_packing rl_verify_model_weights_swap
rope_scaling_factor rope_type rotary_base rotary_interleaved rotary_percent rotary_scaling_factor
rotary_seq_len_interpolation_factor run_workload_inspector_server runtime_time_unit sample_rate save save_activations_interval
save_config_filepath save_dgrads_interval save_interval save_optim save_params_interval save_retain_interval save_rng
save_tokenizer_assets save_tokens_per_expert_interval save_wgrads_interval seed set_level_for_all_loggers sft
sft_tokenizer_prompt_format sgd_momentum sharp_enabled_group short_seq_prob skip_train skipped_train_samples softmax_scale
special_tokens split start_eval_at_iter start_weight_decay straggler_ctrlr_port straggler_minmax_count
strict_fsdp_dtensor_load suggested_communication_unit_size swin_backbone_type symmetric_ar_type te_rng_tracker tensorboard_dir
tensorboard_log_interval tensorboard_queue_size test_data_path test_mode throughput_window_size tiktoken_num_special_tokens
tiktoken_pattern timers timing_log_level timing_log_option titles_data_path tokenizer_hf_no_include_special_tokens
tokenizer_hf_no_use_fast tokenizer_metadata tokenizer_model tokenizer_sentencepiece_ignore_extra_whitespaces
tokenizer_sentencepiece_legacy tokenizer_special_tokens tokenizer_type tp_comm_atomic_ag tp_comm_atomic_rs
tp_comm_bootstrap_backend tp_comm_bulk_dgrad tp_comm_bulk_wgrad tp_comm_overlap_ag tp_comm_overlap_cfg
tp_comm_overlap_disable_fc1 tp_comm_overlap_disable_qkv tp_comm_overlap_rs tp_comm_overlap_rs_dgrad tp_comm_split_ag
tp_comm_split_rs tp_only_amax_red train_data_path train_iters train_samples train_sync_interval
transformer_pipeline_model_parallel_size trust_remote_code use_checkpoint_args use_checkpoint_opt_param_scheduler
use_cpu_initialization use_dist_ckpt use_dist_ckpt_deprecated use_fused_weighted_squared_relu use_gigatoken
use_gloo_process_groups use_grouped_gemm_for_dense_mlp use_grouped_gemm_for_shared_expert use_inference_optimized_layers
use_kitchen use_kitchen_attention use_layer_wise_param_layout use_legacy_models use_legacy_static_engine
use_mamba_mem_eff_path use_mcore_models use_mp_args_from_checkpoint_args use_mup use_nccl_ub use_nsys_profiler
use_one_sent_docs use_persistent_ckpt_worker use_pytorch_profiler use_ring_exchange_p2p use_rope_scaling
use_same_sampling_seed_across_dp_ranks use_sharp use_te_activation_func use_te_rng_tracker
use_tokenizer_model_from_checkpoint_args use_torch_optimizer_for_cpu_offload
use_transformer_engine_op_fuser valid_data_path validation_set_names variable_seq_lengths verify_integrity
vision_backbone_type vision_pretraining vision_pretraining_type vocab_extra_ids vocab_file wandb_entity wandb_exp_name
wandb_project wandb_save_dir warmup wd_incr_steps weight_decay weight_decay_incr_style wgrad_deferral_limit wsd_decay_steps
yarn_beta_fast yarn_beta_slow yarn_correction_range_round_to_int yarn_original_max_position_embeddings
""".split()

ARGUMENTS: Dict[str, Argument] = {
    **{name: Argument("refused", default, RELEASE) for name, default in REFUSED.items()},
    **{name: Argument("not taken", default, RELEASE) for name, default in NOT_TAKEN.items()},
    **{name: Argument("not taken", None, RELEASE, only) for name, only in NOT_TAKEN_ONLY.items()},
    **{name: Argument("nothing", None, RELEASE) for name in NOTHING}, **OLDER}


def _is_off(value: Any) -> bool:
    return not value or (isinstance(value, str) and value.lower() in ("none", "null", "false"))


def is_default(name: str, value: Any) -> bool:
    """Whether the value is the launcher's default or means "not set", as in files that list all arguments."""
    default = ARGUMENTS[name].default
    if value is None or (value is False and default is not True):
        return True
    if not default:
        return _is_off(value)
    if isinstance(default, bool) or isinstance(value, bool):
        return value is default
    if isinstance(default, (int, float)) and isinstance(value, str):
        return value == str(default)
    return bool(value.lower() == default if isinstance(value, str) else value == default)


def changes(name: str, value: Any) -> bool:
    """Whether an argument of the table has an effect with this value."""
    argument = ARGUMENTS[name]
    return value in argument.only if argument.only else argument.effect != "nothing" and not is_default(name, value)
