/* SPDX-License-Identifier: Apache-2.0 */
/* ppsched for C++17: the C API's objects as classes that clean up, its statuses as exceptions. A header alone over
 * <ppsched/ppsched.h>, whose comments are the reference; its constants and records are used as they are.
 *
 * Ownership: Config, Schedule, Builder, Timeline and Plan own what they hold, and outlive what they were made from. A View is
 *   borrowed, and valid as long as the object that it was asked of. What was moved from holds nothing: its sizes are 0, and
 *   calls that can fail throw; it may be assigned to.
 * Errors: Error, or std::bad_alloc where memory is short. A call that throws leaves its objects as they were.
 * Callbacks: what they throw comes out of the call under which they run, as it is; it never passes through the library.
 * Thread-safety: that of the C API. A Schedule or Timeline may be read by any number of threads, and so may a Config or Plan
 *   while nobody changes it; one thread at a time uses a Builder. */
#ifndef PPSCHED_PPSCHED_HPP
#define PPSCHED_PPSCHED_HPP

#include <exception>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <ppsched/ppsched.h>

namespace ppsched {

/* --- plain data --- */

/* A struct of the C API that begins with its size: the size is set, the rest is zero. */
template <typename Struct>
struct Sized : Struct {
    Sized() noexcept : Struct{} { this->size = sizeof(Struct); }
};

using Bound = Sized<ppsched_bound>;
using Candidate = Sized<ppsched_candidate>;
using ChannelModel = Sized<ppsched_channel_model>;
using DeviceMetrics = Sized<ppsched_device_metrics>;
using Environment = Sized<ppsched_environment>;
using ExportOptions = Sized<ppsched_export_options>;
using Idle = Sized<ppsched_idle>;
using LaunchOptions = Sized<ppsched_launch_options>;
using LowerOptions = Sized<ppsched_lower_options>;
using Metrics = Sized<ppsched_metrics>;

using CriticalOp = ppsched_critical_op;
using Edge = ppsched_edge;
using Finding = ppsched_finding;
using MemoryPoint = ppsched_memory_point;
using ModelEnd = ppsched_model_end;
using Op = ppsched_op;
using OpBuffer = ppsched_op_buffer;
using Sensitivity = ppsched_sensitivity;
using Span = ppsched_span;
using Wait = ppsched_wait;

/* A row of values that others own: a queue's ops, a list of numbers, or an argument. Two words; copy it. */
template <typename Value>
class View {
public:
    using value_type = Value;
    using const_iterator = const Value *;
    using iterator = const_iterator;

    constexpr View() noexcept = default;
    constexpr View(const Value *data, size_t size) noexcept : data_(data), size_(size) {}

    /* Of a vector, an array, or what else has its values in a row. */
    template <typename Row, typename Pointer = decltype(std::data(std::declval<const Row &>())),
              typename = std::enable_if_t<std::is_same_v<std::add_const_t<std::remove_pointer_t<Pointer>>, const Value>>>
    constexpr View(const Row &row) noexcept : data_(std::data(row)), size_(std::size(row))
    {
    }

    constexpr const Value *data() const noexcept { return data_; }
    constexpr size_t size() const noexcept { return size_; }
    constexpr bool empty() const noexcept { return size_ == 0; }
    constexpr const Value *begin() const noexcept { return data_; }
    constexpr const Value *end() const noexcept { return data_ + size_; }
    constexpr const Value &operator[](size_t i) const noexcept { return data_[i]; } /* i < size() */

private:
    const Value *data_ = nullptr;
    size_t size_ = 0;
};

/* --- errors --- */

/* What the library turned down, or the caller stopped; what() is the library's message. */
class PPSCHED_API Error : public std::runtime_error {
public:
    Error(ppsched_status status, const std::string &message) : std::runtime_error(message), status_(status) {}

    explicit Error(const ppsched_error &record)
        : std::runtime_error(record.message), status_(record.status), device_(known(record.device)),
          stage_(known(record.stage)), microbatch_(known(record.microbatch)), position_(known(record.position))
    {
    }

    ppsched_status status() const noexcept { return status_; }

    /* Where; nothing where it does not apply. */
    std::optional<uint32_t> device() const noexcept { return device_; }
    std::optional<uint32_t> stage() const noexcept { return stage_; }
    std::optional<uint32_t> microbatch() const noexcept { return microbatch_; }
    std::optional<uint32_t> position() const noexcept { return position_; }

private:
    static std::optional<uint32_t> known(uint32_t number) noexcept
    {
        return number == PPSCHED_NONE ? std::nullopt : std::optional<uint32_t>(number);
    }

