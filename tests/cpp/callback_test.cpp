/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks: what they are told, and what they throw. */
#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cases.hpp"

using ppsched::Builder;
using ppsched::Config;
using ppsched::Plan;
using ppsched::Schedule;
using ppsched::Timeline;

namespace {

struct Own : std::logic_error {
    int number;
    explicit Own(int n) : std::logic_error("own"), number(n) {}
};

CASE(test_progress)
{
    double last = 0, best = 0;
    Config config = uneven();
    config.set_progress([&](const ppsched_progress &progress) {
        CHECK(progress.share >= last && progress.share <= 1);
        last = progress.share, best = progress.best;
        return true;
    });
    const Schedule schedule = Schedule::generate(config, "auto");
    CHECK(last == 1 && best == schedule.evaluate(config).metrics().span);
    config.set_progress(nullptr);
    CHECK(same_queues(Schedule::generate(config, "auto"), schedule));
}

CASE(test_progress_stops_and_throws)
{
    int calls = 0;
    Config config = uneven();
    config.set_progress([&](const ppsched_progress &) { return ++calls < 2; });
    const auto cancelled = thrown<ppsched::Cancelled>([&] { (void)Schedule::generate(config, "auto"); });
    CHECK(cancelled && cancelled->status() == PPSCHED_ERROR_CANCELLED && calls == 2);

    calls = 0;
    config.set_progress([&](const ppsched_progress &) -> bool { throw Own(++calls); });
    const auto own = thrown<Own>([&] { (void)Schedule::generate(config, "auto"); });
    CHECK(own && own->number == 1 && calls == 1);

    config.set_progress(
        [&](const ppsched_progress &progress) { return progress.share < 1 ? true : throw 42; }); /* with all the work done */
    CHECK(thrown<int>([&] { (void)Schedule::generate(config, "auto"); }) == 42);
    config.set_progress([](const ppsched_progress &) -> bool { throw std::bad_alloc(); });
    CHECK(thrown<std::bad_alloc>([&] { (void)Schedule::generate(config, "auto"); }));
    Config simple(2, 2, 2);
    simple.set_progress(config.progress());
    CHECK(Schedule::generate(simple, "1f1b").op_count() == 8); /* does not search, so it tells nothing */
}

CASE(test_generator_throws)
{
    const Config config(2, 2, 2);
    const auto own = thrown<Own>([&] {
        (void)Schedule::generate_with(config, "own", [](const Config &, Builder &builder) {
            builder.append(0, ppsched::make_op(0, PPSCHED_KIND_F, 0));
            throw Own(7);
        });
    });
    CHECK(own && own->number == 7);
    CHECK(thrown<int>([&] { (void)Schedule::generate_with(config, "int", [](auto &, auto &) { throw 42; }); }) == 42);

    const auto error = thrown<ppsched::Error>([&] { /* what the builder threw, not that the generator failed */
                                                    (void)Schedule::generate_with(
                                                        config, "far", [](const Config &, Builder &builder) {
                                                            builder.append(9, ppsched::make_op(0, PPSCHED_KIND_F, 0));
                                                        });
    });
    CHECK(error && error->status() == PPSCHED_ERROR_RANGE);
    CHECK(thrown<std::bad_function_call>([&] { (void)Schedule::generate_with(config, "none", nullptr); }));
}

CASE(test_generator_inside_a_generator)
{
    const Config config(2, 2, 2);
    const Schedule outer = Schedule::generate_with(config, "outer", [](const Config &given, Builder &builder) {
        CHECK(thrown<Own>([&] { (void)Schedule::generate_with(given, "x", [](auto &, auto &) { throw Own(1); }); }));
        const Schedule inner = Schedule::generate(given, "1f1b");
        for (uint32_t device = 0; device < inner.devices(); device++)
            builder.append(device, inner.queue(device));
    });
    CHECK(same_queues(outer, Schedule::generate(config, "1f1b")));
}

CASE(test_writer)
{
    const Config config(8, 8, 64); /* a text of several parts */
    const Timeline timeline = Schedule::generate(config, "1f1b").evaluate(config);
    const std::string whole = timeline.export_to_string(PPSCHED_FORMAT_CHROME_TRACE);
    std::string parts;
    int calls = 0;
    timeline.export_to([&](std::string_view data) { return calls++, parts += data, true; }, PPSCHED_FORMAT_CHROME_TRACE);
    CHECK(calls > 1 && parts == whole);

    calls = 0;
    const auto stop = [&](std::string_view) { return ++calls < 2; };
    CHECK(status_of([&] { timeline.export_to(stop, PPSCHED_FORMAT_CHROME_TRACE); }) == PPSCHED_ERROR_WRITER && calls == 2);
    calls = 0;
    const auto own = [&](std::string_view) -> bool { throw Own(++calls); };
    CHECK(thrown<Own>([&] { timeline.export_to(own, PPSCHED_FORMAT_CHROME_TRACE); }) && calls == 1);
    CHECK(thrown<Own>([&] { timeline.schedule().export_to(own, PPSCHED_FORMAT_CSV); }));
    CHECK(thrown<std::bad_function_call>([&] { timeline.export_to(nullptr, PPSCHED_FORMAT_TEXT); }));
}

CASE(test_plan_tells_its_progress)
{
    double last = 0, best = 0;
    int calls = 0;
    Config config = uneven();
    config.set_progress([&](const ppsched_progress &progress) {
        CHECK(progress.share >= last && progress.share <= 1);
        last = progress.share, best = progress.best;
        return ++calls, true;
    });
    ppsched::PlanOptions options;
    options.strategies = {"auto", "v_min"};
    options.chunks = {2};
    options.effort = 1;
    Plan plan(config, options);
    config.set_progress(nullptr); /* the plan has its own */
    plan.evaluate(0);
    CHECK(calls == 0);
    plan.run();
    const uint32_t number = best_of(plan);
    CHECK(last == 1 && plan.candidate(number).fits && best == plan.candidate(number).step_time);
    calls = 0;
    Plan moved(std::move(plan));
    CHECK(moved.timeline(number).metrics().makespan == moved.candidate(number).makespan && calls == 0);
    Config own = moved.config(number);
    last = 0;
    (void)Schedule::generate(own, moved.candidate(number).strategy); /* and so has the candidate's problem */
    CHECK(calls > 0);
    last = 0, calls = 0;
    moved.run(); /* nothing is left to do */
    CHECK(calls > 0 && last == 1);
    calls = 0;
    own.set_progress(nullptr);
    {
        const Plan gone(std::move(moved));
    }
    (void)Schedule::generate(own, "auto"); /* tells neither the plan nor us */
    CHECK(calls == 0);
}

CASE(test_plan_progress_stops_and_throws)
{
    int calls = 0;
    bool throws = false;
    Config config = uneven();
    config.set_progress([&](const ppsched_progress &) {
        if (throws)
            throw Own(calls);
        return ++calls < 3;
    });
    Plan plan(config);
    CHECK(thrown<ppsched::Cancelled>([&] { plan.run(); }) && calls == 3);
    throws = true;
    const auto own = thrown<Own>([&] { plan.run(); });
    CHECK(own && own->number == 3);
    throws = false, calls = -1000000;
    plan.run();
    CHECK(plan.candidate(best_of(plan)).fits);
    CHECK(plan.timeline(best_of(plan)).schedule().check().empty());
}

CASE(test_threads_share_a_config)
{
    Config config = uneven();
    config.set_progress([](const ppsched_progress &) -> bool { throw std::this_thread::get_id(); });
    std::array<bool, 4> right{};
    std::vector<std::thread> threads;
    for (bool &own : right)
        threads.emplace_back([&own, &config] {
            own = true;
            for (int i = 0; i < 20; i++) {
                const auto id = thrown<std::thread::id>([&] { (void)Schedule::generate(config, "auto"); });
                own = own && id == std::this_thread::get_id();
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    CHECK(std::all_of(right.begin(), right.end(), [](bool own) { return own; }));
}

} // namespace
