/* SPDX-License-Identifier: Apache-2.0 */
/* Reads traces: the schedule that they make, and the costs of its ops. */
#ifndef PPSCHED_CHAKRA_READER_H
#define PPSCHED_CHAKRA_READER_H

#include <ppsched/chakra.h>

#include "ir/config.h"
#include "ir/schedule.h"

/* Properties of all numbers in the traces. */
struct ppi_chakra_scales {
    double time, bytes; /* as in ppsched_chakra_options */
    bool has_times;     /* sizes of messages are times */
};

/* Makes a config with the costs that the traces show. `amounts`: by op of the schedule, the microseconds of the unit that
 * starts there, or the size of the message. */
ppsched_status ppi_chakra_find_costs(ppsched_config **out, const ppsched_schedule *schedule, const uint64_t *amounts,
                                     const struct ppi_chakra_scales *scales, ppsched_error *error);

ppsched_status ppi_chakra_read(ppsched_schedule **schedule, ppsched_config **config, const ppsched_chakra_trace *traces,
                               size_t count, const struct ppi_host *host, ppsched_error *error);

#endif
