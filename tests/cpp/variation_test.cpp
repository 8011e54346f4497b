/* SPDX-License-Identifier: Apache-2.0 */
/* Microbatches that differ, slices, and times that vary. */
#include <string>
#include <vector>

#include "cases.hpp"

using ppsched::Config;
using ppsched::Schedule;

namespace {

CASE(test_slices)
{
    Config config(4, 4, 4);
    config.set_slices(2);
    CHECK(config.slices() == 2);
    const Schedule schedule = Schedule::generate(config, "seq_1f1b");
    CHECK(schedule.slices() == 2 && schedule.evaluate(config).metrics().makespan == 33);
}

CASE(test_order_of_microbatches)
{
    const std::vector<double> scale{1, 2, 0.5, 3, 0.25};
    Config config(3, 3, 5);
    config.set_values(PPSCHED_QUANTITY_MICROBATCH_SCALE, scale);
    const Schedule schedule = Schedule::generate(config, "1f1b");
    const ppsched::Ordered found = ppsched::order_microbatches(schedule, config);
    CHECK(found.order.size() == 5);
    CHECK(schedule.evaluate(found.config).metrics().makespan < schedule.evaluate(config).metrics().makespan);
    int told = 0;
    config.set_progress([&](const ppsched_progress &) { return ++told > 0; });
    CHECK(ppsched::order_microbatches(schedule, config).order == found.order && told > 0);
    config.set_progress([](const ppsched_progress &) { return false; });
    CHECK(thrown<ppsched::Cancelled>([&] { (void)ppsched::order_microbatches(schedule, config); }).has_value());
}

CASE(test_shares)
{
    const std::vector<double> costs{5, 4, 3, 3, 3};
    const ppsched::Balance balance = ppsched::balance_microbatches(costs, 2);
    CHECK(balance.most == 9 && balance.bound == 9 && balance.is_best && balance.replica.size() == 5);
}

CASE(test_scenarios)
{
    const Config config(4, 4, 8);
    const Schedule schedule = Schedule::generate(config, "1f1b");
    ppsched::ScenarioOptions options;
    options.seed = 7;
    options.jitter = 0.05;
    const ppsched::Scenarios scenarios(schedule, config, 100, options);
    const auto metrics = scenarios.metrics();
    CHECK(scenarios.makespans().size() == 100 && scenarios.causes().size() == 4);
    CHECK(metrics.best <= metrics.mean && metrics.mean <= metrics.worst && scenarios.quantile(1) == metrics.worst);
    CHECK(ppsched::Scenarios(schedule, config, 1).metrics().mean == schedule.evaluate(config).metrics().makespan);
}

} // namespace
