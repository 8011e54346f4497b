/* SPDX-License-Identifier: Apache-2.0 */
/* All training runtimes by number: PPI_RUNTIME(PPSCHED_RUNTIME_..., ppi_..._runtime, the file that defines it). The build
 * reads the files from here. To use a runtime include launch/launch.h. */
PPI_RUNTIME(MEGATRON, megatron, "megatron.c")
PPI_RUNTIME(TORCHTITAN, torchtitan, "torchtitan.c")
PPI_RUNTIME(PYTORCH, pytorch, "pytorch.c")
PPI_RUNTIME(DEEPSPEED, deepspeed, "deepspeed.c")
PPI_RUNTIME(SAIL, sail, "sail.c")
PPI_RUNTIME(PRIMUS, primus, "primus.c")
PPI_RUNTIME(COLOSSALAI, colossalai, "colossalai.c")
PPI_RUNTIME(JAXPP, jaxpp, "jaxpp.c")
PPI_RUNTIME(MINDSPEED, mindspeed, "mindspeed.c")
