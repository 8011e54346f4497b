/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: candidates, ranks, options. */
#include <cmath>
#include <string>
#include <vector>

#include "cases.hpp"

using ppsched::Config;
using ppsched::Plan;
using ppsched::Schedule;
using ppsched::Timeline;

namespace {

CASE(test_plan)
{
    Config config(4, 4, 8);
    config.set_values(PPSCHED_MEM_LIMIT, 5);
    Plan plan(config);
    CHECK(plan.size() > 30 && !plan.candidate(0).evaluated);
    plan.run();
    const ppsched::Candidate best = plan.candidate(0);
    CHECK(best.fits && best.step_time == best.makespan && best.bound <= best.step_time && best.peak_memory <= 5);
    const Config problem = plan.config(0);
    CHECK(problem.stages() == best.stages && problem.microbatches() == best.microbatches && !problem.progress());
    CHECK(Schedule::generate(problem, best.strategy).evaluate(problem).metrics().makespan == best.makespan);
    const Timeline timeline = plan.timeline(0);
    CHECK(timeline.metrics().makespan == best.makespan && timeline.schedule().name() == best.strategy);

    const size_t last = plan.size() - 1;
    CHECK(status_of([&] { (void)plan.candidate(last + 1); }) == PPSCHED_ERROR_ARGUMENT);
    CHECK(status_of([&] { plan.evaluate(last + 1); }) == PPSCHED_ERROR_ARGUMENT);

    Plan moved(std::move(plan));
    CHECK(moved.candidate(0).strategy == std::string(best.strategy) && plan.size() == 0);
    CHECK(status_of([&] { plan.run(); }) == PPSCHED_ERROR_ARGUMENT);
    plan = std::move(moved);
    CHECK(plan.candidate(0).fits);
}

CASE(test_plan_options)
{
    Config config(4, 4, 8);
    config.set_values(PPSCHED_P2P_BANDWIDTH, 10);
    config.set_values(PPSCHED_ACTIVATION_BYTES, 2);
    ppsched::PlanOptions options;
    options.objective = PPSCHED_OBJECTIVE_SPAN;
    options.strategies = {"Interleaved1F1B", "zb_auto"};
    options.chunks = {1, 3};
    options.group_sizes = {4, 5};
    options.microbatches = {8, 16};
    options.memory_limits = {0.125, 0.25};
    Plan limited(config, options);
    CHECK(limited.size() == 2 * 2 * 2 * 2 + 2 * 2);
    limited.run();
    const ppsched::LeastLimit least = limited.least_limit();
    CHECK(!limited.candidate(0).fits && least.limit > 0.25 && least.candidate < limited.size());
    const size_t last = limited.size() - 1;
    const ppsched::Candidate refused = limited.candidate(last);
    CHECK(refused.status == PPSCHED_ERROR_REFUSED && refused.reason != nullptr && *refused.reason != '\0');
    CHECK(thrown<ppsched::Refused>([&] { (void)limited.timeline(last); }));

    options = {};
    options.strategies = {"1f1b", "v_1f1b"};
    options.placements = 1u << PPSCHED_PLACEMENT_V;
    Plan v(config, options);
    CHECK(v.size() > 0);
    for (size_t i = 0; i < v.size(); i++)
        CHECK(v.candidate(i).placement == PPSCHED_PLACEMENT_V);

    options = {};
    options.strategies = {"interleaved_1f1b"};
    options.chunks = {2};
    options.lowering = PPSCHED_LOWERING_PYTORCH;
    Plan free(config, options);
    options.channel.emplace();
    options.channel->rendezvous = 1;
    options.head.forward_time = 0.5;
    Plan grouped(config, options);
    free.run();
    grouped.run();
    CHECK(grouped.candidate(0).makespan > free.candidate(0).makespan);
    const Config problem = grouped.config(0);
    CHECK(problem.values(PPSCHED_FORWARD_TIMES)[7] == 0.75);
    options.strategies = {"1f1c"};
    CHECK(status_of([&] { Plan bad(config, options); }) == PPSCHED_ERROR_UNKNOWN_STRATEGY);
    options.strategies = {std::string("1f1b\0", 5)};
    CHECK(status_of([&] { Plan bad(config, options); }) == PPSCHED_ERROR_ARGUMENT);
    options.strategies.clear();
    options.chunks.clear(); /* the default, though there is room */
    CHECK(Plan(config, options).size() > 30);
    options.effort = 13;
    CHECK(status_of([&] { Plan bad(config, options); }) == PPSCHED_ERROR_RANGE);
}

} // namespace
