/* SPDX-License-Identifier: Apache-2.0 */
/* Models by their layers: shared, split, planned, launched. */
#include <string>
#include <vector>

#include "cases.hpp"

using ppsched::Config;
using ppsched::Layer;
using ppsched::Layers;
using ppsched::Plan;
using ppsched::Split;

namespace {

const ppsched_recompute full[] = {{"full", 1, 0.25}};

/* An embedding, decoders that may be computed again, a head. */
Layers model(uint32_t decoders)
{
    Layer embedding, decoder, head;
    embedding.name = "embedding";
    embedding.place = PPSCHED_LAYER_PLACE_FIRST;
    decoder.name = "decoder";
    decoder.count = decoders;
    decoder.forward_time = 1;
    decoder.backward_time = 2;
    decoder.mem_forward = 1;
    decoder.recomputes = full;
    decoder.recompute_count = 1;
    head.name = "head";
    head.place = PPSCHED_LAYER_PLACE_LAST;
    head.forward_time = 0.5;
    return Layers({embedding, decoder, head});
}

CASE(test_layers)
{
    Layers layers = model(4);
    CHECK(layers.size() == 6 && layers.entries() == 3);
    const Layer entry = layers.entry(1);
    CHECK(entry.count == 4 && entry.backward_input_time == 1 && std::string(entry.recomputes[0].name) == "full");
    CHECK(status_of([&] { (void)layers.entry(3); }) == PPSCHED_ERROR_RANGE);
    CHECK(status_of([] { (void)Layers(std::vector<Layer>()); }) == PPSCHED_ERROR_RANGE);
    CHECK(status_of([] { (void)Layers({Layer()}); }) == PPSCHED_ERROR_ARGUMENT);

    Layers same = layers, moved = std::move(layers);
    CHECK(same.get() == moved.get() && layers.get() == nullptr && layers.size() == 0);
    layers = same;
    CHECK(layers.get() == moved.get() && layers.size() == 6);
}

CASE(test_config_from_layers)
{
    const Layers layers = model(4);
    Config base(2, 2, 4);
    base.set_values(PPSCHED_QUANTITY_P2P_TIME, 0.25);
    base.set_progress([](const ppsched_progress &) { return true; });
    const Config config = base.from_layers(layers, {{2, 4}, {0, 1, 0, 0, 0, 0}});
    CHECK(config.values(PPSCHED_QUANTITY_FORWARD_TIMES)[1] == 3.5 && config.values(PPSCHED_QUANTITY_BACKWARD_TIMES)[0] == 3);
    CHECK(config.values(PPSCHED_QUANTITY_P2P_TIME)[0] == 0.25 && config.progress());
    CHECK(base.from_layers(layers, {{3, 1, 2}, {}}).stages() == 3);
    CHECK(status_of([&] { (void)base.from_layers(layers, {{3, 2}, {}}); }) == PPSCHED_ERROR_RANGE);
    CHECK(status_of([&] { (void)base.from_layers(layers, {{3, 3}, {1}}); }) == PPSCHED_ERROR_RANGE);
}

CASE(test_plan_with_layers)
{
    const Layers layers = model(6);
    Config base(2, 2, 4);
    base.set_values(PPSCHED_QUANTITY_MEM_LIMIT, 4);
    ppsched::PlanOptions options;
    options.layers = layers;
    options.runtime = PPSCHED_RUNTIME_MEGATRON;
    options.runtimes = 1u << PPSCHED_RUNTIME_MEGATRON;
    Plan plan(base, options);
    CHECK(thrown<ppsched::Refused>([&] { (void)plan.split(0); }));
    plan.run();
    const uint32_t number = plan.candidate_at_rank(0).value();
    const ppsched::Candidate best = plan.candidate(number);
    const Split split = plan.split(number);
    CHECK(best.fits && best.runs_on == options.runtimes && split.layers.size() == best.stages && split.recomputes.size() == 8);

    const Config problem = base.from_layers(layers, split);
    const ppsched::Schedule schedule = ppsched::Schedule::generate(plan.config(number), best.strategy);
    CHECK(schedule.evaluate(problem).metrics().makespan == best.makespan);
    const ppsched::Sized<ppsched_split> told = split.get(layers);
    ppsched::LaunchOptions launch;
    launch.model = layers.get();
    launch.split = &told;
    CHECK(schedule.launch(PPSCHED_RUNTIME_MEGATRON, launch).find("--num-layers 6") != std::string::npos);

    for (uint32_t effort : {1u, 4u, 5u}) {
        options.split_effort = effort;
        CHECK(status_of([&] { (void)Plan(base, options); }) == (effort < 5 ? PPSCHED_OK : PPSCHED_ERROR_RANGE));
    }
    options.split_effort = 0;
    options.layers.reset();
    Plan without(base, options);
    CHECK(status_of([&] { (void)without.split(0); }) == PPSCHED_ERROR_ARGUMENT);
    options.empty_stages = true;
    CHECK(status_of([&] { (void)Plan(base, options); }) == PPSCHED_ERROR_ARGUMENT); /* of which layers? */
}

} // namespace
