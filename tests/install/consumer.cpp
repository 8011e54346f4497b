/* SPDX-License-Identifier: Apache-2.0 */
/* A program outside, in C++: builds a schedule with the installed header. Prints the makespan; 33 is right. */
#include <cstdio>

#include <ppsched/ppsched.hpp>

int main()
try {
    const ppsched::Config config(4, 4, 8);
    const ppsched::Timeline timeline = ppsched::Schedule::generate(config, "1f1b").evaluate(config);
    std::printf("makespan %g\n", timeline.metrics().makespan);
    return timeline.metrics().makespan == 33 ? 0 : 1;
} catch (const ppsched::Error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
