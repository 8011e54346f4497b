/* SPDX-License-Identifier: Apache-2.0 */
/* Schedule: the queue of each device; made by a strategy or a generator, or read from a text. */
#ifndef PPSCHED_SCHEDULE_HPP
#define PPSCHED_SCHEDULE_HPP

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ppsched/evaluate.h>
#include <ppsched/import.h>
#include <ppsched/schedule.h>
#include <ppsched/strategy.h>

#include <ppsched/check.hpp>
#include <ppsched/config.hpp>
#include <ppsched/detail.hpp>
#include <ppsched/export.hpp>
#include <ppsched/launch.hpp>
#include <ppsched/lower.hpp>
#include <ppsched/op.hpp>
#include <ppsched/view.hpp>

namespace ppsched {

class Builder;
class Timeline;

/* A generator: appends the ops of a schedule to the builder. The builder is valid only during the call. */
using Generator = std::function<void(const Config &config, Builder &builder)>;

/* The queue of ops of each device. Immutable. Copies share it. */
class Schedule {
public:
    /* Builds the schedule of a strategy. Searches call the config's progress callback. */
    static Schedule generate(const Config &config, const std::string &strategy);

    /* Builds a schedule with the caller's generator, and checks it. */
    static Schedule generate_with(const Config &config, const std::string &name, const Generator &generator);

    /* Reads CSV or JSON from export_to_string or PyTorch. It does not check the schedule. */
    static Schedule from_text(std::string_view text, ppsched_format format, const ppsched_environment *environment = nullptr)
    {
        return Schedule(detail::make<ppsched_schedule>(ppsched_schedule_import, static_cast<int32_t>(format),
                                                       text.data() != nullptr ? text.data() : "", text.size(), environment));
    }

    /* Takes ownership of one reference to a schedule of the C API. */
    explicit Schedule(const ppsched_schedule *taken) noexcept : handle_(taken) {}

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
    uint32_t slices() const noexcept { return ppsched_schedule_slices(handle_); }
    bool flushes() const noexcept { return ppsched_schedule_flushes(handle_) != 0; }
    uint32_t weight_versions() const noexcept { return ppsched_schedule_weight_versions(handle_); }
    uint64_t op_count() const noexcept { return ppsched_schedule_op_count(handle_); }

    ppsched_placement placement() const noexcept { return static_cast<ppsched_placement>(ppsched_schedule_placement(handle_)); }

    /* The device at the other end of a send or receive. Empty for other ops. */
    std::optional<uint32_t> peer_of(const ppsched_op &op) const noexcept
    {
        const uint32_t device = ppsched_schedule_peer_of(handle_, &op);
        return device == PPSCHED_NONE ? std::nullopt : std::optional<uint32_t>(device);
    }

    /* The device that runs a stage for a microbatch. Empty if one of them is out of range. */
    std::optional<uint32_t> device_of(uint32_t stage, uint32_t microbatch = 0) const noexcept
    {
        const uint32_t device = ppsched_schedule_device_of(handle_, stage, microbatch);
        return device == PPSCHED_NONE ? std::nullopt : std::optional<uint32_t>(device);
    }

    /* False if the stages are a chain in which each stage has one device and all passes. */
    bool has_graph() const noexcept { return ppsched_schedule_has_graph(handle_) != 0; }

    /* The i-th input, and the i-th device, of a stage; empty past the last. */
    std::optional<uint32_t> stage_input(uint32_t stage, uint32_t i) const noexcept
    {
        const uint32_t input = ppsched_schedule_stage_input(handle_, stage, i);
        return input == PPSCHED_NONE ? std::nullopt : std::optional<uint32_t>(input);
    }

    std::optional<uint32_t> stage_device(uint32_t stage, uint32_t i) const noexcept
    {
        const uint32_t device = ppsched_schedule_stage_device(handle_, stage, i);
        return device == PPSCHED_NONE ? std::nullopt : std::optional<uint32_t>(device);
    }

    /* The stage at the other end of a transfer; empty if there is none. */
    std::optional<uint32_t> peer_stage(const ppsched_op &op) const noexcept
    {
        const uint32_t stage = ppsched_schedule_peer_stage(handle_, &op);
        return stage == PPSCHED_NONE ? std::nullopt : std::optional<uint32_t>(stage);
    }

    /* The place of a stage on a device: the number that sends and receives of a stage graph use for it. Empty if there is none;
     * see ppsched_schedule_place_of. */
    std::optional<uint32_t> place_of(uint32_t stage, uint32_t device) const noexcept
    {
        const uint32_t place = ppsched_schedule_place_of(handle_, stage, device);
        return place == PPSCHED_NONE ? std::nullopt : std::optional<uint32_t>(place);
    }

    ppsched_stage_passes stage_passes(uint32_t stage) const noexcept
    {
        return static_cast<ppsched_stage_passes>(ppsched_schedule_stage_passes(handle_, stage));
    }

    bool runs_stage(uint32_t stage, uint32_t microbatch) const noexcept
    {
        return ppsched_schedule_runs_stage(handle_, stage, microbatch) != 0;
    }

