/* SPDX-License-Identifier: Apache-2.0 */
/* Config: values, options, copies, other sizes. */
#include <array>
#include <vector>

#include "cases.hpp"

using ppsched::Builder;
using ppsched::Config;
using ppsched::Schedule;

namespace {

CASE(test_config)
{
    Config config(3, 6, 5);
    CHECK(config.devices() == 3 && config.stages() == 6 && config.microbatches() == 5 && config.iterations() == 1);
    CHECK(config.placement() == PPSCHED_PLACEMENT_DEFAULT);
    config.set_iterations(2);
    config.set_sender_waits(PPSCHED_SENDER_WAITS_LIKE_KIND);
    CHECK(config.sender_waits() == PPSCHED_SENDER_WAITS_LIKE_KIND &&
          ppsched::Config(config).sender_waits() == config.sender_waits());
    config.set_sender_waits(PPSCHED_SENDER_WAITS_NEVER);
    CHECK(config.iterations() == 2);
    config.set_placement(PPSCHED_PLACEMENT_V);
    CHECK(config.placement() == PPSCHED_PLACEMENT_V);
    config.set_placement({0, 0, 1, 1, 2, 2});
    CHECK(config.placement() == PPSCHED_PLACEMENT_MAP);
    config.set_placement(std::vector<uint32_t>{2, 1, 0, 0, 1, 2});
    CHECK(Builder(config).finish().device_of(0) == 2u);
    config.set_weight_versions(2);
    CHECK(Builder(config).finish().weight_versions() == 2);
}

/* As std::span<double>: a row of values that may be changed through it. */
struct Row {
    double *values;
    size_t count;
    double *data() const { return values; }
    size_t size() const { return count; }
};

CASE(test_lists_of_numbers)
{
    Config config(2, 2, 1);
    CHECK(config.values(PPSCHED_QUANTITY_FORWARD_TIMES).empty());
    config.set_values(PPSCHED_QUANTITY_FORWARD_TIMES, 3);
    CHECK(config.values(PPSCHED_QUANTITY_FORWARD_TIMES).size() == 1 && config.values(PPSCHED_QUANTITY_FORWARD_TIMES)[0] == 3);
    config.set_values(PPSCHED_QUANTITY_FORWARD_TIMES, {1, 2.5});
    CHECK(config.values(PPSCHED_QUANTITY_FORWARD_TIMES).size() == 2 && config.values(PPSCHED_QUANTITY_FORWARD_TIMES)[1] == 2.5);
    const std::vector<double> list{4, 5};
    config.set_values(PPSCHED_QUANTITY_BACKWARD_TIMES, list);
    config.set_values(PPSCHED_QUANTITY_MEM_STATIC, std::array<double, 2>{6, 7});
    double changeable[] = {8, 9};
    config.set_values(PPSCHED_QUANTITY_MEM_WEIGHTS, Row{changeable, 2});
    CHECK(config.values(PPSCHED_QUANTITY_MEM_WEIGHTS)[1] == 9);
    CHECK(config.values(PPSCHED_QUANTITY_BACKWARD_TIMES)[1] == 5 && config.values(PPSCHED_QUANTITY_MEM_STATIC)[0] == 6);
    CHECK(config.values(PPSCHED_QUANTITY_BACKWARD_TIMES).data() != list.data());
    config.set_values(PPSCHED_QUANTITY_FORWARD_TIMES, {});
    config.set_values(PPSCHED_QUANTITY_BACKWARD_TIMES, std::vector<double>());
    CHECK(config.values(PPSCHED_QUANTITY_FORWARD_TIMES).empty() && config.values(PPSCHED_QUANTITY_BACKWARD_TIMES).empty());
    config.validate();
    config.set_values(PPSCHED_QUANTITY_BACKWARD_TIMES, 1);
    config.set_values(PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, 2);
    CHECK(status_of([&] { config.validate(); }) == PPSCHED_ERROR_RANGE);
}

CASE(test_options)
{
    Config config(2, 2, 2);
    config.set_option("effort", 1);
    ppsched::strategy_fits("auto", config);
    config.set_option("effort", "much");
    CHECK(status_of([&] { ppsched::strategy_fits("auto", config); }) == PPSCHED_ERROR_RANGE);
    config.clear_option("effort");
    ppsched::strategy_fits("auto", config);
    config.set_option("speed", std::string("9"));
    CHECK(status_of([&] { ppsched::strategy_fits("auto", config); }) == PPSCHED_ERROR_UNKNOWN_OPTION);
}

CASE(test_config_copies_and_moves)
{
    int calls = 0;
    Config config(2, 2, 2);
    config.set_values(PPSCHED_QUANTITY_FORWARD_TIMES, {1, 2});
    config.set_progress([&calls](const ppsched_progress &) { return ++calls > 0; });
    Config copy(config);
    config.set_values(PPSCHED_QUANTITY_FORWARD_TIMES, 9);
    CHECK(copy.values(PPSCHED_QUANTITY_FORWARD_TIMES).size() == 2 && copy.get() != config.get());
    (void)Schedule::generate(copy, "zb_auto");
    CHECK(calls > 0);

    const ppsched_config *handle = copy.get();
    Config moved(std::move(copy));
    CHECK(moved.get() == handle && moved.progress() && copy.get() == nullptr && copy.devices() == 0 && !copy.progress());
    CHECK(copy.values(PPSCHED_QUANTITY_FORWARD_TIMES).empty());
    CHECK(status_of([&] { copy.set_iterations(2); }) == PPSCHED_ERROR_ARGUMENT);
    CHECK(status_of([&] { Config again(copy); }) == PPSCHED_ERROR_ARGUMENT);
    CHECK(status_of([&] { (void)Schedule::generate(copy, "1f1b"); }) == PPSCHED_ERROR_ARGUMENT);
    copy = moved;
    CHECK(copy.devices() == 2 && moved.devices() == 2 && copy.get() != moved.get());

    Config &self = moved;
    moved = self;
    CHECK(moved.values(PPSCHED_QUANTITY_FORWARD_TIMES).size() == 2 && moved.progress());
    moved = std::move(self);
    CHECK(moved.values(PPSCHED_QUANTITY_FORWARD_TIMES).size() == 2 && moved.progress());
    moved = Config(5, 5, 5);
    CHECK(moved.devices() == 5 && !moved.progress());
}

CASE(test_other_numbers_of_stages_and_microbatches)
{
    Config config(2, 4, 8);
    config.set_values(PPSCHED_QUANTITY_FORWARD_TIMES, {2, 1, 1, 3});
    config.set_progress([](const ppsched_progress &) { return false; });
    ppsched::ModelEnd embedding{}, head{};
    embedding.forward_time = 1;
    head.forward_time = 2;
    const Config two = config.with_stages(2), four = two.with_stages(4, embedding, head);
    CHECK(two.stages() == 2 && two.values(PPSCHED_QUANTITY_FORWARD_TIMES)[1] == 4 && two.progress());
    CHECK(four.values(PPSCHED_QUANTITY_FORWARD_TIMES)[0] == 2 && four.values(PPSCHED_QUANTITY_FORWARD_TIMES)[3] == 3);
    CHECK(thrown<ppsched::Refused>([&] { (void)config.with_stages(3); }));
    const Config halves = config.with_microbatches(16);
    CHECK(halves.microbatches() == 16 && halves.values(PPSCHED_QUANTITY_FORWARD_TIMES)[0] == 1 && halves.progress());
    CHECK(status_of([&] { (void)config.with_microbatches(0); }) == PPSCHED_ERROR_RANGE);
}

} // namespace