    ppsched_status status_;
    std::optional<uint32_t> device_, stage_, microbatch_, position_;
};

/* A strategy cannot serve the problem; the message says which rule is broken and what would work. */
class PPSCHED_API Refused : public Error {
    using Error::Error;
};

/* A schedule is incomplete, or cannot be run. */
class PPSCHED_API InvalidSchedule : public Error {
    using Error::Error;
};

/* A progress callback said to stop. */
class PPSCHED_API Cancelled : public Error {
    using Error::Error;
};

/* --- how the library is called --- */

namespace detail {

inline void check(ppsched_status status)
{
    if (status != PPSCHED_OK)
        throw Error(status, ppsched_status_text(status));
}

inline void check(ppsched_status status, const ppsched_error &record)
{
    switch (status) {
    case PPSCHED_OK:
        return;
    case PPSCHED_ERROR_NO_MEMORY:
        throw std::bad_alloc();
    case PPSCHED_ERROR_REFUSED:
        throw Refused(record);
    case PPSCHED_ERROR_INVALID_SCHEDULE:
        throw InvalidSchedule(record);
    case PPSCHED_ERROR_CANCELLED:
        throw Cancelled(record);
    default:
        throw Error(record);
    }
}

/* Calls a function whose last argument is an error record. */
template <typename Function, typename... Arguments>
void call(Function function, Arguments... arguments)
{
    ppsched_error record;
    const ppsched_status status = function(arguments..., &record);
    check(status, record);
}

/* Calls a function that makes a handle through its first argument; the caller owns it. */
template <typename Handle, typename Function, typename... Arguments>
Handle *make(Function function, Arguments... arguments)
{
    Handle *out = nullptr;
    call(function, &out, arguments...);
    return out;
}

/* Frees a handle. */
struct Destroy {
    void operator()(ppsched_config *config) const noexcept { ppsched_config_destroy(config); }
    void operator()(ppsched_plan *plan) const noexcept { ppsched_plan_destroy(plan); }
    void operator()(ppsched_timeline *timeline) const noexcept { ppsched_timeline_destroy(timeline); }
};

/* What a callback threw, kept until the call of the library under which it ran has returned. */
class Raised {
public:
    /* Runs a callback. Returns what it says, or false where it throws, or has thrown before under the same call. */
    template <typename Callback>
    bool run(const Callback &callback) noexcept
    {
        if (error_)
            return false;
        try {
            return callback();
        } catch (...) {
            error_ = std::current_exception();
            return false;
        }
    }

    void rethrow() const
    {
        if (error_)
            std::rethrow_exception(error_);
    }

private:
    std::exception_ptr error_;
};

/* A text as C takes it; turns down what C would cut short. */
inline const char *c_text(const char *what, const std::string &text)
{
    if (text.find('\0') != std::string::npos)
        throw Error(PPSCHED_ERROR_ARGUMENT, std::string(what) + " holds a NUL character");
    return text.c_str();
}

/* A static text of the library's; none is an empty one. */
inline std::string_view view_text(const char *text) noexcept
{
    return text != nullptr ? std::string_view(text) : std::string_view();
}

/* What a function writes to a buffer about a record. */
template <typename Record>
std::string text_of(ppsched_status (*function)(const Record *, char *, size_t, size_t *), const Record &record)
{
    size_t size = 0;
    check(function(&record, nullptr, 0, &size));
    std::string text(size + 1, '\0');
    check(function(&record, text.data(), text.size(), nullptr));
    text.pop_back();
    return text;
}

} // namespace detail

/* --- callbacks --- */

class Config;
class Builder;
class Timeline;

/* Called by a search now and then: the share of its work that is done, 0 to 1, and the objective of the best schedule so far
 * (infinite: none yet). Returns whether to go on. It must not change the config. */
using Progress = std::function<bool(double share, double best)>;

/* Appends the ops of a schedule to the builder, which ends with the call. */
using Generator = std::function<void(const Config &config, Builder &builder)>;

/* Takes the next part of a text. Returns whether to go on. */
using Writer = std::function<bool(std::string_view data)>;

/* --- the problem --- */

/* Sizes, placement, costs, options of the strategy. A copy is one of its own, with the same progress callback. */
class Config {
public:
    /* The environment's functions must not throw, and outlive all that is made from the config. */
    Config(int64_t devices, int64_t stages, int64_t microbatches, const ppsched_environment *environment = nullptr)
        : handle_(detail::make<ppsched_config>(ppsched_config_create, devices, stages, microbatches, environment))
    {
    }

    /* Owns a config of the C API from now on. */
    explicit Config(ppsched_config *taken) noexcept : handle_(taken) {}

    Config(const Config &other)
        : handle_(detail::make<ppsched_config>(ppsched_config_copy, other.get())), progress_(other.progress_)
    {
    }

    Config(Config &&other) noexcept : handle_(std::move(other.handle_)), progress_(std::move(other.progress_)) {}

    Config &operator=(Config other) noexcept
    {
        handle_.swap(other.handle_);
        progress_.swap(other.progress_);
        return *this;
    }

    /* For calls of the C API, which know nothing of the progress callback. */
    ppsched_config *get() noexcept { return handle_.get(); }
    const ppsched_config *get() const noexcept { return handle_.get(); }

    uint32_t devices() const noexcept { return ppsched_config_devices(get()); }
    uint32_t stages() const noexcept { return ppsched_config_stages(get()); }
    uint32_t microbatches() const noexcept { return ppsched_config_microbatches(get()); }
    uint32_t iterations() const noexcept { return ppsched_config_iterations(get()); }
    ppsched_placement placement() const noexcept { return static_cast<ppsched_placement>(ppsched_config_placement(get())); }
    const Progress &progress() const noexcept { return progress_; }

