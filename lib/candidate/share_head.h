/* SPDX-License-Identifier: Apache-2.0 */
/* The problem of a chain with one stage for each device, whose head is shared by all devices. */
#ifndef PPSCHED_CANDIDATE_SHARE_HEAD_H
#define PPSCHED_CANDIDATE_SHARE_HEAD_H

#include "ir/config.h"
#include "strategy/shared_head.h"

/* Takes the head's costs out of the last stage and gives each device an equal part of them.
 *   - ONE_BARRIER: the pass S has the forward and the I of the head, T its W. Else S has the forward, and T the backward.
 *   - What the last stage sends to S has its activation_bytes. What it gets back has the gradient_bytes that it sends itself.
 * Errors: REFUSED where the config has a graph, another number of stages, or lists that say nothing about a part of a stage;
 * RANGE where the head costs more than the last stage. */
ppsched_status ppi_share_head(ppsched_config **out, const ppsched_config *config, const ppsched_model_end *head,
                              enum ppi_head_form form, ppsched_error *error);

#endif
