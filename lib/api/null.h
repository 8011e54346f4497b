/* SPDX-License-Identifier: Apache-2.0 */
/* Null arguments: every exported function refuses them with a message that names the argument. */
#ifndef PPSCHED_API_NULL_H
#define PPSCHED_API_NULL_H

#include <stddef.h>

#include "base/error.h"
#include "ir/stage_graph.h"

/* Returns ARGUMENT from the calling function if `argument` is NULL; `error` must be in scope. */
#define PPI_REQUIRE(argument)                                                                                                  \
    do {                                                                                                                       \
        if ((argument) == NULL)                                                                                                \
            return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "%s: %s is NULL", __func__, #argument);                             \
    } while (0)

/* REFUSED unless the stages of a schedule's placement, or of a config, are a chain. */
#define PPI_REQUIRE_CHAIN(stages, what)                                                                                        \
    do {                                                                                                                       \
        ppsched_status chain = ppi_refuse_graph((stages)->graph, (what), error);                                               \
        if (chain != PPSCHED_OK)                                                                                               \
            return chain;                                                                                                      \
    } while (0)

#endif
