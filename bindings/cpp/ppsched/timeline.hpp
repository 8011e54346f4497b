/* SPDX-License-Identifier: Apache-2.0 */
/* Timeline: when each op runs, what that costs, and why. */
#ifndef PPSCHED_TIMELINE_HPP
#define PPSCHED_TIMELINE_HPP

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ppsched/evaluate.h>
#include <ppsched/explain.h>

#include <ppsched/detail.hpp>
#include <ppsched/export.hpp>
#include <ppsched/schedule.hpp>
#include <ppsched/sized.hpp>
#include <ppsched/view.hpp>

namespace ppsched {

using DeviceMetrics = Sized<ppsched_device_metrics>;
using Idle = Sized<ppsched_idle>;
using Metrics = Sized<ppsched_metrics>;
using CriticalOp = ppsched_critical_op;
using MemoryPoint = ppsched_memory_point;
using Sensitivity = ppsched_sensitivity;
using Span = ppsched_span;

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
        detail::export_to(schedule_.get(), get(), writer, format, options);
    }

    std::string export_to_string(ppsched_format format, const ExportOptions &options = {}) const
    {
        return detail::export_to_string(schedule_.get(), get(), format, options);
    }

private:
    std::pair<std::vector<double>, std::vector<double>> slack(size_t devices, size_t stages) const
    {
        std::vector<double> by_device(devices), by_stage(stages);
        detail::call(ppsched_timeline_slack, get(), devices > 0 ? by_device.data() : nullptr, devices,
                     stages > 0 ? by_stage.data() : nullptr, stages);
        return {by_device, by_stage};
    }

    std::unique_ptr<ppsched_timeline, detail::Destroy<ppsched_timeline_destroy>> handle_;
    Schedule schedule_;
};

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

} // namespace ppsched

#endif
