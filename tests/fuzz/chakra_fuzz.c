/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of traces. The first byte says how many there are, two each how long; the last has the rest. With a fuzzer: see
 * docs/testing.md; without one: the corpus, by main.c. */
#include <string.h>

#include "fuzz/traces.h"

enum { MOST_TRACES = 8 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ppsched_chakra_trace traces[MOST_TRACES];
    size_t count = 0, wanted = size > 0 ? 1 + data[0] % MOST_TRACES : 1, at = size > 0;
    char *copies[MOST_TRACES];
    while (count < wanted) {
        size_t left = size - at, length = left >= 2 ? data[at] + 256u * data[at + 1] : 0;
        at += left >= 2 ? 2 : left;
        left = size - at;
        length = length > left || count + 1 == wanted ? left : length;
        copies[count] = malloc(length > 0 ? length
                                          : 1); /* as large as the trace, so that a sanitizer sees the first byte too far */
        EXPECT(copies[count] != NULL);
        memcpy(copies[count], data + at, length);
        traces[count] = (ppsched_chakra_trace){copies[count], length};
        count++;
        at += length;
    }
    (void)fuzz_import_traces(traces, count);
    for (size_t k = 0; k < count; k++)
        free(copies[k]);
    return 0;
}
