/* SPDX-License-Identifier: Apache-2.0 */
/* Devices by their data sheets: dense bf16 rate of the matrix units, rate of the other units, memory, what one device sends to
 * the others of a node in one direction, and between nodes in machines as sold (a network port per device). */
#include "model/accelerators.h"

#include <stddef.h>

/* Efficiencies of an A100 from calculon (caa4b11, systems/a100_80g.json), which reproduce the runs of Korthikanti et al. For
 * the other devices they are assumed. */
static const ppsched_efficiency matrix_shares[] = {{128e9, 0.95}, {16e9, 0.9}, {1e9, 0.6}, {0, 0.1}};
static const ppsched_efficiency vector_shares[] = {{16e9, 0.95}, {1e9, 0.5}, {0, 0.1}};
static const ppsched_efficiency memory_shares[] = {{100e6, 0.9}, {10e6, 0.75}, {1e6, 0.6}, {0, 0.3}};

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))
#define EFFICIENCIES                                                                                                           \
    .matrix_efficiency = matrix_shares, .vector_efficiency = vector_shares, .memory_efficiency = memory_shares,                \
    .matrix_efficiency_count = COUNT_OF(matrix_shares), .vector_efficiency_count = COUNT_OF(vector_shares),                    \
    .memory_efficiency_count = COUNT_OF(memory_shares)
#define DEVICE(text) .size = sizeof(ppsched_accelerator), .name = (text), EFFICIENCIES

/* Efficiencies and latencies of links are from calculon too, except that inside a node of A100s, which was measured. */
#define LINK(rate, share, wait)                                                                                                \
    {                                                                                                                          \
        .bandwidth = (rate), .efficiency = (share), .latency = (wait)                                                          \
    }

/* What was measured: docs/accuracy.md tells the runs, and how these were fitted. */
#define OF_SOFTWARE .shares_ports = 1, .permute_traffic = 15.5, .fused_permute_traffic = 3.7, .bias_traffic = 37

/* A scan in chunks is as fast on Hopper and Blackwell. */
#define HOPPER                                                                                                                 \
    OF_SOFTWARE, .matrix_share = 0.697, .attention_share = 0.392, .fp8_share = 0.876, .op_time = 10e-6, .host_time = 53.5e-6,  \
                 .memory_hidden = 1, .scan_share = 0.0334, .scale_slowdown = 0.008

#define BLACKWELL(share)                                                                                                       \
    OF_SOFTWARE, .matrix_share = (share), .attention_share = 0.362, .fp8_share = 1.01, .mxfp8_share = 1.11,                    \
                 .nvfp4_share = 1.21, .op_time = 10e-6, .host_time = 106e-6, .memory_hidden = 1, .scan_share = 0.0147

/* A device has a link to each of the other seven of its node. */
#define CDNA3                                                                                                                  \
    .shares_ports = 1, .pair_share = 1.0 / 7, .matrix_share = 0.5, .op_time = 3.5e-6, .permute_traffic = 12,                   \
    .fused_permute_traffic = 12

/* Links to the host's memory, in one direction: PCIe of 16 lanes by the data sheets (gen 3: 32 GB/s both ways, gen 4: 64,
 * gen 5: 128), and half of the 900 GB/s both ways that two GPUs of a GB200 or GB300 have to one Grace. */
#define PCIE_3 .host_bandwidth = 16e9
#define PCIE_4 .host_bandwidth = 32e9
#define PCIE_5 .host_bandwidth = 64e9
#define GRACE .host_bandwidth = 225e9

/* Memory is what the driver reports to programs, where that is known, not the rounded number of the data sheet. */
#define MIB (1024.0 * 1024.0)

