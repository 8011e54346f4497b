/* SPDX-License-Identifier: Apache-2.0 */
/* Models: what they cost, and their layers. */
#include <string>
#include <type_traits>
#include <utility>

#include "cases.hpp"

using ppsched::Model;

namespace {

static_assert(std::is_nothrow_move_constructible_v<Model> && !std::is_copy_constructible_v<Model>);

ppsched::Transformer llama()
{
    ppsched::Transformer shape;
    shape.flags = PPSCHED_TRANSFORMER_FLAG_GATED;
    shape.layers = 32;
    shape.hidden_size = 4096;
    shape.ffn_size = 11008;
    shape.heads = 32;
    shape.vocabulary_size = 32000;
    return shape;
}

CASE(test_model_layers)
{
    ppsched::Training training;
    training.sequence_length = 4096;
    training.tensor_parallel = 8;
    const ppsched::Description description(llama());
    Model model(description, training, ppsched::accelerator_at(0));
    CHECK(ppsched::accelerator_count() == 13 && ppsched::accelerator_at(13) == nullptr);
    CHECK(model.parameters().total == 6738415616u);
    CHECK(model.row_count() == 3 && model.row(1).layers == 32 && std::string(model.row(1).name) == "decoder");
    const ppsched::PassCost cost = model.pass_cost(1, PPSCHED_MODEL_PASS_FORWARD);
    const ppsched::LayerMemory memory = model.memory(1);
    const ppsched::Layers layers = model.layers();
    CHECK(layers.size() == 34 && layers.entry(1).forward_time == cost.time &&
          layers.entry(1).mem_forward == memory.activations);
    const double factors[] = {1, 1, 1, 2, 1, 1};
    ppsched::Calibration twice;
    twice.rows = 2;
    twice.factors = factors;
    const ppsched::Layers slower = model.layers(twice);
    CHECK(slower.entry(1).forward_time == 2 * cost.time);
    CHECK(model.update_cost(1e9).optimizer_time > 0 && model.update_cost(0).optimizer_time == 0);
    ppsched::MegatronPipeline pipeline;
    pipeline.devices = 1;
    CHECK(model.megatron_memory(pipeline).activation_bytes > 0);
    ppsched::Pipeline stages;
    stages.devices = 2;
    stages.microbatches = 4;
    const ppsched::Price price(model, stages);
    const ppsched::StepPrice step = price.step();
    CHECK(step.devices == 16 && step.step_time == step.pipeline_time + step.exposed_data_parallel + step.optimizer_time);
    CHECK(price.device(1).total > price.device(1).weights && price.device(1).logits > 0);
    CHECK(status_of([&] { price.device(2); }) == PPSCHED_ERROR_RANGE);
    const Model moved(std::move(model));
    CHECK(moved.parameters().output == 131072000u && model.get() == nullptr);
}

CASE(test_jobs)
{
    ppsched::Training training;
    training.sequence_length = 4096;
    ppsched::JobOptions options;
    options.gpus = 16;
    options.values[PPSCHED_JOB_DIMENSION_GLOBAL_BATCH] = {64};
    options.top = 3;
    const ppsched::Description description(llama());
    ppsched::Job job(description, training, *ppsched::accelerator_at(0), options);
    CHECK(job.size() > 10 && job.best_count() == 0 && !job.layout_at_rank(0));
    CHECK(status_of([&] { job.layout(job.size()); }) == PPSCHED_ERROR_RANGE);
    uint32_t told = 0;
    job.run([&](const ppsched_progress &progress) { return told++, progress.share <= 1; });
    CHECK(told > 3 && job.best_count() == 3 && job.layout_at_rank(0) && !job.layout_at_rank(3));
    const uint32_t best = *job.layout_at_rank(0);
    const ppsched::PricedLayout priced = job.evaluate(best);
    CHECK(job.layout(best).rank == 0 && job.layout(best).state == PPSCHED_JOB_STATE_PRICED);
    CHECK(priced.found.state == PPSCHED_JOB_STATE_PRICED && priced.price && priced.found.runs_on != 0);
    CHECK(priced.price->pipeline().devices == job.layout(best).pipeline && priced.price->pipeline().split != nullptr);
    CHECK(priced.price->step().step_time >= job.layout(best).bound);
    CHECK(!job.evaluate(best, job.layout(best).bound / 2).price);
    CHECK(status_of([&] { job.run(); }) == PPSCHED_ERROR_ARGUMENT);
    ppsched::Job stopped(description, training, *ppsched::accelerator_at(0), options);
    const auto status = thrown<ppsched::Cancelled>([&] { stopped.run([](const ppsched_progress &) { return false; }); });
    CHECK(status && status->status() == PPSCHED_ERROR_CANCELLED);
    options.types = {{ppsched::accelerator_at(0), 8, 0, 0}, {ppsched::accelerator_at(1), 8, 0, 0}};
    ppsched::Job typed(description, training, *ppsched::accelerator_at(0), options);
    CHECK(typed.size() > 10 && typed.layout(0).pipeline % 2 == 0 && typed.layout(0).type_order < 2);
    options.types[1].gpus = 4;
    CHECK(status_of([&] { ppsched::Job(description, training, *ppsched::accelerator_at(0), options); }) == PPSCHED_ERROR_RANGE);
    options.types.clear();
    options.values[PPSCHED_JOB_DIMENSION_GLOBAL_BATCH] = {0};
    CHECK(status_of([&] { ppsched::Job(description, training, *ppsched::accelerator_at(0), options); }) == PPSCHED_ERROR_RANGE);
}

CASE(test_calibrators)
{
    ppsched::Training training;
    training.sequence_length = 4096;
    ppsched::Pipeline stages;
    stages.devices = 2;
    stages.microbatches = 8;
    const ppsched::Description description(llama());
    ppsched::Calibrator calibrator(*ppsched::accelerator_at(0));
    const double planned =
        ppsched::Price(ppsched::Model(description, training, ppsched::accelerator_at(0)), stages).step().step_time;
    CHECK(ppsched::Model(description, training, ppsched::accelerator_at(0)).pipeline_link(stages, 0, 1).first ==
          ppsched::accelerator_at(0)->inside.latency);
    CHECK(ppsched::Model(description, training, ppsched::accelerator_at(0)).copies_time(2, 16) == 0);
    const ppsched::Model model(description, training, ppsched::accelerator_at(0));
    CHECK(model.update_cost(stages, 1e9).optimizer_time == model.update_cost(1e9).optimizer_time);
    CHECK(thrown<ppsched::Refused>([&] { calibrator.run(); }));
    calibrator.append_run(description, training, stages, 1.25 * planned);
    CHECK(status_of([&] { calibrator.append_run(description, training, stages, 0); }) == PPSCHED_ERROR_RANGE);
    CHECK(thrown<ppsched::Refused>([&] { calibrator.accelerator(); }));
    const auto status = thrown<ppsched::Cancelled>([&] { calibrator.run([](const ppsched_progress &) { return false; }); });
    CHECK(status && status->status() == PPSCHED_ERROR_CANCELLED && calibrator.constant_count() == 0);
    calibrator.run();
    CHECK(calibrator.run_count() == 1 && calibrator.run_at(0).error_before < -0.19 && calibrator.run_at(0).error_after > -0.03);
    CHECK(calibrator.constant_count() > 1 && calibrator.constant(0).constant == PPSCHED_CALIBRATOR_CONSTANT_MATRIX_SHARE);
    CHECK(calibrator.constant(0).after < calibrator.constant(0).before);
    CHECK(calibrator.accelerator().matrix_share == calibrator.constant(0).after);
}

CASE(test_model_errors)
{
    ppsched::Transformer shape = llama();
    shape.heads = 0;
    CHECK(status_of([&] { ppsched::Description{shape}; }) == PPSCHED_ERROR_RANGE);
    CHECK(status_of([] { Model(ppsched::Description(llama())).layers(); }) == PPSCHED_ERROR_RANGE);
    CHECK(status_of([] { Model(ppsched::Description(llama())).update_cost(-1); }) == PPSCHED_ERROR_RANGE);
}

CASE(test_description)
{
    const ppsched::Description description(
        "{\"hidden_size\": 64, \"vocabulary_size\": 128, \"kinds\": {\"m\": [{\"kind\": \"mlp\", "
        "\"width\": 128}]}, \"layers\": \"3xm\"}");
    const ppsched::DescriptionInfo info = description.info();
    CHECK(info.layer_count == 3 && info.kind_count == 1 && description.warnings().empty());
    const ppsched::Description again(description.json());
    CHECK(again.info().layer_count == 3);
    const ppsched::Description copy = description;
    CHECK(Model(copy).parameters().total == 2 * 64 * 128 + 64 + 3 * (2 * 64 * 128 + 64));
    CHECK(status_of([] { ppsched::Description{"{"}; }) == PPSCHED_ERROR_SYNTAX);
    CHECK(ppsched::model_families().size() > 60);
}

} // namespace
