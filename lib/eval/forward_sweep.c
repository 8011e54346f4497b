/* SPDX-License-Identifier: Apache-2.0 */
/* Instance of the forward sweep in which senders do not wait, and both ops of a pair end with it. */
#define PPI_SENDERS_WAIT 0
#define PPI_PAIRS_HAVE_ENDS 0
#define PPI_SWEEP ppi_forward_sweep
#include "eval/forward_sweep.h"
