/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold of any bytes that the reader of traces gets. */
#ifndef PPSCHED_TESTS_FUZZ_TRACES_H
#define PPSCHED_TESTS_FUZZ_TRACES_H

#include "fuzz/harness.h"

/* Reads the traces. Where that fails, the error must say so in one line, and nothing may be left; where it succeeds, the
 * schedule must go through JSON, and through traces where these can hold it. Memory must be linear in the bytes. Aborts where
 * any of that is not so; returns the status. */
ppsched_status fuzz_import_traces(const ppsched_chakra_trace *traces, size_t count);

/* A trace of a rank in memory that the caller frees. */
char *fuzz_export_trace(const ppsched_chakra *chakra, uint32_t rank, size_t *size);

#endif
