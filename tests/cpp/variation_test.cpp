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

CASE(test_chunks_of_a_prompt)
{
    Config config(4, 4, 1);
    config.set_forward_only(true);
    ppsched::Prefill prefill;
    prefill.tokens = 1024;
    prefill.block = 64;
    prefill.constant = 10;
    prefill.linear = 1;
    const ppsched::Chunks chunks = ppsched::prefill_chunks(config, prefill);
    CHECK(chunks.is_best && chunks.makespan <= chunks.equal_makespan && chunks.config.microbatches() == chunks.tokens.size());
    CHECK(Schedule::generate(chunks.config, "looped_bfs").evaluate(chunks.config).metrics().makespan == chunks.makespan);
    CHECK(thrown<ppsched::Error>([&] { (void)ppsched::prefill_chunks(Config(4, 4, 1), prefill); }).has_value());
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

CASE(test_devices_that_change)
{
    const std::vector<double> speeds{1, 1, 1, 0.5}, bytes(32, 1.0);
    const std::vector<uint32_t> running{8, 8, 8, 8};
    ppsched::Layer decoder;
    decoder.name = "decoder";
    decoder.count = 32;
    decoder.forward_time = 1;
    decoder.backward_time = 2;
    const ppsched::Layers layers({decoder});
    Config config(4, 4, 16);
    config.set_values(PPSCHED_QUANTITY_DEVICE_SPEEDS, speeds);
    ppsched::ReplanOptions options;
    options.strategy = "1f1b";
    options.layers = layers.get();
    options.running_split = running.data();
    options.running_stages = 4;
    options.layer_bytes = bytes.data();
    options.layer_count = 32;
    const ppsched::Replan replan(config, options);
    const auto figures = replan.figures();
    CHECK(figures.step_time == 542 && figures.running_step_time == 840 && figures.can_stay == 1 && figures.stays == 0);
    CHECK((replan.split() == std::vector<uint32_t>{10, 10, 9, 3}));
    CHECK((replan.device_order() == std::vector<uint32_t>{0, 1, 2, 3}) && replan.recomputes().size() == 32);
    CHECK(replan.moves().size() == 3 && figures.moved_bytes == 11);
}

CASE(test_unlike_replicas)
{
    const std::vector<double> speeds{1, 1, 1, 0.5};
    ppsched::Layer decoder;
    decoder.name = "decoder";
    decoder.count = 32;
    decoder.forward_time = 1;
    decoder.backward_time = 2;
    const ppsched::Layers layers({decoder});
    const Config plain(4, 4, 1);
    Config slow(4, 4, 1);
    slow.set_values(PPSCHED_QUANTITY_DEVICE_SPEEDS, speeds);
    ppsched::ReplicasOptions options;
    options.strategy = "1f1b";
    options.layers = layers.get();
    options.microbatches = 32;
    const ppsched::Replicas replicas({&plain, &slow}, options);
    const auto fast = replicas.replica(0), other = replicas.replica(1);
    CHECK(fast.microbatches + other.microbatches == 32 && fast.microbatches > other.microbatches && other.split[3] < 5);
    CHECK(replicas.figures().step_time == std::max(fast.step_time, other.step_time));
    CHECK(replicas.figures().step_time < replicas.figures().equal_step_time && fast.stages == 4 && fast.layers == 32);
}

CASE(test_steady_state)
{
    const Config config(4, 4, 400);
    const ppsched::Steady steady(config, "1f1b");
    const auto period = steady.period();
    CHECK(period.reason == PPSCHED_STEADY_REASON_FOUND && period.block == 1 && period.time == 3 * period.blocks);
    CHECK(period.cycle_time == 3 && period.timed < 40 && period.rounding == 0);
    const ppsched::Timeline timeline = ppsched::Schedule::generate(config, "1f1b").evaluate(config);
    CHECK(steady.metrics().makespan == timeline.metrics().makespan && steady.metrics().makespan == 3 * 403);
    CHECK(steady.device_metrics(0).busy == 1200 && steady.idle(3).fill == timeline.idle(3).fill);
    CHECK(steady.peak_causes(0) == timeline.peak_causes(0));
}

CASE(test_overlapped_pairs)
{
    const ppsched_window windows[] = {{3, 0, 0}, {2, 1, 0}};
    ppsched::PairWindows pair;
    pair.forward = pair.backward = windows;
    pair.forward_count = pair.backward_count = 2;
    const ppsched::PairOrder found = ppsched::find_pair_order(pair);
    CHECK(found.times.time == 8 && found.times.is_best == 1 && found.windows.size() == 4);
    const std::vector<int32_t> kinds{PPSCHED_KIND_B, PPSCHED_KIND_F, PPSCHED_KIND_F, PPSCHED_KIND_B};
    CHECK(ppsched::run_pair_order(pair, kinds).times.time == 10);
    Config config(2, 2, 4);
    const std::vector<ppsched::PairWindows> stages{pair};
    ppsched::set_windows(config, stages);
    CHECK(ppsched::get_windows(config, 1).forward[1].channel == 1 && ppsched::get_windows(config, 1).weight == nullptr);
    CHECK(config.values(PPSCHED_QUANTITY_OVERLAPPED_TIMES)[0] == 8 && config.values(PPSCHED_QUANTITY_FORWARD_TIMES)[0] == 5);
    CHECK(thrown<ppsched::Error>([&] { ppsched::set_windows(config, {}); }).has_value());
}

} // namespace
