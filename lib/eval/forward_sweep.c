/* SPDX-License-Identifier: Apache-2.0 */
/* Instance of the forward sweep in which senders do not wait. */
#define PPI_SENDERS_WAIT 0
#define PPI_SWEEP ppi_forward_sweep
#include "eval/forward_sweep.h"
