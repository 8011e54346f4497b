/* SPDX-License-Identifier: Apache-2.0 */
/* Problems whose output layer is shared by all devices: the stage graph on which vocab_1f1b and interlaced run, after the
 * stages of a chain with one stage for each device. */
#ifndef PPSCHED_STRATEGY_SHARED_HEAD_H
#define PPSCHED_STRATEGY_SHARED_HEAD_H

#include "ir/config.h"
#include "strategy/strategy.h"

/* With D devices, after stages 0 to D-1:
 *   - INTERLACED: stage D, the head, runs on all devices at once, F and B.
 *   - TWO_BARRIERS: stages D to 2D-1 are the head's parts, one on each device, F (the pass S) and B (T). They feed stage 2D,
 *     the loss, on the last device. The B of stage D-1 waits for all T.
 *   - ONE_BARRIER: the parts have F alone (S), as do stages 2D+1 to 3D (T), which the loss feeds. The B of stage D-1 waits for
 *     the loss alone. */
enum ppi_head_form { PPI_HEAD_INTERLACED, PPI_HEAD_ONE_BARRIER, PPI_HEAD_TWO_BARRIERS };

/* The form of a task whose strategy shares heads: its first option has the number of barriers. */
static inline enum ppi_head_form ppi_head_form_of(const struct ppi_task *task)
{
    return task->strategy->option_count > 0 ? (enum ppi_head_form)task->option[0] : PPI_HEAD_INTERLACED;
}

static inline uint32_t ppi_shared_head_stages(enum ppi_head_form form, uint32_t devices)
{
    return form == PPI_HEAD_INTERLACED ? devices + 1 : form == PPI_HEAD_ONE_BARRIER ? 3 * devices + 1 : 2 * devices + 1;
}

/* Sets the graph and the devices of a form, in a config with its number of stages. */
ppsched_status ppi_set_shared_head(ppsched_config *config, enum ppi_head_form form, ppsched_error *error);

/* REFUSED, with the stages that would work, unless a config with a graph has those of the task's form. */
ppsched_status ppi_check_shared_head(const struct ppi_task *task, const ppsched_config *config, ppsched_error *error);

#endif