    void set_iterations(int64_t iterations) { detail::call(ppsched_config_set_iterations, get(), iterations); }
    void set_weight_versions(int64_t versions) { detail::call(ppsched_config_set_weight_versions, get(), versions); }
    void set_placement(ppsched_placement placement) { place(placement, {}); }

    /* The caller's own placement: a device for each stage. */
    void set_placement(View<uint32_t> map) { place(PPSCHED_PLACEMENT_MAP, map); }
    void set_placement(std::initializer_list<uint32_t> map) { place(PPSCHED_PLACEMENT_MAP, map); }

    /* A list of numbers, or one number for all; an empty list goes back to the default. */
    void set_values(ppsched_quantity quantity, View<double> values)
    {
        detail::call(ppsched_config_set_values, get(), static_cast<int32_t>(quantity), values.data(), values.size());
    }

    void set_values(ppsched_quantity quantity, std::initializer_list<double> values)
    {
        set_values(quantity, View<double>(values));
    }

    void set_values(ppsched_quantity quantity, double value) { set_values(quantity, View<double>(&value, 1)); }

    /* The list as it was set, valid until it is set again; empty where the default holds. */
    View<double> values(ppsched_quantity quantity) const &
    {
        size_t count = 0;
        const double *values = ppsched_config_values(get(), static_cast<int32_t>(quantity), &count);
        return {values, count};
    }

    View<double> values(ppsched_quantity quantity) const && = delete;

    /* Options of the strategy; they are checked when it is asked for a schedule. */
    void set_option(const std::string &name, const std::string &value)
    {
        set_option_text(name, detail::c_text("the option's value", value));
    }

    void set_option(const std::string &name, int64_t value) { set_option_text(name, std::to_string(value).c_str()); }
    void clear_option(const std::string &name) { set_option_text(name, nullptr); }

    /* What searches call, in the thread that generates; an empty function: nothing. */
    void set_progress(Progress progress) noexcept { progress_.swap(progress); }

    /* The same model in another number of stages: costs are summed or divided, but for what the ends have of their own. */
    [[nodiscard]] Config with_stages(int64_t stages, const ModelEnd &embedding = {}, const ModelEnd &head = {}) const
    {
        return {detail::make<ppsched_config>(ppsched_config_with_stages, get(), stages, &embedding, &head), progress_};
    }

    /* The same batch in another number of microbatches. */
    [[nodiscard]] Config with_microbatches(int64_t microbatches) const
    {
        return {detail::make<ppsched_config>(ppsched_config_with_microbatches, get(), microbatches), progress_};
    }

    /* Throws where the lists of numbers contradict each other. */
    void validate() const { detail::call(ppsched_config_validate, get()); }

private:
    friend class Plan;

    Config(ppsched_config *taken, const Progress &progress) : handle_(taken), progress_(progress) {}

    void place(ppsched_placement placement, View<uint32_t> map)
    {
        detail::call(ppsched_config_set_placement, get(), static_cast<int32_t>(placement), map.data(), map.size());
    }

    void set_option_text(const std::string &name, const char *value)
    {
        detail::call(ppsched_config_set_option, get(), detail::c_text("the option's name", name), value);
    }

    std::unique_ptr<ppsched_config, detail::Destroy> handle_;
    Progress progress_; /* set by each call that generates, in a copy of its own of the C config: threads may share this one */
};

/* --- schedules --- */

/* What Schedule::prove found. */
struct Proof {
    bool safe;
    std::vector<Wait> circle; /* empty where it is safe, or a send or receive lacks its other end */
    std::string text;         /* why it is not safe, in words */

    explicit operator bool() const noexcept { return safe; }
};

/* What Schedule::buffers found: how many receive buffers a device needs, and what each op of its queue holds. */
struct Buffers {
    uint32_t slots;
    std::vector<OpBuffer> ops;
};

/* For each device the queue of its ops. Immutable; copies share it. */
class Schedule {
public:
    /* Builds a strategy's schedule; searches call the config's progress callback. */
    static Schedule generate(const Config &config, const std::string &strategy);

    /* Builds a schedule with the caller's generator, and checks it. */
    static Schedule generate_with(const Config &config, const std::string &name, const Generator &generator);

    /* Reads what export_to_string, or PyTorch, wrote: CSV or JSON. It is not checked here. */
    static Schedule from_text(std::string_view text, ppsched_format format, const ppsched_environment *environment = nullptr)
    {
        return Schedule(detail::make<ppsched_schedule>(ppsched_schedule_import, static_cast<int32_t>(format),
                                                       text.data() != nullptr ? text.data() : "", text.size(), environment));
    }

    /* Owns one reference to a schedule of the C API from now on. */
    explicit Schedule(ppsched_schedule *taken) noexcept : handle_(taken) {}