static const ppsched_accelerator known_devices[] = {
    /* NVIDIA A100 80GB SXM data sheet (2021): 312 TFLOPS, 78 (fp16), 2039 GB/s, NVLink 600 GB/s both ways; HDR 200 Gb/s. The
     * driver reports 81,920 MiB. */
    {DEVICE("a100"), .node_devices = 8, .matrix_rate = 312e12, .vector_rate = 78e12, .memory_bandwidth = 2039e9,
     .memory = 81920 * MIB, .inside = LINK(300e9, 0.85, 70e-6), .between = LINK(25e9, 0.9, 20e-6), OF_SOFTWARE,
     .part_node_ports = 1, .matrix_share = 0.911, .attention_share = 0.534, .host_time = 52.9e-6, PCIE_4},
    /* NVIDIA H100 SXM data sheet (2023): 989.4 TFLOPS, 1978.9 (8 bits), 133.8 (fp16), 3.35 TB/s, NVLink 900 GB/s both ways;
     * NDR 400 Gb/s. The driver reports 81,559 MiB. */
    {DEVICE("h100"), .node_devices = 8, .matrix_rate = 989.4e12, .rate_8bit = 1978.9e12, .vector_rate = 133.8e12,
     .memory_bandwidth = 3350e9, .memory = 81559 * MIB, .inside = LINK(450e9, 0.65, 10e-6), .between = LINK(50e9, 0.9, 20e-6),
     PCIE_5, HOPPER},
    /* NVIDIA H800 SXM: as H100 with NVLink 400 GB/s both ways (DeepSeek-V3, arXiv 2412.19437: 160 GB/s in one direction). */
    {DEVICE("h800"), .node_devices = 8, .matrix_rate = 989.4e12, .rate_8bit = 1978.9e12, .vector_rate = 133.8e12,
     .memory_bandwidth = 3350e9, .memory = 81559 * MIB, .inside = LINK(200e9, 0.65, 10e-6), .between = LINK(50e9, 0.9, 20e-6),
     PCIE_5, HOPPER},
    /* NVIDIA H20 SXM: 148 TFLOPS, 296 (8 bits), 96 GB at 4 TB/s, NVLink 900 GB/s both ways. No run is known, so that it has
     * only what the software says. */
    {DEVICE("h20"), .node_devices = 8, .matrix_rate = 148e12, .rate_8bit = 296e12, .vector_rate = 74e12,
     .memory_bandwidth = 4000e9, .memory = 96e9, .inside = LINK(450e9, 0.65, 10e-6), .between = LINK(50e9, 0.9, 20e-6), PCIE_5,
     OF_SOFTWARE},
    /* NVIDIA H200 SXM data sheet (2024): as H100 with 141 GB at 4.8 TB/s. The driver reports 143,771 MiB, of which PyTorch has
     * 139.8 GiB. */
    {DEVICE("h200"), .node_devices = 8, .matrix_rate = 989.4e12, .rate_8bit = 1978.9e12, .vector_rate = 133.8e12,
     .memory_bandwidth = 4800e9, .memory = 143156 * MIB, .inside = LINK(450e9, 0.65, 10e-6), .between = LINK(50e9, 0.9, 20e-6),
     PCIE_5, HOPPER},
    /* NVIDIA HGX B200 data sheet (2024), an eighth: 2.25 PFLOPS, 4.5 (8 bits), 9 (4 bits), 75 TFLOPS (fp32), 180 GB at
     * 7.7 TB/s, NVLink 1.8 TB/s both ways; 400 Gb/s. The driver reports 183,359 MiB. */
    {DEVICE("b200"), .node_devices = 8, .matrix_rate = 2250e12, .rate_8bit = 4500e12, .rate_4bit = 9000e12,
     .vector_rate = 75e12, .memory_bandwidth = 7700e9, .memory = 183359 * MIB, .inside = LINK(900e9, 0.65, 10e-6),
     .between = LINK(50e9, 0.9, 20e-6), PCIE_5, BLACKWELL(0.566)},
    /* NVIDIA HGX B300 data sheet (2025), an eighth: as B200 with 13.5 PFLOPS (4 bits), 270 GB of 288 at 8 TB/s; 800 Gb/s. The
     * driver reports 275,040 MiB. */
    {DEVICE("b300"), .node_devices = 8, .matrix_rate = 2250e12, .rate_8bit = 4500e12, .rate_4bit = 13500e12,
     .vector_rate = 75e12, .memory_bandwidth = 8000e9, .memory = 275040 * MIB, .inside = LINK(900e9, 0.65, 10e-6),
     .between = LINK(100e9, 0.9, 20e-6), PCIE_5, BLACKWELL(0.75)},
    /* NVIDIA GB200 NVL72 data sheet (2024), a 72nd: 2.5 PFLOPS, 5 (8 bits), 10 (4 bits), 80 TFLOPS (fp32), 186 GB at 8 TB/s;
     * 72 devices on NVLink, of which jobs use 64. The driver reports 189,471 MiB. */
    {DEVICE("gb200"), .node_devices = 64, .matrix_rate = 2500e12, .rate_8bit = 5000e12, .rate_4bit = 10000e12,
     .vector_rate = 80e12, .memory_bandwidth = 8000e9, .memory = 189471 * MIB, .inside = LINK(900e9, 0.65, 10e-6),
     .between = LINK(50e9, 0.9, 20e-6), GRACE, BLACKWELL(0.566)},
    /* NVIDIA GB300 NVL72 data sheet (2025), a 72nd: as GB200 with 15 PFLOPS (4 bits) and 279 GB; 800 Gb/s. The driver reports
     * 284,208 MiB. */
    {DEVICE("gb300"), .node_devices = 64, .matrix_rate = 2500e12, .rate_8bit = 5000e12, .rate_4bit = 15000e12,
     .vector_rate = 80e12, .memory_bandwidth = 8000e9, .memory = 284208 * MIB, .inside = LINK(900e9, 0.65, 10e-6),
     .between = LINK(100e9, 0.9, 20e-6), GRACE, BLACKWELL(0.75)},
    /* AMD Instinct MI300X data sheet (2023): 1307.4 TFLOPS, 2614.9 (8 bits), 163.4 (fp32), 192 GB at 5.3 TB/s, seven links of
     * 128 GB/s both ways; 400 Gb/s. The driver reports 206,141,652,992 bytes. */
    {DEVICE("mi300x"), .node_devices = 8, .matrix_rate = 1307.4e12, .rate_8bit = 2614.9e12, .vector_rate = 163.4e12,
     .memory_bandwidth = 5300e9, .memory = 196592 * MIB, .inside = LINK(448e9, 0.65, 10e-6), .between = LINK(50e9, 0.9, 20e-6),
     PCIE_5, CDNA3},
    /* AMD Instinct MI325X data sheet (2024): as MI300X with 256 GB at 6 TB/s. By the other two 256 GiB but
     * for 16 MiB. */
    {DEVICE("mi325x"), .node_devices = 8, .matrix_rate = 1307.4e12, .rate_8bit = 2614.9e12, .vector_rate = 163.4e12,
     .memory_bandwidth = 6000e9, .memory = 262128 * MIB, .inside = LINK(448e9, 0.65, 10e-6), .between = LINK(50e9, 0.9, 20e-6),
     PCIE_5, CDNA3},
    /* AMD Instinct MI355X data sheet (2025): 2516.6 TFLOPS, 5033.2 (8 bits), 157.3 (fp32), 288 GB at 8 TB/s, seven links of
     * 153.6 GB/s both ways; 400 Gb/s. CDNA 4 has MXFP8 at the rate of 8 bits. The driver reports 309,220,868,096 bytes. */
    {DEVICE("mi355x"), .node_devices = 8, .matrix_rate = 2516.6e12, .rate_8bit = 5033.2e12, .vector_rate = 157.3e12,
     .memory_bandwidth = 8000e9, .memory = 294896 * MIB, .inside = LINK(537.6e9, 0.65, 10e-6),
     .between = LINK(50e9, 0.9, 20e-6), PCIE_5, CDNA3, .mxfp8_share = 1},
    /* NVIDIA V100 SXM2 32GB data sheet (2020): 125 TFLOPS (fp16; bf16 came with the A100), 15.7 (fp32), twice that in fp16,
     * 900 GB/s, NVLink 300 GB/s both ways; a DGX-1 has four ports of EDR 100 Gb/s for eight GPUs. The driver reports
     * 32,510 MiB. No run is known, so that it has only what the software says. */
    {DEVICE("v100"), .node_devices = 8, .matrix_rate = 125e12, .vector_rate = 31.4e12, .memory_bandwidth = 900e9,
     .memory = 32510 * MIB, .inside = LINK(150e9, 0.65, 10e-6), .between = LINK(6.25e9, 0.9, 20e-6), .lacks_bf16 = 1, PCIE_3,
     OF_SOFTWARE},
};

uint32_t ppi_accelerator_count(void)
{
    return COUNT_OF(known_devices);
}

const ppsched_accelerator *ppi_accelerator_at(uint32_t index)
{
    return index < COUNT_OF(known_devices) ? &known_devices[index] : NULL;
}
