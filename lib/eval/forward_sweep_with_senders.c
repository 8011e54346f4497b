/* SPDX-License-Identifier: Apache-2.0 */
/* Instance of the forward sweep in which senders wait, for the times that ppi_senders_fill has set, and ops of a pair may make
 * their outputs before the pair ends. */
#define PPI_SENDERS_WAIT 1
#define PPI_PAIRS_HAVE_ENDS 1
#define PPI_SWEEP ppi_forward_sweep_with_senders
#include "eval/forward_sweep.h"