    Schedule(const Schedule &other) noexcept : handle_(ppsched_schedule_retain(other.handle_)) {}
    Schedule(Schedule &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    ~Schedule() { ppsched_schedule_release(handle_); }

    Schedule &operator=(Schedule other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }

    const ppsched_schedule *get() const noexcept { return handle_; }

    std::string name() const { return std::string(detail::view_text(ppsched_schedule_name(handle_))); }
    uint32_t devices() const noexcept { return ppsched_schedule_devices(handle_); }
    uint32_t stages() const noexcept { return ppsched_schedule_stages(handle_); }
    uint32_t microbatches() const noexcept { return ppsched_schedule_microbatches(handle_); }
    uint32_t iterations() const noexcept { return ppsched_schedule_iterations(handle_); }
    bool flushes() const noexcept { return ppsched_schedule_flushes(handle_) != 0; }
    uint32_t weight_versions() const noexcept { return ppsched_schedule_weight_versions(handle_); }
    uint64_t op_count() const noexcept { return ppsched_schedule_op_count(handle_); }

    ppsched_placement placement() const noexcept { return static_cast<ppsched_placement>(ppsched_schedule_placement(handle_)); }

    /* Device that runs a stage for a microbatch; nothing out of range. */
    std::optional<uint32_t> device_of(uint32_t stage, uint32_t microbatch = 0) const noexcept
    {
        const uint32_t device = ppsched_schedule_device_of(handle_, stage, microbatch);
        return device == PPSCHED_NONE ? std::nullopt : std::optional<uint32_t>(device);
    }

    /* One device's ops in the order in which they run: the library's memory, valid as long as a copy of the schedule. */
    View<Op> queue(uint32_t device) const &
    {
        size_t count = 0;
        const Op *ops = ppsched_queue_ops(ppsched_schedule_queue(handle_, known(device)), &count);
        return {ops, count};
    }

    View<Op> queue(uint32_t device) const && = delete;

    /* A lowered schedule; this one stays. Only PPSCHED_LOWERING_BY_TIME needs the config. */
    [[nodiscard]] Schedule lower(const LowerOptions &options) const { return lower_with(options, nullptr); }
    [[nodiscard]] Schedule lower(const LowerOptions &options, const Config &config) const
    {
        return lower_with(options, config.get());
    }

    /* What is wrong with the schedule; empty where it is complete and can be run. */
    [[nodiscard]] std::vector<Finding> check() const;

    /* Whether this lowered schedule always comes to its end in the channel model. */
    [[nodiscard]] Proof prove(const ChannelModel &model) const;

    /* What this lowered schedule needs of its runtime. */
    [[nodiscard]] std::vector<Edge> edges() const;
    [[nodiscard]] Buffers buffers(uint32_t device) const;

    /* Times the schedule; `flags` as in enum ppsched_evaluate_flag. */
    [[nodiscard]] Timeline evaluate(const Config &config, uint32_t flags = 0) const;

    /* Times this lowered schedule with its transfers; without a model they wait for nothing but their links. */
    [[nodiscard]] Timeline evaluate_transfers(const Config &config) const;
    [[nodiscard]] Timeline evaluate_transfers(const Config &config, const ChannelModel &model) const;

    /* The schedule without times, part by part or at once. Writer: WRITER where it says to stop. */
    void export_to(const Writer &writer, ppsched_format format, const ExportOptions &options = {}) const
    {
        export_with(nullptr, writer, format, options);
    }

    std::string export_to_string(ppsched_format format, const ExportOptions &options = {}) const
    {
        return export_string(nullptr, format, options);
    }

    /* The arguments with which a runtime runs the schedule, in one line. */
    std::string launch(ppsched_runtime runtime, const LaunchOptions &options = {}) const
    {
        size_t length = 0;
        const auto ask = [&](char *buffer, size_t capacity) {
            detail::call(ppsched_schedule_launch, get(), static_cast<int32_t>(runtime), &options, buffer, capacity, &length);
        };
        ask(nullptr, 0);
        std::string line(length + 1, '\0');
        ask(line.data(), line.size());
        line.resize(length);
        return line;
    }

private:
    friend class Timeline;

    uint32_t known(uint32_t device) const
    {
        if (device >= devices())
            throw Error(PPSCHED_ERROR_RANGE,
                        "there is no device " + std::to_string(device) + "; there are " + std::to_string(devices()));
        return device;
    }

    /* Calls a function that makes a schedule through its first argument and runs callbacks, which may throw. */
    template <typename Function, typename... Arguments>
    static Schedule make_under(const detail::Raised &raised, Function function, Arguments... arguments)
    {
        ppsched_schedule *out = nullptr;
        ppsched_error record;
        const ppsched_status status = function(&out, arguments..., &record);
        Schedule made(out);
        raised.rethrow();
        detail::check(status, record);
        return made;
    }

    Schedule lower_with(const LowerOptions &options, const ppsched_config *config) const
    {
        return Schedule(detail::make<ppsched_schedule>(ppsched_schedule_lower, get(), config, &options));
    }

    void export_with(const ppsched_timeline *timeline, const Writer &writer, ppsched_format format,
                     const ExportOptions &options) const;

    std::string export_string(const ppsched_timeline *timeline, ppsched_format format, const ExportOptions &options) const
    {
        std::string text;
        const auto append = [&text](std::string_view data) {
            text.append(data);
            return true;
        };
        export_with(timeline, append, format, options);
        return text;
    }

    ppsched_schedule *handle_;
};

/* An op; kinds without microbatch have PPSCHED_NONE. */
inline Op make_op(uint32_t stage, ppsched_kind kind, uint32_t microbatch = PPSCHED_NONE, bool overlapped = false)
{
    if (stage >= PPSCHED_MAX_STAGES)
        throw Error(PPSCHED_ERROR_RANGE, "stage is " + std::to_string(stage) + ", which no schedule has");
    Op op{};
    op.microbatch = microbatch;
    op.stage = static_cast<uint16_t>(stage);
    op.kind = static_cast<uint8_t>(kind);
    op.flags = overlapped ? uint8_t{PPSCHED_OP_OVERLAPPED} : uint8_t{0};
    return op;
}

/* An op as a token, such as "3F0"; a finding in words. */
inline std::string op_token(const Op &op)
{
    return detail::text_of(ppsched_op_token, op);
}
inline std::string finding_text(const Finding &finding)
{
    return detail::text_of(ppsched_finding_text, finding);
}

/* Collects the ops of a schedule of the caller's own. Neither copied nor moved: that of a generator ends with its call. */
class Builder {
public:
    /* With the config's sizes and placement; the config may go before it. */
    explicit Builder(const Config &config) : Builder(detail::make<ppsched_builder>(ppsched_builder_create, config.get()), true)
    {
    }

