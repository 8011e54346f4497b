/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON reader. With a fuzzer: see docs/testing.md; without one: the corpus, by main.c. */
#include "fuzz/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)fuzz_import(PPSCHED_FORMAT_JSON, (const char *)data, size);
    return 0;
}
