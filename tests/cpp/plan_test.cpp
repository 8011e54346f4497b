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
    config.set_values(PPSCHED_QUANTITY_MEM_LIMIT, 5);
    Plan plan(config);
    CHECK(plan.size() > 30 && !plan.candidate(0).evaluated);
    plan.run();
    const uint32_t number = plan.candidate_at_rank(0).value();
    const ppsched::Candidate best = plan.candidate(number);
    CHECK(best.rank == 0 && best.fits && best.step_time == best.makespan && best.bound <= best.step_time &&
          best.peak_memory <= 5);
    const Config problem = plan.config(number);
    CHECK(problem.stages() == best.stages && problem.microbatches() == best.microbatches && !problem.progress());
    CHECK(Schedule::generate(problem, best.strategy).evaluate(problem).metrics().makespan == best.makespan);
    const Timeline timeline = plan.timeline(number);
    CHECK(timeline.metrics().makespan == best.makespan && timeline.schedule().name() == best.strategy);

    const uint32_t last = plan.size() - 1;
    CHECK(status_of([&] { (void)plan.candidate(last + 1); }) == PPSCHED_ERROR_RANGE);
    CHECK(status_of([&] { plan.evaluate(last + 1); }) == PPSCHED_ERROR_RANGE);

    Plan moved(std::move(plan));
    CHECK(moved.candidate(number).strategy == std::string(best.strategy) && plan.size() == 0);
    CHECK(status_of([&] { plan.run(); }) == PPSCHED_ERROR_ARGUMENT);
    plan = std::move(moved);
    CHECK(plan.candidate(number).fits);
}

CASE(test_plan_numbers_and_ranks)
{
    ppsched::PlanOptions options;
    options.strategies = {"gpipe", "1f1b", "zb_h2"};
    Plan plan(Config(4, 4, 8), options);
    std::vector<std::string> before;
    for (uint32_t i = 0; i < plan.size(); i++) {
        before.emplace_back(plan.candidate(i).strategy);
        CHECK(plan.candidate(i).rank == PPSCHED_NONE && !plan.candidate_at_rank(i));
    }
    CHECK(before == options.strategies);
    plan.run();
    for (uint32_t i = 0; i < plan.size(); i++) {
        CHECK(plan.candidate(i).strategy == before[i]); /* a candidate keeps its number */
        CHECK(plan.candidate_at_rank(plan.candidate(i).rank) == i);
    }
    CHECK(plan.candidate(best_of(plan)).strategy == std::string("zb_h2") && plan.candidate(2).rank == 0);
    CHECK(!plan.candidate_at_rank(plan.size()));
    const Plan moved(std::move(plan));
    CHECK(best_of(moved) == 2 && !plan.candidate_at_rank(0));
}

CASE(test_plan_options)
{
    Config config(4, 4, 8);
    config.set_values(PPSCHED_QUANTITY_P2P_BANDWIDTH, 10);
    config.set_values(PPSCHED_QUANTITY_ACTIVATION_BYTES, 2);
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
    CHECK(!limited.candidate(best_of(limited)).fits && least.limit > 0.25 && least.candidate < limited.size());
    const uint32_t last = limited.candidate_at_rank(limited.size() - 1).value();
    const ppsched::Candidate refused = limited.candidate(last);
    CHECK(refused.status == PPSCHED_ERROR_REFUSED && refused.reason != nullptr && *refused.reason != '\0');
    CHECK(thrown<ppsched::Refused>([&] { (void)limited.timeline(last); }));

    options = {};
    options.top = 1;
    Plan few(config, options);
    few.run();
    const ppsched::Candidate least_known = few.candidate(few.candidate_at_rank(few.size() - 1).value());
    CHECK(few.candidate(best_of(few)).fits && least_known.evaluated == 0 && least_known.status == PPSCHED_OK);

    options = {};
    options.strategies = {"interleaved_1f1b"};
    options.lowering = PPSCHED_LOWERING_JUST_IN_TIME;
    options.unshard = 1;
    options.unshard_lookahead = PPSCHED_UNSHARD_LOOKAHEAD_NEEDED;
    options.reduce_grad = true;
    config.set_values(PPSCHED_QUANTITY_UNSHARD_TIMES, 1);
    Plan sharded(config, options);
    sharded.run();
    options.unshard = 0;
    options.unshard_lookahead = PPSCHED_UNSHARD_LOOKAHEAD_FULL;
    Plan whole(config, options);
    whole.run();
    CHECK(sharded.candidate(best_of(sharded)).step_time > whole.candidate(best_of(whole)).step_time);

    options = {};
    options.strategies = {"1f1b"};
    options.lowering = PPSCHED_LOWERING_JUST_IN_TIME;
    options.channel = ppsched::ChannelModel{};
    options.channel->rendezvous = true;
    config.set_values(PPSCHED_QUANTITY_P2P_TIME, 0.25);
    Plan late(config, options);
    late.run();
    options.receive_prefetch = 1;
    Plan ahead(config, options);
    ahead.run();
    CHECK(ahead.candidate(best_of(ahead)).step_time < late.candidate(best_of(late)).step_time);
    config.set_values(PPSCHED_QUANTITY_P2P_TIME, 0.0);

    options = {};
    options.strategies = {"1f1b", "v_1f1b"};
    options.placements = 1u << PPSCHED_PLACEMENT_V;
    Plan v(config, options);
    CHECK(v.size() > 0);
    for (uint32_t i = 0; i < v.size(); i++)
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
    CHECK(grouped.candidate(best_of(grouped)).makespan > free.candidate(best_of(free)).makespan);
    const Config problem = grouped.config(best_of(grouped));
    CHECK(problem.values(PPSCHED_QUANTITY_FORWARD_TIMES)[7] == 0.75);
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