    Builder(const Builder &) = delete;
    Builder &operator=(const Builder &) = delete;

    ~Builder()
    {
        if (owned_)
            ppsched_builder_destroy(handle_);
    }

    ppsched_builder *get() noexcept { return handle_; }

    /* Appends to a device's queue: all, or nothing where it throws. */
    void append(uint32_t device, View<Op> ops)
    {
        detail::call(ppsched_builder_append, handle_, device, ops.data(), ops.size());
    }

    void append(uint32_t device, std::initializer_list<Op> ops) { append(device, View<Op>(ops)); }
    void append(uint32_t device, const Op &op) { append(device, View<Op>(&op, 1)); }

    void set_name(const std::string &name)
    {
        detail::call(ppsched_builder_set_name, handle_, detail::c_text("the name", name));
    }

    void set_flushes(bool flushes) { detail::call(ppsched_builder_set_flushes, handle_, uint32_t{flushes}); }
    void set_weight_versions(uint32_t versions) { detail::call(ppsched_builder_set_weight_versions, handle_, versions); }

    /* Makes the schedule and empties the builder. The schedule is not checked here. */
    Schedule finish() { return Schedule(detail::make<ppsched_schedule>(ppsched_builder_finish, handle_)); }

private:
    friend class Schedule;

    Builder(ppsched_builder *handle, bool owned) noexcept : handle_(handle), owned_(owned) {}

    ppsched_builder *handle_;
    bool owned_;
};

/* --- times --- */

/* A schedule with times. Immutable but for update; moved, not copied. */
class Timeline {
public:
    /* Owns a timeline of the C API from now on. */
    explicit Timeline(ppsched_timeline *taken) noexcept
        : handle_(taken), /* only the reference count is written to, which is atomic */
          schedule_(ppsched_schedule_retain(const_cast<ppsched_schedule *>(ppsched_timeline_schedule(taken))))
    {
    }

    const ppsched_timeline *get() const noexcept { return handle_.get(); }
    const Schedule &schedule() const &noexcept { return schedule_; }
    Schedule schedule() const &&noexcept { return schedule_; }

    /* Start and end of each op of a device's queue. */
    View<Span> spans(uint32_t device) const &
    {
        size_t count = 0;
        const Span *spans = ppsched_timeline_spans(get(), schedule_.known(device), &count);
        return {spans, count};
    }

    /* Latest start of each op that leaves the makespan as it is; empty with EARLIEST_ONLY, and with transfers. */
    View<double> latest_starts(uint32_t device) const &
    {
        size_t count = 0;
        const double *starts = ppsched_timeline_latest_starts(get(), schedule_.known(device), &count);
        return {starts, count};
    }

    /* Times it anew with another config's costs, and allocates nothing. For a timeline made with PPSCHED_EVALUATE_REUSABLE;
     * views of it are invalid afterwards. */
    void update(const Config &config) { detail::call(ppsched_timeline_update, handle_.get(), config.get()); }

    View<Span> spans(uint32_t device) const && = delete;
    View<double> latest_starts(uint32_t device) const && = delete;

    Metrics metrics() const
    {
        Metrics metrics;
        detail::check(ppsched_timeline_metrics(get(), &metrics));
        return metrics;
    }

    DeviceMetrics device_metrics(uint32_t device) const
    {
        DeviceMetrics metrics;
        detail::check(ppsched_timeline_device_metrics(get(), schedule_.known(device), &metrics));
        return metrics;
    }

    /* Why a device is idle. Not with EARLIEST_ONLY. */
    Idle idle(uint32_t device) const
    {
        Idle idle;
        const ppsched_status status = ppsched_timeline_idle(get(), schedule_.known(device), &idle);
        if (status == PPSCHED_ERROR_ARGUMENT)
            throw Error(status, "why devices are idle was left out (PPSCHED_EVALUATE_EARLIEST_ONLY)");
        detail::check(status);
        return idle;
    }

