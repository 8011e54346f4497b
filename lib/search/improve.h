/* SPDX-License-Identifier: Apache-2.0 */
/* Local search: neighbouring ops of a device change places where that shortens the critical path, or does not lengthen it much
 * for a while (late acceptance hill climbing: Burke and Bykov 2017). The evaluator prices every order. */
#ifndef PPSCHED_SEARCH_IMPROVE_H
#define PPSCHED_SEARCH_IMPROVE_H

#include "search/attempt.h"

/* Looks for what is shorter than the best so far, which there must be, starting from it. `tries` orders are priced at most.
 * Orders with overlapped pairs are left alone. */
ppsched_status ppi_improve(struct ppi_attempt *attempt, uint32_t tries, ppsched_error *error);

#endif
