/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines: lives, times, explanations, updates, transfers. */
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "cases.hpp"

using ppsched::Config;
using ppsched::Schedule;
using ppsched::Timeline;

namespace {

Timeline orphan()
{
    const Config config(2, 2, 2);
    return Schedule::generate(config, "1f1b").evaluate(config);
}

CASE(test_memory_by_cause)
{
    ppsched::Config config(2, 2, 4);
    config.set_values(PPSCHED_QUANTITY_MEM_GRADIENTS, {3, 5});
    config.set_values(PPSCHED_QUANTITY_MEM_OTHER, 1);
    const ppsched::Timeline timeline = ppsched::Schedule::generate(config, "1f1b").evaluate(config);
    const std::vector<double> causes = timeline.peak_causes(1);
    double sum = 0;
    for (double cause : causes)
        sum += cause;
    CHECK(causes[PPSCHED_MEMORY_CAUSE_GRADIENTS] == 5 && sum == timeline.device_metrics(1).peak_memory);
    CHECK(timeline.memory(1, PPSCHED_MEMORY_CAUSE_GRADIENTS).size() == 2);
    CHECK(timeline.peak_items(1).size() == 3); /* what is beside, gradients, one stage pass */
    CHECK(timeline.idle_windows(1).front().start == 0);
}

CASE(test_timeline_outlives_what_it_is_of)
{
    Timeline timeline = orphan();
    CHECK(timeline.schedule().name() == "1f1b" && tokens(timeline.schedule().queue(1)).front() == "1F0");
    CHECK(timeline.metrics().makespan == timeline.spans(0)[3].end);
    const Schedule schedule = timeline.schedule(), other = orphan().schedule();
    const auto ops = schedule.queue(0);
    CHECK(other.check().empty());

    Timeline moved(std::move(timeline));
    CHECK(moved.metrics().makespan == 9 && timeline.get() == nullptr);
    CHECK(status_of([&] { (void)timeline.metrics(); }) == PPSCHED_ERROR_ARGUMENT);
    CHECK(status_of([&] { (void)timeline.spans(0); }) == PPSCHED_ERROR_RANGE);
    CHECK(status_of([&] { (void)timeline.memory(0); }) == PPSCHED_ERROR_RANGE);
    CHECK(status_of([&] { (void)timeline.critical_path(); }) == PPSCHED_ERROR_ARGUMENT);
    CHECK(status_of([&] { (void)timeline.slack_by_device(); }) == PPSCHED_ERROR_ARGUMENT);
    CHECK(status_of([&] { (void)timeline.sensitivities(); }) == PPSCHED_ERROR_ARGUMENT);
    Timeline &self = moved;
    moved = std::move(self);
    CHECK(moved.metrics().makespan == 9);
    moved = orphan();
    timeline = std::move(moved);
    CHECK(timeline.metrics().makespan == 9);
    CHECK(tokens(ops).back() == "0B1"); /* our copy of the schedule keeps them */
}

CASE(test_evaluate)
{
    Config config(2, 2, 4);
    config.set_values(PPSCHED_QUANTITY_FORWARD_TIMES, {1, 2});
    config.set_values(PPSCHED_QUANTITY_MEM_LIMIT, {1, 9});
    const Schedule schedule = Schedule::generate(config, "1f1b");
    const Timeline timeline = schedule.evaluate(config);
    const ppsched::Metrics metrics = timeline.metrics();
    CHECK(metrics.size == sizeof(ppsched_metrics) && metrics.limit_device == 0 && metrics.peak_memory == 2);
    bool tight = false;
    for (uint32_t device = 0; device < 2; device++) {
        const auto spans = timeline.spans(device);
        const auto latest = timeline.latest_starts(device);
        CHECK(spans.size() == schedule.queue(device).size() && latest.size() == spans.size());
        for (size_t i = 0; i < spans.size(); i++) {
            CHECK(latest[i] >= spans[i].start && spans[i].end <= metrics.makespan);
            tight = tight || latest[i] == spans[i].start;
        }
        const ppsched::DeviceMetrics figures = timeline.device_metrics(device);
        const ppsched::Idle idle = timeline.idle(device);
        CHECK(figures.busy + figures.idle == metrics.makespan && figures.memory_limit == (device == 0 ? 1 : 9));
        CHECK(std::abs(idle.fill + idle.drain + idle.neighbour + idle.imbalance - figures.idle) < 1e-9);
    }
    CHECK(tight);

    const Timeline earliest = schedule.evaluate(config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY);
    CHECK(earliest.metrics().makespan == metrics.makespan && earliest.latest_starts(0).empty());
    const auto left_out = thrown<ppsched::Error>([&] { (void)earliest.idle(0); });
    CHECK(left_out && left_out->status() == PPSCHED_ERROR_ARGUMENT);
    CHECK(left_out && std::string(left_out->what()).find("EARLIEST_ONLY") != std::string::npos);
    CHECK(status_of([&] { (void)earliest.idle(2); }) == PPSCHED_ERROR_RANGE);
    CHECK(status_of([&] { (void)timeline.device_metrics(2); }) == PPSCHED_ERROR_RANGE);
}

CASE(test_memory_curve)
{
    Config config(2, 2, 4);
    config.set_values(PPSCHED_QUANTITY_MEM_STATIC, 10);
    const Timeline timeline = Schedule::generate(config, "1f1b").evaluate(config);
    const std::vector<ppsched::MemoryPoint> curve = timeline.memory(0);
    CHECK(curve.size() == 9 && curve[0].time == 0 && curve[0].memory == 10 && curve.back().memory == 10);
    double peak = 0;
    for (const ppsched::MemoryPoint &point : curve)
        peak = std::max(peak, point.memory);
    CHECK(peak == timeline.device_metrics(0).peak_memory && peak == 12);
    CHECK(status_of([&] { (void)timeline.memory(2); }) == PPSCHED_ERROR_RANGE);
}

CASE(test_explain)
{
    Config config(2, 2, 4);
    config.set_values(PPSCHED_QUANTITY_FORWARD_TIMES, {1, 2});
    const Schedule schedule = Schedule::generate(config, "1f1b");
    const Timeline timeline = schedule.evaluate(config);
    const std::vector<ppsched::CriticalOp> path = timeline.critical_path();
    CHECK(path.size() >= 3 && path.front().start == 0 && path.back().end == timeline.metrics().makespan);
    CHECK(path.front().reason == PPSCHED_REASON_BEGIN);
    for (const ppsched::CriticalOp &op : path)
        CHECK(timeline.latest_starts(op.device)[op.position] == op.start);

    CHECK((timeline.slack_by_device() == std::vector<double>{0, 0}) && timeline.slack_by_stage().size() == 2);
    const std::vector<ppsched::Sensitivity> all = timeline.sensitivities();
    const auto forward = timeline.sensitivities(PPSCHED_OBJECTIVE_SPAN, PPSCHED_KIND_F);
    CHECK(all.size() == 2 && all[1].more == 8 && all[1].less == 8); /* four F and four B of the slower stage */
    CHECK(forward.size() == 2 && forward[1].more == 4);
    CHECK(status_of([&] { (void)timeline.sensitivities(PPSCHED_OBJECTIVE_SPAN, 99); }) == PPSCHED_ERROR_ARGUMENT);
    double share = 0;
    const auto told = timeline.sensitivities(PPSCHED_OBJECTIVE_MAKESPAN, 0, [&](const ppsched_progress &progress) {
        share = progress.share;
        return true;
    });
    CHECK(share == 1 && told.size() == all.size());
    const auto stop = [&] { (void)timeline.sensitivities(PPSCHED_OBJECTIVE_SPAN, 0, [](const auto &) { return false; }); };
    CHECK(thrown<ppsched::Cancelled>(stop).has_value());

    const Timeline earliest = schedule.evaluate(config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY);
    CHECK(earliest.critical_path().size() == path.size());
    CHECK(status_of([&] { (void)earliest.slack_by_stage(); }) == PPSCHED_ERROR_ARGUMENT);
    const Timeline sending = lowered(schedule, PPSCHED_LOWERING_PYTORCH).evaluate_transfers(config);
    CHECK(status_of([&] { (void)sending.critical_path(); }) == PPSCHED_ERROR_ARGUMENT);
}

CASE(test_update)
{
    Config config(2, 2, 4);
    const Schedule schedule = Schedule::generate(config, "1f1b");
    Timeline timeline = schedule.evaluate(config, PPSCHED_EVALUATE_FLAG_REUSABLE);
    const double before = timeline.metrics().makespan;
    config.set_values(PPSCHED_QUANTITY_FORWARD_TIMES, 3);
    timeline.update(config);
    CHECK(timeline.metrics().makespan > before);
    CHECK(timeline.metrics().makespan == schedule.evaluate(config).metrics().makespan);
    CHECK(status_of([&] { timeline.update(Config(4, 4, 4)); }) == PPSCHED_ERROR_MISMATCH);
    Timeline once = schedule.evaluate(config);
    CHECK(status_of([&] { once.update(config); }) == PPSCHED_ERROR_ARGUMENT);
}

CASE(test_evaluate_transfers)
{
    Config config(4, 8, 8);
    config.set_values(PPSCHED_QUANTITY_P2P_TIME, 0.125);
    const Schedule schedule = Schedule::generate(config, "interleaved_1f1b");
    const Schedule sending = lowered(schedule, PPSCHED_LOWERING_PYTORCH);
    CHECK(sending.evaluate_transfers(config).metrics().makespan == schedule.evaluate(config).metrics().makespan);

    config.set_values(PPSCHED_QUANTITY_P2P_BANDWIDTH, 10);
    config.set_values(PPSCHED_QUANTITY_ACTIVATION_BYTES, 2);
    ppsched::ChannelModel model;
    model.order = PPSCHED_CHANNEL_ORDER_GROUP;
    model.rendezvous = 1;
    const Timeline free = sending.evaluate_transfers(config), grouped = sending.evaluate_transfers(config, model);
    CHECK(grouped.metrics().makespan > free.metrics().makespan && grouped.latest_starts(0).empty());
    double head_of_line = 0;
    for (uint32_t device = 0; device < 4; device++)
        head_of_line += grouped.idle(device).head_of_line;
    CHECK(head_of_line > 0);
    CHECK(free.idle(1).calls == 0);

    Config calling = config;
    calling.set_values(PPSCHED_QUANTITY_SEND_OVERHEAD, {0.5, 0, 0, 0});
    CHECK(sending.evaluate_transfers(calling).idle(0).calls >= 0.5 * 2 * 16);
    CHECK(schedule.evaluate(calling).metrics().makespan == schedule.evaluate(config).metrics().makespan);
    CHECK(status_of([&] { calling.set_values(PPSCHED_QUANTITY_SEND_OVERHEAD, -1); }) == PPSCHED_ERROR_RANGE);
    model.order = 99;
    CHECK(status_of([&] { (void)sending.evaluate_transfers(config, model); }) == PPSCHED_ERROR_ARGUMENT);
}

} // namespace
