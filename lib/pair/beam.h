/* SPDX-License-Identifier: Apache-2.0 */
/* A beam search over the choices of a pair. */
#ifndef PPSCHED_PAIR_BEAM_H
#define PPSCHED_PAIR_BEAM_H

#include "pair/search.h"

/* Finds a good order; it is the best where the beam was never too narrow, or the bound is reached. */
ppsched_status ppi_pair_beam(const struct ppi_pair *pair, struct ppi_arena *arena, struct ppi_pair_choices *choices,
                             struct ppi_pair_answer *answer, ppsched_error *error);

#endif
