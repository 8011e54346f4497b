/* SPDX-License-Identifier: Apache-2.0 */
/* The last of each enum that grows, for tests that go through all; tests/abi/house.py holds them against the headers. */
#ifndef PPSCHED_TESTS_LAST_H
#define PPSCHED_TESTS_LAST_H

#include <ppsched/ppsched.h>

enum {
    LAST_FORMAT = PPSCHED_FORMAT_SAIL,
    LAST_KIND = PPSCHED_KIND_WAIT_REDUCE_GRAD,
    LAST_QUANTITY = PPSCHED_QUANTITY_MICROBATCH_REQUEST,
    LAST_RUNTIME = PPSCHED_RUNTIME_MINDSPEED
};

#endif
