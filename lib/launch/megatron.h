/* SPDX-License-Identifier: Apache-2.0 */
/* Flags of Megatron-LM and its forks. */
#ifndef PPSCHED_LAUNCH_MEGATRON_H
#define PPSCHED_LAUNCH_MEGATRON_H

#include "launch/launch.h"

/* Writes which layers are in which stage. `parts` may be NULL; an uneven split needs ppi_parts_lay_out before. */
void ppi_megatron_write_split(const struct ppi_parts *parts, uint32_t devices, uint32_t chunks, struct ppi_line *line);

/* Writes what is recomputed, for a split that fits Megatron-LM's rules. */
void ppi_megatron_write_recompute(const struct ppi_parts *parts, struct ppi_line *line);

/* Writes the batch sizes where they are known. */
void ppi_megatron_write_batch(const struct ppi_launch *launch, struct ppi_line *line);

#endif
