/* SPDX-License-Identifier: Apache-2.0 */
/* Hybrid models in Megatron-LM's launch line: a pattern of their blocks, with | between stages and MTP layers after /. */
#ifndef PPSCHED_LAUNCH_HYBRID_H
#define PPSCHED_LAUNCH_HYBRID_H

#include "launch/layers.h"

/* Makes the pattern of the split; REFUSED where Megatron-LM has none for it. `overlapped`: with overlapped pairs. */
ppsched_status ppi_hybrid_lay_out(struct ppi_parts *parts, bool overlapped, ppsched_error *error);

/* How many blocks of the pattern are in the first `first` recomputed layers of each stage: Megatron-LM counts blocks. */
uint32_t ppi_hybrid_recomputed(const struct ppi_parts *parts);

#endif
