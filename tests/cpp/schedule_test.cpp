/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules: made, copied, built, checked, lowered, proved; as texts. */
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cases.hpp"

using ppsched::Builder;
using ppsched::Config;
using ppsched::Schedule;
using ppsched::Timeline;

namespace {

CASE(test_keep_less)
{
    Config config(2, 4, 4);
    config.set_values(PPSCHED_QUANTITY_OFFLOAD_TIMES, {0.5});
    const Schedule schedule = Schedule::generate(config, "gis");
    ppsched::RecomputeOptions recompute;
    recompute.chunks = 1;
    ppsched::OffloadOptions offload;
    offload.chunks = PPSCHED_NONE;
    CHECK(schedule.recompute(recompute).op_count() == schedule.op_count() + 8);
    const Schedule offloaded = schedule.offload(offload, config);
    CHECK(offloaded.check().empty() && offloaded.op_count() > schedule.op_count());
    const double before = schedule.evaluate(config).metrics().peak_memory;
    CHECK(offloaded.evaluate(config).metrics().peak_memory < before);
}

CASE(test_generate)
{
    const Config config(4, 4, 8);
    const Schedule schedule = Schedule::generate(config, "1F1B");
    CHECK(schedule.name() == "1f1b" && schedule.devices() == 4 && schedule.stages() == 4 && schedule.microbatches() == 8);
    CHECK(schedule.iterations() == 1 && schedule.flushes() && schedule.weight_versions() == 1 && schedule.op_count() == 64);
    CHECK(schedule.placement() == PPSCHED_PLACEMENT_LINEAR && schedule.device_of(3, 7) == 3u && !schedule.device_of(4));
    CHECK(schedule.peer_of({0, 1, 0, PPSCHED_KIND_SEND_F, 0, 0}) == 2u && !schedule.peer_of({0, 1, 0, PPSCHED_KIND_F, 0, 0}));
    CHECK(schedule.check().empty());

    const auto ops = schedule.queue(3);
    size_t count = 0;
    CHECK(ops.data() == ppsched_queue_ops(ppsched_schedule_queue(schedule.get(), 3), &count) && ops.size() == count);
    CHECK(tokens(ops).front() == "3F0" && tokens(ops).back() == "3B7");
    CHECK(std::count_if(ops.begin(), ops.end(), [](const ppsched::Op &op) { return op.kind == PPSCHED_KIND_F; }) == 8);
    CHECK(status_of([&] { (void)schedule.queue(4); }) == PPSCHED_ERROR_RANGE);
}

CASE(test_schedule_copies_and_moves)
{
    Schedule schedule = Schedule::generate(Config(2, 2, 2), "gpipe");
    const ppsched_schedule *handle = schedule.get();
    Schedule copy(schedule);
    CHECK(copy.get() == handle && schedule.get() == handle);
    Schedule moved(std::move(schedule));
    CHECK(moved.get() == handle && schedule.get() == nullptr && schedule.devices() == 0 && schedule.name().empty());
    CHECK(status_of([&] { (void)schedule.queue(0); }) == PPSCHED_ERROR_RANGE);
    CHECK(status_of([&] { (void)schedule.check(); }) == PPSCHED_ERROR_ARGUMENT);
    CHECK(status_of([&] { (void)schedule.links(); }) == PPSCHED_ERROR_ARGUMENT);
    CHECK(status_of([&] { (void)schedule.prove({}); }) == PPSCHED_ERROR_ARGUMENT);
    CHECK(status_of([&] { (void)schedule.export_to_string(PPSCHED_FORMAT_CSV); }) == PPSCHED_ERROR_ARGUMENT);
    Schedule nothing(schedule);
    CHECK(nothing.get() == nullptr);
    schedule = moved;
    CHECK(schedule.get() == handle && moved.get() == handle);

    Schedule &self = moved;
    moved = self;
    CHECK(moved.get() == handle && moved.op_count() == 8);
    moved = std::move(self);
    CHECK(moved.get() == handle && moved.op_count() == 8);
    moved = Schedule::generate(Config(3, 3, 3), "gpipe");
    CHECK(moved.devices() == 3 && schedule.devices() == 2);

    std::vector<Schedule> many(10, schedule);
    many.resize(100, moved);
    CHECK(many[9].get() == handle && many[99].get() == moved.get());
}

CASE(test_handles_of_the_c_api)
{
    ppsched_config *config = nullptr;
    ppsched_schedule *schedule = nullptr;
    ppsched_timeline *timeline = nullptr;
    CHECK(ppsched_config_create(&config, 2, 2, 2, nullptr, nullptr) == PPSCHED_OK);
    Config own_config(config);
    CHECK(ppsched_schedule_generate(&schedule, own_config.get(), "1f1b", nullptr) == PPSCHED_OK);
    const Schedule own_schedule(schedule);
    CHECK(ppsched_schedule_evaluate(&timeline, schedule, config, 0, nullptr) == PPSCHED_OK);
    const Timeline own_timeline(timeline);
    CHECK(own_timeline.schedule().get() == schedule && own_timeline.get() == timeline);
    const Schedule shared(ppsched_schedule_retain(own_schedule.get())); /* what is read alone can be held, too */
    CHECK(shared.get() == schedule);
}

CASE(test_builder)
{
    std::optional<Config> config(std::in_place, 2, 2, 1);
    Builder builder(*config);
    config.reset();
    builder.set_name("mine");
    builder.set_flushes(false);
    builder.set_weight_versions(3);
    builder.append(0, {ppsched::make_op(0, PPSCHED_KIND_F, 0), ppsched::make_op(0, PPSCHED_KIND_B, 0)});
    builder.append(1, ppsched::make_op(1, PPSCHED_KIND_F, 0));
    builder.append(1, std::vector<ppsched::Op>{ppsched::make_op(1, PPSCHED_KIND_I, 0), ppsched::make_op(1, PPSCHED_KIND_W, 0)});
    builder.append(1, std::vector<ppsched::Op>());
    CHECK(status_of([&] { builder.append(2, ppsched::make_op(0, PPSCHED_KIND_F, 0)); }) == PPSCHED_ERROR_RANGE);
    const Schedule schedule = builder.finish();
    CHECK(schedule.name() == "mine" && !schedule.flushes() && schedule.weight_versions() == 3 && schedule.check().empty());
    CHECK((tokens(schedule.queue(1)) == std::vector<std::string>{"1F0", "1I0", "1W0"}));
    CHECK(builder.finish().op_count() == 0);
    CHECK(status_of([] { (void)ppsched::make_op(70000, PPSCHED_KIND_F, 0); }) == PPSCHED_ERROR_RANGE);

    builder.append(0, ppsched::make_op(0, PPSCHED_KIND_F, 0, true));
    CHECK(thrown<ppsched::InvalidSchedule>([&] { (void)builder.finish(); }));
    builder.append(0, ppsched::make_op(0, PPSCHED_KIND_B, 0));
    CHECK(builder.finish().op_count() == 2);
}

CASE(test_findings)
{
    Builder builder(Config(2, 2, 1));
    builder.append(0, {ppsched::make_op(0, PPSCHED_KIND_F, 0), ppsched::make_op(0, PPSCHED_KIND_F, 0)});
    builder.append(1, ppsched::make_op(0, PPSCHED_KIND_B, 0));
    const std::vector<ppsched::Finding> findings = builder.finish().check();
    CHECK(findings.size() >= 3);
    CHECK(std::any_of(findings.begin(), findings.end(), [](const ppsched::Finding &finding) {
        return finding.kind == PPSCHED_FINDING_KIND_MISPLACED && finding.device == 1 && finding.other_device == 0 &&
               ppsched::finding_text(finding).find("0B0") != std::string::npos;
    }));
}

CASE(test_generate_with)
{
    const Config config(3, 3, 4);
    const auto reverse_gpipe = [](const Config &given, Builder &builder) {
        for (uint32_t device = 0; device < given.devices(); device++) {
            for (uint32_t m = 0; m < given.microbatches(); m++)
                builder.append(device, ppsched::make_op(device, PPSCHED_KIND_F, m));
            for (uint32_t m = given.microbatches(); m-- > 0;)
                builder.append(device, ppsched::make_op(device, PPSCHED_KIND_B, m));
        }
    };
    const Schedule schedule = Schedule::generate_with(config, "reverse_gpipe", reverse_gpipe);
    CHECK(schedule.name() == "reverse_gpipe" && tokens(schedule.queue(2))[4] == "2B3");
    const ppsched::Generator nothing = [](const Config &, Builder &) {};
    const auto error = thrown<ppsched::InvalidSchedule>([&] { (void)Schedule::generate_with(config, "n", nothing); });
    CHECK(error && error->device() == 0u && error->stage() == 0u && error->microbatch() == 0u && !error->position());
}

CASE(test_lowering)
{
    Config config(4, 4, 8);
    config.set_values(PPSCHED_QUANTITY_FORWARD_TIMES, 2);
    const Schedule schedule = Schedule::generate(config, "1f1b");
    ppsched::LowerOptions options;
    options.lowering = PPSCHED_LOWERING_BY_TIME;
    options.reduce_grad = 1;
    CHECK(status_of([&] { (void)schedule.lower(options); }) == PPSCHED_ERROR_ARGUMENT);
    const Schedule sending = schedule.lower(options, config);
    CHECK(sending.op_count() == schedule.op_count() + 4 * 3 * 8 + 4);
    CHECK(tokens(sending.queue(3)).back() == "3REDUCE_GRAD" && schedule.op_count() == 64);
    CHECK(thrown<ppsched::Refused>([&] { (void)sending.lower(options, config); }));
}

CASE(test_proof)
{
    const Schedule schedule = Schedule::generate(Config(4, 4, 8), "1f1b");
    ppsched::ChannelModel model;
    model.rendezvous = 1;
    const ppsched::Proof safe = lowered(schedule, PPSCHED_LOWERING_JUST_IN_TIME).prove(model);
    CHECK(safe && safe.circle.empty() && safe.text.empty());

    const Schedule deferred = lowered(schedule, PPSCHED_LOWERING_PYTORCH, true);
    const ppsched::Proof hangs = deferred.prove(model);
    CHECK(!hangs && hangs.circle.size() >= 2 && hangs.text.rfind("device ", 0) == 0);
    for (const ppsched::Wait &wait : hangs.circle)
        CHECK(ppsched::op_token(deferred.queue(wait.device)[wait.position]) == ppsched::op_token(wait.op));

    const ppsched::Proof nothing = schedule.prove(model); /* inputs are never received */
    CHECK(!nothing && nothing.circle.empty() && !nothing.text.empty());
    model.batched = 2;
    CHECK(status_of([&] { (void)deferred.prove(model); }) == PPSCHED_ERROR_RANGE);
}

CASE(test_edges_and_buffers)
{
    const Schedule sending = lowered(Schedule::generate(Config(3, 3, 4), "1f1b"), PPSCHED_LOWERING_JUST_IN_TIME);
    const std::vector<ppsched::Link> links = sending.links();
    CHECK(links.size() == 4);
    for (const ppsched::Link &link : links)
        CHECK(link.transfers == 4 && link.most_in_flight >= 1 &&
              (link.sender == link.receiver + 1 || link.receiver == link.sender + 1));
    const auto ops = sending.queue(1);
    const ppsched::Buffers buffers = sending.buffers(1);
    CHECK(buffers.ops.size() == ops.size() && buffers.slots >= 1);
    for (size_t i = 0; i < ops.size(); i++) {
        const bool receives = ops[i].kind == PPSCHED_KIND_RECV_F || ops[i].kind == PPSCHED_KIND_RECV_B;
        CHECK(receives ? buffers.ops[i].slot < buffers.slots : buffers.ops[i].slot == PPSCHED_NONE);
    }
    CHECK(status_of([&] { (void)sending.buffers(3); }) == PPSCHED_ERROR_RANGE);
    CHECK(thrown<ppsched::InvalidSchedule>([] { (void)Schedule::generate(Config(2, 2, 2), "1f1b").links(); }));

    Config config(2, 1, 1); /* one device has nothing to do */
    config.set_placement({0});
    Builder builder(config);
    builder.append(0, {ppsched::make_op(0, PPSCHED_KIND_F, 0), ppsched::make_op(0, PPSCHED_KIND_B, 0)});
    const Schedule lonely = builder.finish();
    CHECK(lonely.links().empty() && lonely.buffers(1).ops.empty() && lonely.buffers(0).slots == 0 && lonely.queue(1).empty());
}

CASE(test_slots_and_connections)
{
    ppsched::LowerOptions options;
    const uint32_t lookaheads[] = {1, 2, 2};
    options.lowering = PPSCHED_LOWERING_PYTORCH;
    options.unshard = 2;
    options.unshard_lookahead = PPSCHED_UNSHARD_LOOKAHEAD_LIST;
    options.unshard_lookaheads = lookaheads;
    options.unshard_lookahead_count = 3;
    const Schedule sending = Schedule::generate(Config(3, 6, 6), "interleaved_1f1b").lower(options);
    for (ppsched_slot_use use : {PPSCHED_SLOT_USE_STAGE_MICROBATCH, PPSCHED_SLOT_USE_MICROBATCH, PPSCHED_SLOT_USE_RECEIVE}) {
        const std::vector<ppsched::Lifetime> lifetimes = sending.lifetimes(1, use);
        size_t listed = 0;
        for (const ppsched::Arena &arena : sending.arenas(1, use)) {
            CHECK(arena.first == listed && arena.slots >= 1 && arena.slots <= arena.count);
            for (size_t i = 0; i < arena.count; i++)
                CHECK(lifetimes[listed + i].slot < arena.slots && lifetimes[listed + i].kind == arena.kind);
            listed += arena.count;
        }
        CHECK(listed == lifetimes.size() && listed == (use == PPSCHED_SLOT_USE_MICROBATCH ? 6u
                                                       : use == PPSCHED_SLOT_USE_RECEIVE  ? 24u
                                                                                          : 12u));
    }
    CHECK(sending.connections(PPSCHED_CONNECTING_LINKS).size() == 6);
    CHECK(sending.connections(PPSCHED_CONNECTING_STAGES).size() == 5);
    CHECK(status_of([&] { (void)sending.arenas(3, PPSCHED_SLOT_USE_RECEIVE); }) == PPSCHED_ERROR_RANGE);
}

CASE(test_texts)
{
    const Config config(4, 8, 8);
    const Schedule schedule = lowered(Schedule::generate(config, "interleaved_1f1b"), PPSCHED_LOWERING_JUST_IN_TIME);
    for (const ppsched_format format : {PPSCHED_FORMAT_CSV, PPSCHED_FORMAT_JSON}) {
        const Schedule again = Schedule::from_text(schedule.export_to_string(format), format);
        CHECK(same_queues(again, schedule) && again.check().empty());
    }
    const Config linear(4, 4, 8);
    const Schedule plain = Schedule::generate(linear, "gpipe");
    ppsched::ExportOptions options;
    options.text_columns = 30;
    const std::string text = plain.evaluate(linear).export_to_string(PPSCHED_FORMAT_TEXT, options);
    CHECK(text.size() < plain.evaluate(linear).export_to_string(PPSCHED_FORMAT_TEXT).size());
    CHECK(status_of([&] { (void)plain.export_to_string(PPSCHED_FORMAT_TEXT); }) == PPSCHED_ERROR_ARGUMENT);
    CHECK(thrown<ppsched::Refused>([&] { (void)plain.export_to_string(PPSCHED_FORMAT_DEEPSPEED); }));
    CHECK(ppsched::op_token(ppsched::make_op(12, PPSCHED_KIND_SEND_B, 345)) == "12SEND_B345");
    CHECK(ppsched::op_token(ppsched::make_op(0, PPSCHED_KIND_UNSHARD)) == "0UNSHARD");
    CHECK(status_of([] { (void)ppsched::op_token(ppsched::Op{}); }) == PPSCHED_ERROR_ARGUMENT);
}

CASE(test_traces)
{
    Config config(2, 2, 4);
    config.set_values(PPSCHED_QUANTITY_FORWARD_TIMES, {3, 4});
    const Schedule sending = lowered(Schedule::generate(config, "1f1b"), PPSCHED_LOWERING_JUST_IN_TIME);
    const ppsched::ChakraTraces traces(sending, config);
    CHECK(traces.ranks() == 2);
    const auto read = ppsched::read_chakra({traces.export_to_string(0), traces.export_to_string(1)});
    CHECK(same_queues(read.first, sending) && read.second.values(PPSCHED_QUANTITY_FORWARD_TIMES)[1] == 4);
    CHECK(read.first.evaluate(read.second).metrics().makespan == sending.evaluate(config).metrics().makespan);
    CHECK(thrown<std::runtime_error>(
        [&] { traces.export_to([](std::string_view) -> bool { throw std::runtime_error("own"); }, 0); }));
    CHECK(status_of([&] { traces.export_to([](std::string_view) { return false; }, 0); }) == PPSCHED_ERROR_WRITER);
    CHECK(status_of([&] { (void)traces.export_to_string(2); }) == PPSCHED_ERROR_RANGE);
    CHECK(status_of([&] { (void)ppsched::read_chakra({}); }) == PPSCHED_ERROR_RANGE);
    CHECK(status_of([&] { (void)ppsched::read_chakra({"x", "y"}); }) == PPSCHED_ERROR_SYNTAX);
    ppsched::ChakraOptions options;
    options.links = PPSCHED_CHAKRA_LINKS_RANKS;
    CHECK(ppsched::ChakraTraces(sending, config, options).ranks() == 4);
    CHECK(thrown<ppsched::Refused>([&] { (void)ppsched::ChakraTraces(Schedule::generate(config, "1f1b"), config); }));
}

CASE(test_launch)
{
    const Schedule schedule = Schedule::generate(Config(4, 8, 8), "zbv");
    CHECK(schedule.launch(PPSCHED_RUNTIME_TORCHTITAN) ==
          "--parallelism.pipeline_parallel_degree 4 --parallelism.pipeline_parallel_schedule ZBVZeroBubble "
          "--training.local_batch_size 8 --parallelism.pipeline_parallel_microbatch_size 1 --training.disable_cuda_graphs");
    CHECK(schedule.renumber().export_to_string(PPSCHED_FORMAT_CSV) == schedule.export_to_string(PPSCHED_FORMAT_CSV));
    ppsched::LaunchOptions options;
    options.csv = "my zbv.csv";
    CHECK(schedule.launch(PPSCHED_RUNTIME_PYTORCH, options).find(" csv='my zbv.csv' ") != std::string::npos);
    const auto refused = thrown<ppsched::Refused>([&] { (void)schedule.launch(PPSCHED_RUNTIME_MEGATRON); });
    CHECK(refused && std::string(refused->what()).find("torchtitan, pytorch, primus, colossalai and jaxpp can run it") !=
                         std::string::npos);
    CHECK(status_of([&] { (void)schedule.launch(static_cast<ppsched_runtime>(0)); }) == PPSCHED_ERROR_ARGUMENT);
}

} // namespace
