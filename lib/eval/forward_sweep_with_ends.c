/* SPDX-License-Identifier: Apache-2.0 */
/* Instance of the forward sweep in which ops of a pair may make their outputs before the pair ends; senders do not wait. */
#define PPI_SENDERS_WAIT 0
#define PPI_PAIRS_HAVE_ENDS 1
#define PPI_SWEEP ppi_forward_sweep_with_ends
#include "eval/forward_sweep.h"