    /* The ops of a device in the order in which they run. A view of the library's memory, valid as long as a copy of the
     * schedule exists. */
    View<Op> queue(uint32_t device) const &
    {
        size_t count = 0;
        const Op *ops = ppsched_queue_ops(ppsched_schedule_queue(handle_, known(device)), &count);
        return {ops, count};
    }

    View<Op> queue(uint32_t device) const && = delete;

    /* Makes a lowered schedule. This schedule does not change. Only PPSCHED_LOWERING_BY_TIME and
     * PPSCHED_UNSHARD_LOOKAHEAD_NEEDED need the config. */
    [[nodiscard]] Schedule lower(const LowerOptions &options) const { return lower_with(options, nullptr); }
    [[nodiscard]] Schedule lower(const LowerOptions &options, const Config &config) const
    {
        return lower_with(options, config.get());
    }

    /* Activation memory saving: makes a schedule with RECOMPUTE, or with OFFLOAD and RELOAD (placed by the config's times and
     * links). This schedule does not change. */
    [[nodiscard]] Schedule recompute(const RecomputeOptions &options) const
    {
        return Schedule(detail::make<ppsched_schedule>(ppsched_schedule_recompute, get(), &options));
    }

    [[nodiscard]] Schedule offload(const OffloadOptions &options, const Config &config) const
    {
        return Schedule(detail::make<ppsched_schedule>(ppsched_schedule_offload, get(), config.get(), &options));
    }

    /* The same schedule, with microbatches numbered in the order in which the last stage runs their forwards. */
    [[nodiscard]] Schedule renumber() const
    {
        return Schedule(detail::make<ppsched_schedule>(ppsched_schedule_renumber, get()));
    }

    /* The findings of the checker. Empty if the schedule is complete and can run. */
    [[nodiscard]] std::vector<Finding> check() const { return detail::findings(get()); }

    /* Proves that this lowered schedule always runs to its end in the channel model, or finds a deadlock. */
    [[nodiscard]] Proof prove(const ChannelModel &model) const { return detail::prove(get(), model); }

    /* What a runtime must provide for this lowered schedule: its links, and the buffers of a device. */
    [[nodiscard]] std::vector<Link> links() const { return detail::links(get()); }
    [[nodiscard]] Buffers buffers(uint32_t device) const { return detail::buffers(get(), device, queue(device).size()); }

    /* The arenas of slots that a runtime allocates once on a device; the lifetimes of the values in these slots; and the
     * connections that devices set up, round by round. */
    [[nodiscard]] std::vector<Arena> arenas(uint32_t device, ppsched_slot_use use) const
    {
        return detail::arenas(get(), device, use);
    }
    [[nodiscard]] std::vector<Lifetime> lifetimes(uint32_t device, ppsched_slot_use use) const
    {
        return detail::lifetimes(get(), device, use);
    }
    [[nodiscard]] std::vector<Connection> connections(ppsched_connecting what) const
    {
        return detail::connections(get(), what);
    }

    /* Computes the times of the schedule. `flags`: enum ppsched_evaluate_flag. */
    [[nodiscard]] Timeline evaluate(const Config &config, uint32_t flags = 0) const;

    /* Computes the times of this lowered schedule, transfers included. Without a channel model, transfers wait only for their
     * links. */
    [[nodiscard]] Timeline evaluate_transfers(const Config &config) const;
    [[nodiscard]] Timeline evaluate_transfers(const Config &config, const ChannelModel &model) const;

    /* Writes the schedule without times: in parts to a writer, or as one text. If the writer asks to stop, the call throws an
     * Error with the status PPSCHED_ERROR_WRITER. */
    void export_to(const Writer &writer, ppsched_format format, const ExportOptions &options = {}) const
    {
        detail::export_to(get(), nullptr, writer, format, options);
    }

    std::string export_to_string(ppsched_format format, const ExportOptions &options = {}) const
    {
        return detail::export_to_string(get(), nullptr, format, options);
    }

    /* The launch arguments of a runtime for this schedule, in one line. */
    std::string launch(ppsched_runtime runtime, const LaunchOptions &options = {}) const
    {
        return detail::text_of(ppsched_schedule_write_launch_arguments, get(), static_cast<int32_t>(runtime), &options);
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

    /* Calls a function that returns a schedule through its first argument. The function runs callbacks, which may throw. */
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

    const ppsched_schedule *handle_;
};

inline Schedule Schedule::generate(const Config &config, const std::string &strategy)
{
    const char *name = detail::c_text("the strategy", strategy);
    if (!config.progress())
        return Schedule(detail::make<ppsched_schedule>(ppsched_schedule_generate, config.get(), name));

    detail::Raised raised;
    detail::Teller teller{config.progress(), &raised};
    const Config told = teller.copy_of(config);
    return make_under(raised, ppsched_schedule_generate, told.get(), name);
}

} // namespace ppsched

/* Members of Schedule take or return the classes in these headers. The headers come last because they need the complete class
 * Schedule. */
#include <ppsched/builder.hpp>
#include <ppsched/timeline.hpp>

#endif
