/* SPDX-License-Identifier: Apache-2.0 */
/* The C++ headers: ownership, errors, callbacks that throw, and each call once. Prints TAP, a line a case. */
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <typeinfo>

#include <ppsched/ppsched.hpp>

using ppsched::Builder;
using ppsched::Config;
using ppsched::Plan;
using ppsched::Schedule;
using ppsched::Timeline;

namespace {

int failures = 0; /* of all cases */

#define CHECK(condition)                                                                                                       \
    do {                                                                                                                       \
        if (!(condition)) {                                                                                                    \
            std::printf("# %s:%d: %s\n", __FILE__, __LINE__, #condition);                                                      \
            failures++;                                                                                                        \
        }                                                                                                                      \
    } while (0)

/* What a function throws, which must be of exactly that type; a default value where it throws nothing or something else. */
template <typename Exception, typename Function>
std::optional<Exception> thrown(const Function &function)
{
    try {
        function();
    } catch (const Exception &error) {
        if (typeid(error) == typeid(Exception))
            return error;
    } catch (...) {
    }
    return std::nullopt;
}

/* The status of the plain Error that a function throws, or OK. */
template <typename Function>
ppsched_status status_of(const Function &function)
{
    const auto error = thrown<ppsched::Error>(function);
    return error ? error->status() : ppsched_status{PPSCHED_OK};
}

/* A problem that only a search serves well: uneven stages, back and forth, with a memory limit. */
Config uneven()
{
    Config config(4, 8, 8);
    config.set_placement(PPSCHED_PLACEMENT_V);
    config.set_values(PPSCHED_FORWARD_TIMES, {1, 1, 1, 1, 1, 1, 1, 1.75});
    config.set_values(PPSCHED_BACKWARD_TIMES, {2, 2, 2, 2, 2, 2, 2, 3.5});
    config.set_values(PPSCHED_MEM_LIMIT, 5);
    config.set_option("effort", 1);
    return config;
}

Schedule lowered(const Schedule &schedule, ppsched_lowering lowering, bool defer_receives = false)
{
    ppsched::LowerOptions options;
    options.lowering = lowering;
    options.defer_receives = defer_receives;
    return schedule.lower(options);
}

std::vector<std::string> tokens(ppsched::View<ppsched::Op> ops)
{
    std::vector<std::string> all;
    for (const ppsched::Op &op : ops)
        all.push_back(ppsched::op_token(op));
    return all;
}

bool same_queues(const Schedule &a, const Schedule &b)
{
    bool same = a.devices() == b.devices();
    for (uint32_t device = 0; same && device < a.devices(); device++)
        same = tokens(a.queue(device)) == tokens(b.queue(device));
    return same;
}

/* --- what the types promise --- */

static_assert(std::is_nothrow_move_constructible_v<Config> && std::is_nothrow_move_assignable_v<Config>);
static_assert(std::is_nothrow_copy_constructible_v<Schedule> && std::is_nothrow_copy_assignable_v<Schedule>);
static_assert(std::is_nothrow_move_constructible_v<Schedule> && std::is_nothrow_move_assignable_v<Schedule>);
static_assert(std::is_nothrow_move_constructible_v<Timeline> && std::is_nothrow_move_assignable_v<Timeline>);
static_assert(std::is_nothrow_move_constructible_v<Plan> && std::is_nothrow_move_assignable_v<Plan>);
static_assert(!std::is_copy_constructible_v<Plan>);
static_assert(!std::is_copy_constructible_v<Timeline> && !std::is_copy_constructible_v<Builder>);
static_assert(!std::is_move_constructible_v<Builder> && !std::is_move_assignable_v<Builder>);
static_assert(std::is_nothrow_copy_constructible_v<ppsched::Error> && std::is_nothrow_copy_constructible_v<ppsched::Refused>);
static_assert(sizeof(Schedule) == sizeof(void *) && sizeof(ppsched::View<ppsched::Op>) == 2 * sizeof(void *));
static_assert(std::is_trivially_copyable_v<ppsched::View<ppsched::Op>> && std::is_trivially_copyable_v<ppsched::Metrics>);

/* Views of what is about to go cannot be asked for. */
template <typename Owner, typename = void>
struct gives_queue : std::false_type {
};
template <typename Owner>
struct gives_queue<Owner, std::void_t<decltype(std::declval<Owner>().queue(0))>> : std::true_type {
};
static_assert(gives_queue<const Schedule &>::value && !gives_queue<Schedule>::value && !gives_queue<const Schedule>::value);

template <typename Owner, typename = void>
struct gives_spans : std::false_type {
};
template <typename Owner>
struct gives_spans<Owner, std::void_t<decltype(std::declval<Owner>().spans(0))>> : std::true_type {
};
static_assert(gives_spans<const Timeline &>::value && !gives_spans<Timeline>::value);

/* --- the problem --- */

void test_config()
{
    Config config(3, 6, 5);
    CHECK(config.devices() == 3 && config.stages() == 6 && config.microbatches() == 5 && config.iterations() == 1);
    CHECK(config.placement() == PPSCHED_PLACEMENT_DEFAULT);
    config.set_iterations(2);
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

void test_lists_of_numbers()
{
    Config config(2, 2, 1);
    CHECK(config.values(PPSCHED_FORWARD_TIMES).empty());
    config.set_values(PPSCHED_FORWARD_TIMES, 3);
    CHECK(config.values(PPSCHED_FORWARD_TIMES).size() == 1 && config.values(PPSCHED_FORWARD_TIMES)[0] == 3);
    config.set_values(PPSCHED_FORWARD_TIMES, {1, 2.5});
    CHECK(config.values(PPSCHED_FORWARD_TIMES).size() == 2 && config.values(PPSCHED_FORWARD_TIMES)[1] == 2.5);
    const std::vector<double> list{4, 5};
    config.set_values(PPSCHED_BACKWARD_TIMES, list);
    config.set_values(PPSCHED_MEM_STATIC, std::array<double, 2>{6, 7});
    double changeable[] = {8, 9};
    config.set_values(PPSCHED_MEM_WEIGHTS, Row{changeable, 2});
    CHECK(config.values(PPSCHED_MEM_WEIGHTS)[1] == 9);
    CHECK(config.values(PPSCHED_BACKWARD_TIMES)[1] == 5 && config.values(PPSCHED_MEM_STATIC)[0] == 6);
    CHECK(config.values(PPSCHED_BACKWARD_TIMES).data() != list.data());
    config.set_values(PPSCHED_FORWARD_TIMES, {});
    config.set_values(PPSCHED_BACKWARD_TIMES, std::vector<double>());
    CHECK(config.values(PPSCHED_FORWARD_TIMES).empty() && config.values(PPSCHED_BACKWARD_TIMES).empty());
    config.validate();
    config.set_values(PPSCHED_BACKWARD_TIMES, 1);
    config.set_values(PPSCHED_BACKWARD_INPUT_TIMES, 2);
    CHECK(status_of([&] { config.validate(); }) == PPSCHED_ERROR_RANGE);
}

void test_options()
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

void test_config_copies_and_moves()
{
    int calls = 0;
    Config config(2, 2, 2);
    config.set_values(PPSCHED_FORWARD_TIMES, {1, 2});
    config.set_progress([&calls](double, double) { return ++calls > 0; });
    Config copy(config);
    config.set_values(PPSCHED_FORWARD_TIMES, 9);
    CHECK(copy.values(PPSCHED_FORWARD_TIMES).size() == 2 && copy.get() != config.get());
    (void)Schedule::generate(copy, "zb_auto");
    CHECK(calls > 0);

    const ppsched_config *handle = copy.get();
    Config moved(std::move(copy));
    CHECK(moved.get() == handle && moved.progress() && copy.get() == nullptr && copy.devices() == 0 && !copy.progress());
    CHECK(copy.values(PPSCHED_FORWARD_TIMES).empty());
    CHECK(status_of([&] { copy.set_iterations(2); }) == PPSCHED_ERROR_ARGUMENT);
    CHECK(status_of([&] { Config again(copy); }) == PPSCHED_ERROR_ARGUMENT);
    CHECK(status_of([&] { (void)Schedule::generate(copy, "1f1b"); }) == PPSCHED_ERROR_ARGUMENT);
    copy = moved;
    CHECK(copy.devices() == 2 && moved.devices() == 2 && copy.get() != moved.get());

    Config &self = moved;
    moved = self;
    CHECK(moved.values(PPSCHED_FORWARD_TIMES).size() == 2 && moved.progress());
    moved = std::move(self);
    CHECK(moved.values(PPSCHED_FORWARD_TIMES).size() == 2 && moved.progress());
    moved = Config(5, 5, 5);
    CHECK(moved.devices() == 5 && !moved.progress());
}

void test_other_numbers_of_stages_and_microbatches()
{
    Config config(2, 4, 8);
    config.set_values(PPSCHED_FORWARD_TIMES, {2, 1, 1, 3});
    config.set_progress([](double, double) { return false; });
    ppsched::ModelEnd embedding{}, head{};
    embedding.forward_time = 1;
    head.forward_time = 2;
    const Config two = config.with_stages(2), four = two.with_stages(4, embedding, head);
    CHECK(two.stages() == 2 && two.values(PPSCHED_FORWARD_TIMES)[1] == 4 && two.progress());
    CHECK(four.values(PPSCHED_FORWARD_TIMES)[0] == 2 && four.values(PPSCHED_FORWARD_TIMES)[3] == 3);
    CHECK(thrown<ppsched::Refused>([&] { (void)config.with_stages(3); }));
    const Config halves = config.with_microbatches(16);
    CHECK(halves.microbatches() == 16 && halves.values(PPSCHED_FORWARD_TIMES)[0] == 1 && halves.progress());
    CHECK(status_of([&] { (void)config.with_microbatches(0); }) == PPSCHED_ERROR_RANGE);
}

/* --- schedules --- */

void test_generate()
{
    const Config config(4, 4, 8);
    const Schedule schedule = Schedule::generate(config, "1F1B");
    CHECK(schedule.name() == "1f1b" && schedule.devices() == 4 && schedule.stages() == 4 && schedule.microbatches() == 8);
    CHECK(schedule.iterations() == 1 && schedule.flushes() && schedule.weight_versions() == 1 && schedule.op_count() == 64);
    CHECK(schedule.placement() == PPSCHED_PLACEMENT_LINEAR && schedule.device_of(3, 7) == 3u && !schedule.device_of(4));
    CHECK(schedule.check().empty());

    const auto ops = schedule.queue(3);
    size_t count = 0;
    CHECK(ops.data() == ppsched_queue_ops(ppsched_schedule_queue(schedule.get(), 3), &count) && ops.size() == count);
    CHECK(tokens(ops).front() == "3F0" && tokens(ops).back() == "3B7");
    CHECK(std::count_if(ops.begin(), ops.end(), [](const ppsched::Op &op) { return op.kind == PPSCHED_KIND_F; }) == 8);
    CHECK(status_of([&] { (void)schedule.queue(4); }) == PPSCHED_ERROR_RANGE);
}

void test_schedule_copies_and_moves()
{
    Schedule schedule = Schedule::generate(Config(2, 2, 2), "gpipe");
    const ppsched_schedule *handle = schedule.get();
    Schedule copy(schedule);
    CHECK(copy.get() == handle && schedule.get() == handle);
    Schedule moved(std::move(schedule));
    CHECK(moved.get() == handle && schedule.get() == nullptr && schedule.devices() == 0 && schedule.name().empty());
    CHECK(status_of([&] { (void)schedule.queue(0); }) == PPSCHED_ERROR_RANGE);
    CHECK(status_of([&] { (void)schedule.check(); }) == PPSCHED_ERROR_ARGUMENT);
    CHECK(status_of([&] { (void)schedule.edges(); }) == PPSCHED_ERROR_ARGUMENT);
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

void test_handles_of_the_c_api()
{
    ppsched_config *config = nullptr;
    ppsched_schedule *schedule = nullptr;
    ppsched_timeline *timeline = nullptr;
    CHECK(ppsched_config_create(&config, 2, 2, 2, nullptr, nullptr) == PPSCHED_OK);
    Config own_config(config);
    CHECK(ppsched_schedule_generate(&schedule, own_config.get(), "1f1b", nullptr) == PPSCHED_OK);
    const Schedule own_schedule(schedule);
    CHECK(ppsched_evaluate(&timeline, schedule, config, 0, nullptr) == PPSCHED_OK);
    const Timeline own_timeline(timeline);
    CHECK(own_timeline.schedule().get() == schedule && own_timeline.get() == timeline);
}

void test_builder()
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

void test_findings()
{
    Builder builder(Config(2, 2, 1));
    builder.append(0, {ppsched::make_op(0, PPSCHED_KIND_F, 0), ppsched::make_op(0, PPSCHED_KIND_F, 0)});
    builder.append(1, ppsched::make_op(0, PPSCHED_KIND_B, 0));
    const std::vector<ppsched::Finding> findings = builder.finish().check();
    CHECK(findings.size() >= 3);
    CHECK(std::any_of(findings.begin(), findings.end(), [](const ppsched::Finding &finding) {
        return finding.kind == PPSCHED_FINDING_MISPLACED && finding.device == 1 && finding.other_device == 0 &&
               ppsched::finding_text(finding).find("0B0") != std::string::npos;
    }));
}

void test_generate_with()
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

/* --- errors --- */

void test_errors_tell_what_and_where()
{
    Config config(2, 4, 3);
    const auto range = thrown<ppsched::Error>([&] { config.set_values(PPSCHED_FORWARD_TIMES, {1, 1, -1, 1}); });
    CHECK(range && range->status() == PPSCHED_ERROR_RANGE && range->position() == 2u && range->stage() == 2u);
    CHECK(range && !range->device() && !range->microbatch());
    CHECK(range && std::string(range->what()).find("forward_times") != std::string::npos);
    CHECK(status_of([&] { config.set_values(PPSCHED_FORWARD_TIMES, {1, 2, 3}); }) == PPSCHED_ERROR_LENGTH);
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

void test_texts_with_nul_are_turned_down()
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
    config.set_values(PPSCHED_FORWARD_TIMES, 2);
    config.set_option("effort", 1);
    config.set_progress([](double, double) { return true; });
    const Config copy(config);
    const Schedule searched = Schedule::generate(copy, "auto");
    const Schedule repeated = Schedule::generate_with(config, "again", [&](const Config &, Builder &builder) {
        for (uint32_t device = 0; device < searched.devices(); device++)
            builder.append(device, searched.queue(device));
    });
    const Schedule sending = lowered(repeated, PPSCHED_LOWERING_JUST_IN_TIME);
    CHECK(sending.prove({}).safe && !sending.edges().empty() && !sending.buffers(1).ops.empty() && sending.check().empty());
    const std::string text = sending.evaluate_transfers(config).export_to_string(PPSCHED_FORMAT_JSON);
    CHECK(Schedule::from_text(text, PPSCHED_FORMAT_JSON, &environment).op_count() == sending.op_count());
    CHECK(repeated.evaluate(config).metrics().makespan >= ppsched::lower_bound(config).value);

    ppsched::PlanOptions options;
    options.strategies = {"gpipe", "v_1f1b", "interleaved_1f1b"};
    Plan plan(config, options);
    plan.run();
    CHECK(plan.timeline(0).metrics().makespan == plan.candidate(0).makespan && plan.config(0).devices() == 2);
    CHECK(plan.least_limit().limit > 0);
}

void test_no_memory()
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

/* --- callbacks --- */

struct Own : std::logic_error {
    int number;
    explicit Own(int n) : std::logic_error("own"), number(n) {}
};

void test_progress()
{
    double last = 0, best = 0;
    Config config = uneven();
    config.set_progress([&](double share, double objective) {
        CHECK(share >= last && share <= 1);
        last = share, best = objective;
        return true;
    });
    const Schedule schedule = Schedule::generate(config, "auto");
    CHECK(last == 1 && best == schedule.evaluate(config).metrics().span);
    config.set_progress(nullptr);
    CHECK(same_queues(Schedule::generate(config, "auto"), schedule));
}

void test_progress_stops_and_throws()
{
    int calls = 0;
    Config config = uneven();
    config.set_progress([&](double, double) { return ++calls < 2; });
    const auto cancelled = thrown<ppsched::Cancelled>([&] { (void)Schedule::generate(config, "auto"); });
    CHECK(cancelled && cancelled->status() == PPSCHED_ERROR_CANCELLED && calls == 2);

    calls = 0;
    config.set_progress([&](double, double) -> bool { throw Own(++calls); });
    const auto own = thrown<Own>([&] { (void)Schedule::generate(config, "auto"); });
    CHECK(own && own->number == 1 && calls == 1);

    config.set_progress([&](double share, double) { return share < 1 ? true : throw 42; }); /* with all the work done */
    CHECK(thrown<int>([&] { (void)Schedule::generate(config, "auto"); }) == 42);
    config.set_progress([](double, double) -> bool { throw std::bad_alloc(); });
    CHECK(thrown<std::bad_alloc>([&] { (void)Schedule::generate(config, "auto"); }));
    Config simple(2, 2, 2);
    simple.set_progress(config.progress());
    CHECK(Schedule::generate(simple, "1f1b").op_count() == 8); /* does not search, so it tells nothing */
}

void test_generator_throws()
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

void test_generator_inside_a_generator()
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

void test_writer()
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

void test_plan_tells_its_progress()
{
    double last = 0, best = 0;
    int calls = 0;
    Config config = uneven();
    config.set_progress([&](double share, double step) {
        CHECK(share >= last && share <= 1);
        last = share, best = step;
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
    CHECK(last == 1 && plan.candidate(0).fits && best == plan.candidate(0).step_time);
    calls = 0;
    Plan moved(std::move(plan));
    CHECK(moved.timeline(0).metrics().makespan == moved.candidate(0).makespan && calls == 0);
    Config own = moved.config(0);
    last = 0;
    (void)Schedule::generate(own, moved.candidate(0).strategy); /* and so has the candidate's problem */
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

void test_plan_progress_stops_and_throws()
{
    int calls = 0;
    bool throws = false;
    Config config = uneven();
    config.set_progress([&](double, double) {
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
    CHECK(plan.candidate(0).fits);
    CHECK(plan.timeline(0).schedule().check().empty());
}

void test_threads_share_a_config()
{
    Config config = uneven();
    config.set_progress([](double, double) -> bool { throw std::this_thread::get_id(); });
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

/* --- times --- */

Timeline orphan()
{
    const Config config(2, 2, 2);
    return Schedule::generate(config, "1f1b").evaluate(config);
}

void test_timeline_outlives_what_it_is_of()
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

void test_evaluate()
{
    Config config(2, 2, 4);
    config.set_values(PPSCHED_FORWARD_TIMES, {1, 2});
    config.set_values(PPSCHED_MEM_LIMIT, {1, 9});
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

    const Timeline earliest = schedule.evaluate(config, PPSCHED_EVALUATE_EARLIEST_ONLY);
    CHECK(earliest.metrics().makespan == metrics.makespan && earliest.latest_starts(0).empty());
    CHECK(status_of([&] { (void)earliest.idle(0); }) == PPSCHED_ERROR_ARGUMENT);
    CHECK(status_of([&] { (void)earliest.idle(2); }) == PPSCHED_ERROR_RANGE);
    CHECK(status_of([&] { (void)timeline.device_metrics(2); }) == PPSCHED_ERROR_RANGE);
}

void test_memory_curve()
{
    Config config(2, 2, 4);
    config.set_values(PPSCHED_MEM_STATIC, 10);
    const Timeline timeline = Schedule::generate(config, "1f1b").evaluate(config);
    const std::vector<ppsched::MemoryPoint> curve = timeline.memory(0);
    CHECK(curve.size() == 9 && curve[0].time == 0 && curve[0].memory == 10 && curve.back().memory == 10);
    double peak = 0;
    for (const ppsched::MemoryPoint &point : curve)
        peak = std::max(peak, point.memory);
    CHECK(peak == timeline.device_metrics(0).peak_memory && peak == 12);
    CHECK(status_of([&] { (void)timeline.memory(2); }) == PPSCHED_ERROR_RANGE);
}

void test_explain()
{
    Config config(2, 2, 4);
    config.set_values(PPSCHED_FORWARD_TIMES, {1, 2});
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

    const Timeline earliest = schedule.evaluate(config, PPSCHED_EVALUATE_EARLIEST_ONLY);
    CHECK(earliest.critical_path().size() == path.size());
    CHECK(status_of([&] { (void)earliest.slack_by_stage(); }) == PPSCHED_ERROR_ARGUMENT);
    const Timeline sending = lowered(schedule, PPSCHED_LOWERING_PYTORCH).evaluate_transfers(config);
    CHECK(status_of([&] { (void)sending.critical_path(); }) == PPSCHED_ERROR_ARGUMENT);
}

void test_update()
{
    Config config(2, 2, 4);
    const Schedule schedule = Schedule::generate(config, "1f1b");
    Timeline timeline = schedule.evaluate(config, PPSCHED_EVALUATE_REUSABLE);
    const double before = timeline.metrics().makespan;
    config.set_values(PPSCHED_FORWARD_TIMES, 3);
    timeline.update(config);
    CHECK(timeline.metrics().makespan > before);
    CHECK(timeline.metrics().makespan == schedule.evaluate(config).metrics().makespan);
    CHECK(status_of([&] { timeline.update(Config(4, 4, 4)); }) == PPSCHED_ERROR_MISMATCH);
    Timeline once = schedule.evaluate(config);
    CHECK(status_of([&] { once.update(config); }) == PPSCHED_ERROR_ARGUMENT);
}

void test_evaluate_transfers()
{
    Config config(4, 8, 8);
    config.set_values(PPSCHED_P2P_TIMES, 0.125);
    const Schedule schedule = Schedule::generate(config, "interleaved_1f1b");
    const Schedule sending = lowered(schedule, PPSCHED_LOWERING_PYTORCH);
    CHECK(sending.evaluate_transfers(config).metrics().makespan == schedule.evaluate(config).metrics().makespan);

    config.set_values(PPSCHED_P2P_BANDWIDTH, 10);
    config.set_values(PPSCHED_ACTIVATION_BYTES, 2);
    ppsched::ChannelModel model;
    model.order = PPSCHED_CHANNEL_GROUP;
    model.rendezvous = 1;
    const Timeline free = sending.evaluate_transfers(config), grouped = sending.evaluate_transfers(config, model);
    CHECK(grouped.metrics().makespan > free.metrics().makespan && grouped.latest_starts(0).empty());
    double head_of_line = 0;
    for (uint32_t device = 0; device < 4; device++)
        head_of_line += grouped.idle(device).head_of_line;
    CHECK(head_of_line > 0);
    model.order = 99;
    CHECK(status_of([&] { (void)sending.evaluate_transfers(config, model); }) == PPSCHED_ERROR_ARGUMENT);
}

/* --- lowering --- */

void test_lowering()
{
    Config config(4, 4, 8);
    config.set_values(PPSCHED_FORWARD_TIMES, 2);
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

void test_proof()
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

void test_edges_and_buffers()
{
    const Schedule sending = lowered(Schedule::generate(Config(3, 3, 4), "1f1b"), PPSCHED_LOWERING_JUST_IN_TIME);
    const std::vector<ppsched::Edge> edges = sending.edges();
    CHECK(edges.size() == 4);
    for (const ppsched::Edge &edge : edges)
        CHECK(edge.messages == 4 && edge.most_in_flight >= 1 && (edge.from == edge.to + 1 || edge.to == edge.from + 1));
    const auto ops = sending.queue(1);
    const ppsched::Buffers buffers = sending.buffers(1);
    CHECK(buffers.ops.size() == ops.size() && buffers.slots >= 1);
    for (size_t i = 0; i < ops.size(); i++) {
        const bool receives = ops[i].kind == PPSCHED_KIND_RECV_F || ops[i].kind == PPSCHED_KIND_RECV_B;
        CHECK(receives ? buffers.ops[i].slot < buffers.slots : buffers.ops[i].slot == PPSCHED_NONE);
    }
    CHECK(status_of([&] { (void)sending.buffers(3); }) == PPSCHED_ERROR_RANGE);
    CHECK(thrown<ppsched::InvalidSchedule>([] { (void)Schedule::generate(Config(2, 2, 2), "1f1b").edges(); }));

    Config config(2, 1, 1); /* one device has nothing to do */
    config.set_placement({0});
    Builder builder(config);
    builder.append(0, {ppsched::make_op(0, PPSCHED_KIND_F, 0), ppsched::make_op(0, PPSCHED_KIND_B, 0)});
    const Schedule lonely = builder.finish();
    CHECK(lonely.edges().empty() && lonely.buffers(1).ops.empty() && lonely.buffers(0).slots == 0 && lonely.queue(1).empty());
}

/* --- plans --- */

void test_plan()
{
    Config config(4, 4, 8);
    config.set_values(PPSCHED_MEM_LIMIT, 5);
    Plan plan(config);
    CHECK(plan.size() > 30 && !plan.candidate(0).evaluated);
    plan.run();
    const ppsched::Candidate best = plan.candidate(0);
    CHECK(best.fits && best.step_time == best.makespan && best.bound <= best.step_time && best.peak_memory <= 5);
    const Config problem = plan.config(0);
    CHECK(problem.stages() == best.stages && problem.microbatches() == best.microbatches && !problem.progress());
    CHECK(Schedule::generate(problem, best.strategy).evaluate(problem).metrics().makespan == best.makespan);
    const Timeline timeline = plan.timeline(0);
    CHECK(timeline.metrics().makespan == best.makespan && timeline.schedule().name() == best.strategy);

    const size_t last = plan.size() - 1;
    CHECK(status_of([&] { (void)plan.candidate(last + 1); }) == PPSCHED_ERROR_ARGUMENT);
    CHECK(status_of([&] { plan.evaluate(last + 1); }) == PPSCHED_ERROR_ARGUMENT);

    Plan moved(std::move(plan));
    CHECK(moved.candidate(0).strategy == std::string(best.strategy) && plan.size() == 0);
    CHECK(status_of([&] { plan.run(); }) == PPSCHED_ERROR_ARGUMENT);
    plan = std::move(moved);
    CHECK(plan.candidate(0).fits);
}

void test_plan_options()
{
    Config config(4, 4, 8);
    config.set_values(PPSCHED_P2P_BANDWIDTH, 10);
    config.set_values(PPSCHED_ACTIVATION_BYTES, 2);
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
    CHECK(!limited.candidate(0).fits && least.limit > 0.25 && least.candidate < limited.size());
    const size_t last = limited.size() - 1;
    const ppsched::Candidate refused = limited.candidate(last);
    CHECK(refused.status == PPSCHED_ERROR_REFUSED && refused.reason != nullptr && *refused.reason != '\0');
    CHECK(thrown<ppsched::Refused>([&] { (void)limited.timeline(last); }));

    options = {};
    options.strategies = {"1f1b", "v_1f1b"};
    options.placements = 1u << PPSCHED_PLACEMENT_V;
    Plan v(config, options);
    CHECK(v.size() > 0);
    for (size_t i = 0; i < v.size(); i++)
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
    CHECK(grouped.candidate(0).makespan > free.candidate(0).makespan);
    const Config problem = grouped.config(0);
    CHECK(problem.values(PPSCHED_FORWARD_TIMES)[7] == 0.75);
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

/* --- texts, strategies, bounds --- */

void test_texts()
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

void test_launch()
{
    const Schedule schedule = Schedule::generate(Config(4, 8, 8), "zbv");
    CHECK(schedule.launch(PPSCHED_RUNTIME_TORCHTITAN) ==
          "--parallelism.pipeline_parallel_degree 4 --parallelism.pipeline_parallel_schedule ZBVZeroBubble");
    ppsched::LaunchOptions options;
    options.csv = "my zbv.csv";
    CHECK(schedule.launch(PPSCHED_RUNTIME_PYTORCH, options).find(" csv='my zbv.csv' ") != std::string::npos);
    const auto refused = thrown<ppsched::Refused>([&] { (void)schedule.launch(PPSCHED_RUNTIME_MEGATRON); });
    CHECK(refused && std::string(refused->what()).find("torchtitan and pytorch can run it") != std::string::npos);
    CHECK(status_of([&] { (void)schedule.launch(static_cast<ppsched_runtime>(6)); }) == PPSCHED_ERROR_ARGUMENT);
}

void test_strategies()
{
    const std::vector<ppsched::Strategy> all = ppsched::strategies();
    CHECK(all.size() == ppsched_strategy_count());
    for (const ppsched::Strategy &strategy : all) {
        CHECK(!strategy.name.empty() && !strategy.summary.empty() && !strategy.source.empty());
        CHECK(ppsched::strategy_find(std::string(strategy.name)).name == strategy.name);
        for (const std::string_view alias : strategy.aliases)
            CHECK(ppsched::strategy_find(std::string(alias)).name == strategy.name);
        for (const ppsched::Option &option : strategy.options)
            CHECK(!option.name.empty() && !option.text.empty() && option.choices.empty() == (option.minimum < option.maximum));
    }
    const ppsched::Strategy found = ppsched::strategy_find("auto");
    CHECK(found.searches && found.options.size() >= 2);
    CHECK(std::any_of(found.options.begin(), found.options.end(), [](const auto &option) { return !option.choices.empty(); }));
    const auto error = thrown<ppsched::Error>([] { (void)ppsched::strategy_find("zb_h3"); });
    CHECK(error && error->status() == PPSCHED_ERROR_UNKNOWN_STRATEGY);
    CHECK(error && std::string(error->what()).find("zb_h") != std::string::npos);
}

void test_lower_bound()
{
    Config config(4, 4, 8);
    const ppsched::Bound span = ppsched::lower_bound(config);
    const ppsched::Bound makespan = ppsched::lower_bound(config, PPSCHED_OBJECTIVE_MAKESPAN);
    CHECK(span.value >= 24 && makespan.value >= span.value && span.least_limit > 0);
    CHECK(makespan.value <= Schedule::generate(config, "1f1b").evaluate(config).metrics().makespan);
    config.set_values(PPSCHED_BACKWARD_TIMES, 1);
    config.set_values(PPSCHED_BACKWARD_INPUT_TIMES, 2);
    CHECK(status_of([&] { (void)ppsched::lower_bound(config); }) == PPSCHED_ERROR_RANGE);
}

struct Case {
    const char *name;
    void (*run)();
};

#define CASE(name)                                                                                                             \
    {                                                                                                                          \
#name, name                                                                                                            \
    }

const Case cases[] = {
    CASE(test_config),
    CASE(test_lists_of_numbers),
    CASE(test_options),
    CASE(test_config_copies_and_moves),
    CASE(test_other_numbers_of_stages_and_microbatches),
    CASE(test_generate),
    CASE(test_schedule_copies_and_moves),
    CASE(test_handles_of_the_c_api),
    CASE(test_builder),
    CASE(test_findings),
    CASE(test_generate_with),
    CASE(test_errors_tell_what_and_where),
    CASE(test_texts_with_nul_are_turned_down),
    CASE(test_no_memory),
    CASE(test_progress),
    CASE(test_progress_stops_and_throws),
    CASE(test_generator_throws),
    CASE(test_generator_inside_a_generator),
    CASE(test_writer),
    CASE(test_plan_tells_its_progress),
    CASE(test_plan_progress_stops_and_throws),
    CASE(test_threads_share_a_config),
    CASE(test_timeline_outlives_what_it_is_of),
    CASE(test_evaluate),
    CASE(test_memory_curve),
    CASE(test_explain),
    CASE(test_update),
    CASE(test_evaluate_transfers),
    CASE(test_lowering),
    CASE(test_proof),
    CASE(test_edges_and_buffers),
    CASE(test_plan),
    CASE(test_plan_options),
    CASE(test_texts),
    CASE(test_launch),
    CASE(test_strategies),
    CASE(test_lower_bound),
};

} // namespace

int main()
{
    std::printf("1..%zu\n", std::size(cases));
    for (size_t i = 0; i < std::size(cases); i++) {
        const int before = failures;
        try {
            cases[i].run();
        } catch (const std::exception &error) {
            std::printf("# %s\n", error.what());
            failures++;
        }
        std::printf("%s %zu - %s\n", failures == before ? "ok" : "not ok", i + 1, cases[i].name);
        std::fflush(stdout);
    }
    return failures == 0 ? 0 : 1;
}
