/* SPDX-License-Identifier: Apache-2.0 */
/* Devices by their data sheets: dense bf16 rate of the matrix units, rate of the other units, memory, what one device sends to
 * the others of a node in one direction, and between nodes in machines as sold (a network port per device). */
#include "model/accelerators.h"

#include <stddef.h>

/* Efficiencies of an A100 from calculon (caa4b11, systems/a100_80g.json), which reproduce the runs of Korthikanti et al. For
 * the other devices they are assumed. */
static const ppsched_efficiency matrix[] = {{128e9, 0.95}, {16e9, 0.9}, {1e9, 0.6}, {0, 0.1}};
static const ppsched_efficiency vector[] = {{16e9, 0.95}, {1e9, 0.5}, {0, 0.1}};
static const ppsched_efficiency memory[] = {{100e6, 0.9}, {10e6, 0.75}, {1e6, 0.6}, {0, 0.3}};

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))
#define EFFICIENCIES                                                                                                           \
    .matrix_efficiency = matrix, .vector_efficiency = vector, .memory_efficiency = memory,                                     \
    .matrix_efficiency_count = COUNT_OF(matrix), .vector_efficiency_count = COUNT_OF(vector),                                  \
    .memory_efficiency_count = COUNT_OF(memory)
#define DEVICE(text) .size = sizeof(ppsched_accelerator), .node_devices = 8, .name = (text), EFFICIENCIES

/* Efficiencies and latencies of links are from calculon too. */
#define LINK(rate, share, wait)                                                                                                \
    {                                                                                                                          \
        .bandwidth = (rate), .efficiency = (share), .latency = (wait)                                                          \
    }

static const ppsched_accelerator devices[] = {
    /* NVIDIA A100 80GB SXM data sheet (2021): 312 TFLOPS, 78 (fp16), 2039 GB/s, NVLink 600 GB/s both ways; HDR 200 Gb/s. */
    {DEVICE("a100"), .matrix_rate = 312e12, .vector_rate = 78e12, .memory_bandwidth = 2039e9, .memory = 80e9,
     .inside = LINK(300e9, 0.65, 10e-6), .between = LINK(25e9, 0.9, 20e-6)},
    /* NVIDIA H100 SXM data sheet (2023): 989.4 TFLOPS, 133.8 (fp16), 3.35 TB/s, NVLink 900 GB/s both ways; NDR 400 Gb/s. */
    {DEVICE("h100"), .matrix_rate = 989.4e12, .vector_rate = 133.8e12, .memory_bandwidth = 3350e9, .memory = 80e9,
     .inside = LINK(450e9, 0.65, 10e-6), .between = LINK(50e9, 0.9, 20e-6)},
    /* NVIDIA H200 SXM data sheet (2024): as H100 with 141 GB at 4.8 TB/s. */
    {DEVICE("h200"), .matrix_rate = 989.4e12, .vector_rate = 133.8e12, .memory_bandwidth = 4800e9, .memory = 141e9,
     .inside = LINK(450e9, 0.65, 10e-6), .between = LINK(50e9, 0.9, 20e-6)},
    /* NVIDIA HGX B200 data sheet (2024), an eighth: 2.25 PFLOPS, 75 TFLOPS (fp32), 180 GB at 7.7 TB/s, NVLink 1.8 TB/s both
     * ways; 400 Gb/s. */
    {DEVICE("b200"), .matrix_rate = 2250e12, .vector_rate = 75e12, .memory_bandwidth = 7700e9, .memory = 180e9,
     .inside = LINK(900e9, 0.65, 10e-6), .between = LINK(50e9, 0.9, 20e-6)},
    /* AMD Instinct MI300X data sheet (2023): 1307.4 TFLOPS, 163.4 (fp32), 192 GB at 5.3 TB/s, seven links of 128 GB/s both
     * ways; 400 Gb/s. */
    {DEVICE("mi300x"), .matrix_rate = 1307.4e12, .vector_rate = 163.4e12, .memory_bandwidth = 5300e9, .memory = 192e9,
     .inside = LINK(448e9, 0.65, 10e-6), .between = LINK(50e9, 0.9, 20e-6)},
    /* AMD Instinct MI355X data sheet (2025): 2516.6 TFLOPS, 157.3 (fp32), 288 GB at 8 TB/s, seven links of 153.6 GB/s both
     * ways; 400 Gb/s. */
    {DEVICE("mi355x"), .matrix_rate = 2516.6e12, .vector_rate = 157.3e12, .memory_bandwidth = 8000e9, .memory = 288e9,
     .inside = LINK(537.6e9, 0.65, 10e-6), .between = LINK(50e9, 0.9, 20e-6)},
};

uint32_t ppi_accelerator_count(void)
{
    return COUNT_OF(devices);
}

const ppsched_accelerator *ppi_accelerator_at(uint32_t index)
{
    return index < COUNT_OF(devices) ? &devices[index] : NULL;
}
