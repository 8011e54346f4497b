# SPDX-License-Identifier: Apache-2.0
# The arguments of a training run with Megatron-LM, as in a launch script. ppsched pick --model reads this file.
MODEL_ARGS="
    --num-layers 32
    --hidden-size 4096
    --ffn-hidden-size 14336
    --num-attention-heads 32
    --group-query-attention
    --num-query-groups 8
    --seq-length 8192
    --max-position-embeddings 8192
    --vocab-size 128256
    --swiglu
    --normalization RMSNorm
    --position-embedding-type rope
    --disable-bias-linear
    --untie-embeddings-and-output-weights
    --attention-dropout 0
    --hidden-dropout 0
"
TRAINING_ARGS="
    --tensor-model-parallel-size 2
    --pipeline-model-parallel-size 4
    --micro-batch-size 1
    --global-batch-size 64
    --sequence-parallel
    --use-distributed-optimizer
    --bf16
"
torchrun pretrain_gpt.py $MODEL_ARGS $TRAINING_ARGS
