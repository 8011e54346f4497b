/* SPDX-License-Identifier: Apache-2.0 */
/* A small training runtime: describes its problem, makes a schedule with sends and receives that cannot deadlock, and walks
 * through the queue of each device. */
#include <cstdio>
#include <exception>

#include <ppsched/ppsched.hpp>

/* A runtime would compute, send or receive here. */
static void run(const ppsched::Op &op, const ppsched::Span &span)
{
    std::printf("  %s from %.1f to %.1f\n", ppsched::op_token(op).c_str(), span.start, span.end);
}

int main()
try {
    ppsched::Config config(2, 2, 3); /* devices, stages, microbatches */
    config.set_values(PPSCHED_QUANTITY_FORWARD_TIMES, {1.0, 1.5});
    config.set_values(PPSCHED_QUANTITY_P2P_TIME, 0.1);

    ppsched::LowerOptions options;
    options.lowering = PPSCHED_LOWERING_JUST_IN_TIME;
    const ppsched::Schedule schedule = ppsched::Schedule::generate(config, "1f1b").lower(options);
    const ppsched::Timeline timeline = schedule.evaluate_transfers(config);
    std::printf("%s: makespan %.1f\n", schedule.name().c_str(), timeline.metrics().makespan);

    for (uint32_t device = 0; device < schedule.devices(); device++) {
        std::printf("device %u\n", device);
        const auto ops = schedule.queue(device);
        for (size_t i = 0; i < ops.size(); i++)
            run(ops[i], timeline.spans(device)[i]);
    }
    return 0;
} catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
