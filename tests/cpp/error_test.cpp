/* SPDX-License-Identifier: Apache-2.0 */
/* What calls throw, and that nothing is lost where memory is short. */
#include <algorithm>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>

#include "cases.hpp"

using ppsched::Builder;
using ppsched::Config;
using ppsched::Plan;
using ppsched::Schedule;

namespace {

CASE(test_errors_tell_what_and_where)
{
    Config config(2, 4, 3);
    const auto range = thrown<ppsched::Error>([&] { config.set_values(PPSCHED_QUANTITY_FORWARD_TIMES, {1, 1, -1, 1}); });
    CHECK(range && range->status() == PPSCHED_ERROR_RANGE && range->position() == 2u && range->stage() == 2u);
    CHECK(range && !range->device() && !range->microbatch());
    CHECK(range && std::string(range->what()).find("forward_times") != std::string::npos);
    CHECK(status_of([&] { config.set_values(PPSCHED_QUANTITY_FORWARD_TIMES, {1, 2, 3}); }) == PPSCHED_ERROR_LENGTH);
    CHECK(status_of([&] { (void)Schedule::generate(config, "2f2b"); }) == PPSCHED_ERROR_UNKNOWN_STRATEGY);
    CHECK(status_of([] { Config(0, 1, 1); }) == PPSCHED_ERROR_RANGE);

    const auto refused = thrown<ppsched::Refused>([&] { (void)Schedule::generate(config, "1f1b"); });
    CHECK(refused && refused->status() == PPSCHED_ERROR_REFUSED && *refused->what() != '\0');
    CHECK(thrown<ppsched::Refused>([&] { ppsched::strategy_fits("1f1b", config); }));

    const Schedule empty = Builder(config).finish();
    const auto invalid = thrown<ppsched::InvalidSchedule>([&] { (void)empty.evaluate(config); });
    CHECK(invalid && invalid->status() == PPSCHED_ERROR_INVALID_SCHEDULE && invalid->device() == 0u);
    CHECK(status_of([&] { (void)empty.evaluate(Config(3, 4, 3)); }) == PPSCHED_ERROR_MISMATCH);

    const auto syntax = thrown<ppsched::Error>([] { (void)Schedule::from_text("0F0,0B0\n1F0,x\n", PPSCHED_FORMAT_CSV); });
    CHECK(syntax && syntax->status() == PPSCHED_ERROR_SYNTAX && syntax->device() == 1u && syntax->position() == 1u);
    CHECK(status_of([] { (void)Schedule::from_text({}, PPSCHED_FORMAT_CSV); }) == PPSCHED_ERROR_SYNTAX);
    CHECK(status_of([] { (void)Schedule::from_text("", PPSCHED_FORMAT_TEXT); }) == PPSCHED_ERROR_ARGUMENT);

    try { /* as the standard's, too */
        (void)Schedule::generate(config, "1f1b");
        CHECK(false);
    } catch (const std::runtime_error &error) {
        CHECK(dynamic_cast<const ppsched::Error *>(&error) != nullptr);
    }
}

CASE(test_texts_with_nul_are_turned_down)
{
    const std::string text("1f1b\0x", 6);
    Config config(2, 2, 2);
    CHECK(status_of([&] { (void)Schedule::generate(config, text); }) == PPSCHED_ERROR_ARGUMENT);
    CHECK(status_of([&] { (void)Schedule::generate_with(config, text, [](auto &, auto &) {}); }) == PPSCHED_ERROR_ARGUMENT);
    CHECK(status_of([&] { config.set_option(text, 1); }) == PPSCHED_ERROR_ARGUMENT);
    CHECK(status_of([&] { config.set_option("effort", text); }) == PPSCHED_ERROR_ARGUMENT);
    CHECK(status_of([&] { Builder(config).set_name(text); }) == PPSCHED_ERROR_ARGUMENT);
    CHECK(status_of([&] { (void)ppsched::strategy_find(text); }) == PPSCHED_ERROR_ARGUMENT);
}

/* An allocator that gives `left` times and counts what is out. */
struct Budget {
    long left, out;

    ppsched::Environment environment()
    {
        ppsched::Environment environment;
        environment.user = this;
        environment.allocate = [](void *user, size_t size) -> void * {
            Budget &own = *static_cast<Budget *>(user);
            void *memory = own.left-- > 0 ? std::malloc(size) : nullptr;
            own.out += memory != nullptr;
            return memory;
        };
        environment.release = [](void *user, void *memory) {
            static_cast<Budget *>(user)->out--;
            std::free(memory);
        };
        return environment;
    }
};

void use_everything(Budget &budget)
{
    const ppsched::Environment environment = budget.environment();
    Config config(2, 4, 3, &environment);
    config.set_values(PPSCHED_QUANTITY_FORWARD_TIMES, 2);
    config.set_option("effort", 1);
    config.set_progress([](const ppsched_progress &) { return true; });
    const Config copy(config);
    const Schedule searched = Schedule::generate(copy, "auto");
    const Schedule repeated = Schedule::generate_with(config, "again", [&](const Config &, Builder &builder) {
        for (uint32_t device = 0; device < searched.devices(); device++)
            builder.append(device, searched.queue(device));
    });
    const Schedule sending = lowered(repeated, PPSCHED_LOWERING_JUST_IN_TIME);
    CHECK(sending.prove({}).safe && !sending.links().empty() && !sending.buffers(1).ops.empty() && sending.check().empty());
    const std::string text = sending.evaluate_transfers(config).export_to_string(PPSCHED_FORMAT_JSON);
    CHECK(Schedule::from_text(text, PPSCHED_FORMAT_JSON, &environment).op_count() == sending.op_count());
    CHECK(repeated.evaluate(config).metrics().makespan >= ppsched::lower_bound(config).value);

    ppsched::PlanOptions options;
    options.strategies = {"gpipe", "v_1f1b", "interleaved_1f1b"};
    Plan plan(config, options);
    plan.run();
    const uint32_t best = best_of(plan);
    CHECK(plan.timeline(best).metrics().makespan == plan.candidate(best).makespan && plan.config(best).devices() == 2);
    CHECK(plan.least_limit().limit > 0);
}

CASE(test_no_memory)
{
    Budget rich{1000000, 0};
    use_everything(rich);
    CHECK(rich.out == 0);
    const long needed = 1000000 - rich.left;
    const long step = std::max(needed / 400, 1L);
    for (long given = 0; given < needed; given += given < 100 ? 1 : step) {
        Budget poor{given, 0};
        CHECK(thrown<std::bad_alloc>([&] { use_everything(poor); }) && poor.out == 0);
    }
}

} // namespace
