/* SPDX-License-Identifier: Apache-2.0 */
/* The forward sweep where senders do not wait. */
#define PPI_SENDERS_WAIT 0
#define PPI_SWEEP ppi_forward_sweep
#include "eval/forward_sweep.h"
