/* SPDX-License-Identifier: Apache-2.0 */
/* What all fuzz targets share: an expectation, and what holds of every answer. */
#ifndef PPSCHED_TESTS_FUZZ_HARNESS_H
#define PPSCHED_TESTS_FUZZ_HARNESS_H

#include <ppsched/ppsched.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/meter.h"

/* A target: a fuzzer calls it with any bytes, main.c with the files of the corpus. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program, which a fuzzer takes as a finding, unless the condition holds. */
#define EXPECT(condition)                                                                                                      \
    do {                                                                                                                       \
        if (!(condition)) {                                                                                                    \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                            \
            abort();                                                                                                           \
        }                                                                                                                      \
    } while (0)

/* A record that no call has written to. */
ppsched_error fresh_error(void);

/* Whether a call that got a fresh record succeeded. Then it must have left the record alone; else that must hold the status and
 * one line of UTF-8. No call may find a defect of the library. */
bool accepted(ppsched_status status, const ppsched_error *error);

#endif