    /* Memory of a device over time: its static memory at 0, then a point for each change. */
    std::vector<MemoryPoint> memory(uint32_t device) const
    {
        size_t count = 0;
        detail::check(ppsched_timeline_memory(get(), schedule_.known(device), nullptr, 0, &count));
        std::vector<MemoryPoint> points(count);
        detail::check(ppsched_timeline_memory(get(), device, points.data(), points.size(), nullptr));
        return points;
    }

    /* The ops in a row that make the makespan as long as it is. Not with transfers. */
    std::vector<CriticalOp> critical_path() const
    {
        size_t count = 0;
        detail::call(ppsched_timeline_critical_path, get(), nullptr, size_t{0}, &count);
        std::vector<CriticalOp> path(count);
        detail::call(ppsched_timeline_critical_path, get(), path.data(), path.size(), &count);
        return path;
    }

    /* The least slack of the ops of each device, and of each stage. Not with EARLIEST_ONLY, nor with transfers. */
    std::vector<double> slack_by_device() const { return slack(schedule_.devices(), 0).first; }
    std::vector<double> slack_by_stage() const { return slack(0, schedule_.stages()).second; }

    /* For each stage what the objective gains and loses where its ops of a kind (0: of all kinds) take longer or less. */
    std::vector<Sensitivity> sensitivities(ppsched_objective objective = PPSCHED_OBJECTIVE_MAKESPAN, int32_t kind = 0) const
    {
        std::vector<Sensitivity> found(schedule_.stages());
        detail::call(ppsched_timeline_sensitivities, get(), static_cast<int32_t>(objective), kind, found.data(), found.size());
        return found;
    }

    /* The schedule with its times. */
    void export_to(const Writer &writer, ppsched_format format, const ExportOptions &options = {}) const
    {
        schedule_.export_with(get(), writer, format, options);
    }

    std::string export_to_string(ppsched_format format, const ExportOptions &options = {}) const
    {
        return schedule_.export_string(get(), format, options);
    }

private:
    std::pair<std::vector<double>, std::vector<double>> slack(size_t devices, size_t stages) const
    {
        std::vector<double> by_device(devices), by_stage(stages);
        detail::call(ppsched_timeline_slack, get(), devices > 0 ? by_device.data() : nullptr, devices,
                     stages > 0 ? by_stage.data() : nullptr, stages);
        return {by_device, by_stage};
    }

    std::unique_ptr<ppsched_timeline, detail::Destroy> handle_;
    Schedule schedule_;
};

/* --- plans --- */

/* What may vary; see ppsched_plan_options. Empty lists, and what is left as it is here, are the defaults. */
struct PlanOptions {
    ppsched_objective objective = PPSCHED_OBJECTIVE_MAKESPAN;
    std::vector<std::string> strategies;
    std::vector<uint32_t> chunks, group_sizes, microbatches;
    std::vector<double> memory_limits;
    uint32_t placements = 0, effort = 0;
    ppsched_lowering lowering = PPSCHED_LOWERING_NONE;
    std::optional<ChannelModel> channel; /* without one transfers wait for nothing but their links */
    ModelEnd embedding{}, head{};
};

/* What Plan::least_limit found: the least memory limit, one for all devices, and the candidate that it is enough for. */
struct LeastLimit {
    double limit;
    size_t candidate;
};

/* The candidates for a problem, numbered from 0; once it has run, by rank. Moved, not copied. */
class Plan {
public:
    /* Lists them. Takes the config's progress callback over, for `run`. */
    explicit Plan(const Config &config, const PlanOptions &options = {})
        : running_(config.progress() ? new Running{config.progress(), nullptr} : nullptr), handle_(list(config, options))
    {
    }

    const ppsched_plan *get() const noexcept { return handle_.get(); }
    size_t size() const noexcept { return ppsched_plan_count(get()); }

    /* Evaluates one candidate, without telling its progress; several threads may, each another one. A refusal is kept. */
    void evaluate(size_t candidate) { detail::call(ppsched_plan_evaluate, handle_.get(), candidate); }

    /* Evaluates all that are not yet, and ranks them. It may be called again where it has thrown. */
    void run();

    /* What a candidate is, and once it is evaluated what it costs; texts are borrowed from the plan. */
    Candidate candidate(size_t candidate) const &
    {
        Candidate out;
        if (candidate >= size())
            throw Error(PPSCHED_ERROR_ARGUMENT,
                        "there is no candidate " + std::to_string(candidate) + " of " + std::to_string(size()));
        detail::check(ppsched_plan_candidate(get(), candidate, &out));
        return out;
    }

    Candidate candidate(size_t candidate) const && = delete;

    /* A candidate's own problem, with the progress callback of the plan's. */
    Config config(size_t candidate) const
    {
        Config config(detail::make<ppsched_config>(ppsched_plan_config, get(), candidate));
        if (running_)
            config.set_progress(running_->progress);
        return config;
    }

    /* Makes a candidate's schedule again, timed as the plan did; it is in Timeline::schedule. Tells no progress. */
    Timeline timeline(size_t candidate) const
    {
        return Timeline(detail::make<ppsched_timeline>(ppsched_plan_timeline, get(), candidate));
    }

