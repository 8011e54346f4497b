/* SPDX-License-Identifier: Apache-2.0 */
/* The forward sweep where senders wait; for how long, ppi_senders_fill has found. */
#define PPI_SENDERS_WAIT 1
#define PPI_SWEEP ppi_forward_sweep_with_senders
#include "eval/forward_sweep.h"
