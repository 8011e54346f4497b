/* SPDX-License-Identifier: Apache-2.0 */
/* Null arguments: every exported function refuses them with a message that names the argument. */
#ifndef PPSCHED_API_NULL_H
#define PPSCHED_API_NULL_H

#include <stddef.h>

#include "base/error.h"

/* Returns ARGUMENT from the calling function if `argument` is NULL; `error` must be in scope. */
#define PPI_REQUIRE(argument)                                                                                                  \
    do {                                                                                                                       \
        if ((argument) == NULL)                                                                                                \
            return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "%s: %s is NULL", __func__, #argument);                             \
    } while (0)

#endif