    /* Under which memory limit a candidate fits, where none does. */
    LeastLimit least_limit() const
    {
        LeastLimit least{};
        detail::call(ppsched_plan_least_limit, &least.limit, &least.candidate, get());
        return least;
    }

private:
    /* What the C plan's progress callback gets; its place stays when the plan is moved. */
    struct Running {
        Progress progress;
        detail::Raised *raised; /* of the run under way; none: nothing is told */
    };

    static int32_t tell(void *user, double share, double best) noexcept
    {
        const Running &own = *static_cast<Running *>(user);
        return own.raised == nullptr || own.raised->run([&] { return own.progress(share, best); }) ? 0 : 1;
    }

    ppsched_plan *list(const Config &config, const PlanOptions &options) const;

    std::unique_ptr<Running> running_; /* outlives the C plan */
    std::unique_ptr<ppsched_plan, detail::Destroy> handle_;
};

/* --- schedules, what needs the classes above --- */

inline Schedule Schedule::generate(const Config &config, const std::string &strategy)
{
    const char *name = detail::c_text("the strategy", strategy);
    if (!config.progress())
        return Schedule(detail::make<ppsched_schedule>(ppsched_schedule_generate, config.get(), name));

    struct Search {
        const Progress &progress;
        detail::Raised raised;
    } search{config.progress(), {}};
    const auto tell = [](void *user, double share, double best) noexcept -> int32_t {
        Search &own = *static_cast<Search *>(user);
        return own.raised.run([&] { return own.progress(share, best); }) ? 0 : 1;
    };
    Config told(detail::make<ppsched_config>(ppsched_config_copy, config.get()));
    detail::check(ppsched_config_set_progress(told.get(), tell, &search));
    return make_under(search.raised, ppsched_schedule_generate, told.get(), name);
}

inline Schedule Schedule::generate_with(const Config &config, const std::string &name, const Generator &generator)
{
    struct Generation {
        const Config &config;
        const Generator &generator;
        detail::Raised raised;
    } generation{config, generator, {}};
    const ppsched_generate_function run = [](void *user, const ppsched_config *, ppsched_builder *handle) noexcept {
        Generation &own = *static_cast<Generation *>(user);
        const bool done = own.raised.run([&] {
            Builder builder(handle, false);
            own.generator(own.config, builder);
            return true;
        });
        return ppsched_status{done ? PPSCHED_OK : PPSCHED_ERROR_CALLBACK};
    };
    const char *text = detail::c_text("the name", name);
    return make_under(generation.raised, ppsched_schedule_generate_with, config.get(), text, run, &generation);
}

inline std::vector<Finding> Schedule::check() const
{
    std::vector<Finding> findings;
    ppsched_error record;
    for (size_t count = 0;; findings.resize(count)) {
        const ppsched_status status = ppsched_check(handle_, findings.data(), findings.size(), &count, &record);
        if (status != PPSCHED_ERROR_INVALID_SCHEDULE)
            detail::check(status, record);
        if (count == findings.size())
            return findings;
    }
}

inline Proof Schedule::prove(const ChannelModel &model) const
{
    Proof proof{false, {}, {}};
    ppsched_error record;
    for (size_t count = 0;; proof.circle.resize(count)) {
        const ppsched_status status = ppsched_schedule_prove(handle_, &model, proof.circle.data(), proof.circle.size(), &count,
                                                             &record);
        if (status != PPSCHED_ERROR_INVALID_SCHEDULE)
            detail::check(status, record);
        if (count != proof.circle.size())
            continue;
        proof.safe = status == PPSCHED_OK;
        proof.text = proof.safe ? "" : record.message;
        return proof;
    }
}

inline std::vector<Edge> Schedule::edges() const
{
    std::vector<Edge> edges;
    size_t count = 0;
    detail::call(ppsched_schedule_edges, handle_, edges.data(), edges.size(), &count);
    edges.resize(count);
    detail::call(ppsched_schedule_edges, handle_, edges.data(), edges.size(), &count);
    return edges;
}

inline Buffers Schedule::buffers(uint32_t device) const
{
    const size_t count = queue(device).size();
    Buffers buffers{0, std::vector<OpBuffer>(count + 1)}; /* one more, as the library turns NULL down for an empty queue, too */
    detail::call(ppsched_schedule_buffers, handle_, device, buffers.ops.data(), count, &buffers.slots);
    buffers.ops.pop_back();
    return buffers;
}

inline Timeline Schedule::evaluate(const Config &config, uint32_t flags) const
{
    return Timeline(detail::make<ppsched_timeline>(ppsched_evaluate, get(), config.get(), flags));
}

inline Timeline Schedule::evaluate_transfers(const Config &config) const
{
    return Timeline(detail::make<ppsched_timeline>(ppsched_evaluate_transfers, get(), config.get(), nullptr, 0u));
}

inline Timeline Schedule::evaluate_transfers(const Config &config, const ChannelModel &model) const
{
    return Timeline(detail::make<ppsched_timeline>(ppsched_evaluate_transfers, get(), config.get(), &model, 0u));
}

inline void Schedule::export_with(const ppsched_timeline *timeline, const Writer &writer, ppsched_format format,
                                  const ExportOptions &options) const
{
    struct Writing {
        const Writer &writer;
        detail::Raised raised;
    } writing{writer, {}};
    const auto write = [](void *user, const char *data, size_t size) noexcept -> int32_t {
        Writing &own = *static_cast<Writing *>(user);
        return own.raised.run([&] { return own.writer(std::string_view(data, size)); }) ? 0 : 1;
    };
    ppsched_error record;
    const ppsched_status status = ppsched_export(handle_, timeline, static_cast<int32_t>(format), &options, write, &writing,
                                                 &record);
    writing.raised.rethrow();
    detail::check(status, record);
}

/* --- plans, what is longer --- */

inline void Plan::run()
{
    detail::Raised raised;
    ppsched_error record;
    if (running_)
        running_->raised = &raised;
    const ppsched_status status = ppsched_plan_run(handle_.get(), &record);
    if (running_)
        running_->raised = nullptr;
    raised.rethrow();
    detail::check(status, record);
}

inline ppsched_plan *Plan::list(const Config &config, const PlanOptions &options) const
{
    Sized<ppsched_plan_options> own;
    std::vector<const char *> names;
    for (const std::string &name : options.strategies)
        names.push_back(detail::c_text("the strategy", name));
    const auto give = [](const auto &values, auto &list, uint32_t &count) {
        list = values.empty() ? nullptr : values.data();
        count = static_cast<uint32_t>(values.size());
    };
    give(names, own.strategies, own.strategy_count);
    give(options.chunks, own.chunks, own.chunk_count);
    give(options.group_sizes, own.group_sizes, own.group_size_count);
    give(options.microbatches, own.microbatches, own.microbatch_count);
    give(options.memory_limits, own.memory_limits, own.memory_limit_count);
    own.objective = options.objective;
    own.placements = options.placements;
    own.effort = options.effort;
    own.lowering = options.lowering;
    own.channel = options.channel ? &*options.channel : nullptr;
    own.embedding = &options.embedding;
    own.head = &options.head;

    const ppsched_plan_options *given = &own;
    if (!running_)
        return detail::make<ppsched_plan>(ppsched_plan_create, config.get(), given);
    Config told(detail::make<ppsched_config>(ppsched_config_copy, config.get()));
    detail::check(ppsched_config_set_progress(told.get(), tell, running_.get()));
    return detail::make<ppsched_plan>(ppsched_plan_create, told.get(), given);
}

/* --- strategies and bounds --- */

/* An option of a strategy: one of its choices, or where it has none an integer from minimum to maximum. All texts here are the
 * library's static storage. */
struct Option {
    std::string_view name, default_text, text;
    int64_t minimum, maximum;
    std::vector<std::string_view> choices;
};

/* What a strategy is; see ppsched_strategy_info. */
struct Strategy {
    std::string_view name, summary, source;
    std::vector<std::string_view> aliases;
    ppsched_placement placement;
    uint32_t chunks, weight_versions;
    bool splits_backward, flushes, searches;
    std::vector<Option> options;
};

namespace detail {

inline Option describe_option(uint32_t strategy, uint32_t number)
{
    Sized<ppsched_option_info> info;
    check(ppsched_strategy_option(strategy, number, &info));
    return {view_text(info.name), view_text(info.default_text),
            view_text(info.text), info.minimum,
            info.maximum,         {info.choices, info.choices + info.choice_count}};
}

inline Strategy describe_strategy(uint32_t number)
{
    Sized<ppsched_strategy_info> info;
    check(ppsched_strategy_describe(number, &info));
    Strategy strategy{view_text(info.name),
                      view_text(info.summary),
                      view_text(info.source),
                      {info.aliases, info.aliases + info.alias_count},
                      static_cast<ppsched_placement>(info.placement),
                      info.chunks,
                      info.weight_versions,
                      info.splits_backward != 0,
                      info.flushes != 0,
                      info.searches != 0,
                      {}};
    for (uint32_t i = 0; i < info.option_count; i++)
        strategy.options.push_back(describe_option(number, i));
    return strategy;
}

} // namespace detail

/* All built-in strategies. */
inline std::vector<Strategy> strategies()
{
    std::vector<Strategy> all;
    for (uint32_t i = 0; i < ppsched_strategy_count(); i++)
        all.push_back(detail::describe_strategy(i));
    return all;
}

/* The strategy with that name or alias; throws with the nearest name where there is none. */
inline Strategy strategy_find(const std::string &name)
{
    uint32_t number = 0;
    detail::call(ppsched_strategy_find, detail::c_text("the strategy", name), &number);
    return detail::describe_strategy(number);
}

/* Throws, as Schedule::generate would, where the strategy cannot serve the problem; builds nothing. */
inline void strategy_fits(const std::string &name, const Config &config)
{
    detail::call(ppsched_strategy_fits, detail::c_text("the strategy", name), config.get());
}

/* What no schedule can do better, for the config's placement. */
inline Bound lower_bound(const Config &config, ppsched_objective objective = PPSCHED_OBJECTIVE_SPAN)
{
    Bound bound;
    detail::call(ppsched_lower_bound, static_cast<ppsched_bound *>(&bound), config.get(), static_cast<int32_t>(objective));
    return bound;
}

} // namespace ppsched

#endif
