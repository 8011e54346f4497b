/* SPDX-License-Identifier: Apache-2.0 */
/* The test of the C++ headers: ownership, errors, callbacks that throw, and each call once. Prints TAP, a line a case. */
#include <exception>

#include "cases.hpp"

int main()
{
    std::printf("1..%zu\n", cases().size());
    int number = 0;
    for (const Case &each : cases()) {
        const int before = failures;
        try {
            each.run();
        } catch (const std::exception &error) {
            std::printf("# %s\n", error.what());
            failures++;
        }
        std::printf("%s %d - %s\n", failures == before ? "ok" : "not ok", ++number, each.name);
        std::fflush(stdout);
    }
    return failures == 0 ? 0 : 1;
}
