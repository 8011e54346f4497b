/* SPDX-License-Identifier: Apache-2.0 */
/* Timeline: the times of all ops, memory, and idle time with its causes. */
#ifndef PPSCHED_TIMELINE_HPP
#define PPSCHED_TIMELINE_HPP

#include <memory>
#include <string>
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
using IdleWindow = ppsched_idle_window;
using MemoryItem = ppsched_memory_item;
using MemoryPoint = ppsched_memory_point;
using Sensitivity = ppsched_sensitivity;
using Span = ppsched_span;

/* A schedule with times. Only `update` changes it. Can be moved, not copied. */
class Timeline {
public:
    /* Takes ownership of a timeline of the C API. */
    explicit Timeline(ppsched_timeline *taken) noexcept
        : handle_(taken), schedule_(ppsched_schedule_retain(ppsched_timeline_schedule(taken)))
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

    /* For each op, the latest start that does not make the makespan longer. Empty if the timeline was made with EARLIEST_ONLY
     * or by evaluate_transfers. */
    View<double> latest_starts(uint32_t device) const &
    {
        size_t count = 0;
        const double *starts = ppsched_timeline_latest_starts(get(), schedule_.known(device), &count);
        return {starts, count};
    }

    /* Times the schedule again with the costs of another config, without allocating memory. The timeline must be made with
     * PPSCHED_EVALUATE_FLAG_REUSABLE. Its views are invalid afterwards. */
    void update(const Config &config) { detail::call(ppsched_timeline_update, handle_.get(), config.get()); }

    View<Span> spans(uint32_t device) const && = delete;
    View<double> latest_starts(uint32_t device) const && = delete;

    Metrics metrics() const { return detail::record_of<Metrics>(ppsched_timeline_get_metrics, get()); }

    DeviceMetrics device_metrics(uint32_t device) const
    {
        return detail::record_of<DeviceMetrics>(ppsched_timeline_get_device_metrics, get(), schedule_.known(device));
    }

    /* The idle time of a device by cause. Not with EARLIEST_ONLY. */
    Idle idle(uint32_t device) const
    {
        return detail::record_of<Idle>(ppsched_timeline_get_idle, get(), schedule_.known(device));
    }

    /* The memory of a device over time: its static memory at time 0, then a point for each change. */
    std::vector<MemoryPoint> memory(uint32_t device) const
    {
        return detail::items_of<std::vector<MemoryPoint>>(ppsched_timeline_get_memory, get(), schedule_.known(device));
    }

    /* The memory of a device for one cause. */
    std::vector<MemoryPoint> memory(uint32_t device, ppsched_memory_cause cause) const
    {
        return detail::items_of<std::vector<MemoryPoint>>(ppsched_timeline_get_memory_of_cause, get(), schedule_.known(device),
                                                          static_cast<int32_t>(cause));
    }

    /* A device's peak memory by cause (enum ppsched_memory_cause). The sum of the values is exactly the peak. */
    std::vector<double> peak_causes(uint32_t device) const
    {
        return detail::items_of<std::vector<double>>(ppsched_timeline_get_peak_causes, get(), schedule_.known(device));
    }

    /* All items that a device holds in memory at its peak. */
    std::vector<MemoryItem> peak_items(uint32_t device) const
    {
        return detail::items_of<std::vector<MemoryItem>>(ppsched_timeline_get_peak_items, get(), schedule_.known(device));
    }

    /* The spans of time in which a device computes nothing, and the free memory in each. */
    std::vector<IdleWindow> idle_windows(uint32_t device) const
    {
        return detail::items_of<std::vector<IdleWindow>>(ppsched_timeline_get_idle_windows, get(), schedule_.known(device));
    }

    /* The critical path: a chain of ops that determines the makespan. Not for timelines of evaluate_transfers. */
    std::vector<CriticalOp> critical_path() const
    {
        return detail::items_of<std::vector<CriticalOp>>(ppsched_timeline_get_critical_path, get());
    }

    /* The least slack of the ops of each device, and of each stage. Not with EARLIEST_ONLY, and not for timelines of
     * evaluate_transfers. */
    std::vector<double> slack_by_device() const
    {
        return detail::items_of<std::vector<double>>(ppsched_timeline_get_device_slack, get());
    }

    std::vector<double> slack_by_stage() const
    {
        return detail::items_of<std::vector<double>>(ppsched_timeline_get_stage_slack, get());
    }

    /* For each stage: how much longer or shorter the objective becomes if each of the stage's ops of a kind (0: of all kinds)
     * takes a little more or less time. This change is divided by the change of the time of each op. */
    std::vector<Sensitivity> sensitivities(ppsched_objective objective = PPSCHED_OBJECTIVE_MAKESPAN, int32_t kind = 0) const
    {
        std::vector<Sensitivity> found(schedule_.stages());
        detail::call(ppsched_timeline_get_sensitivities, found.data(), found.size(), nullptr, get(),
                     static_cast<int32_t>(objective), kind, nullptr, nullptr);
        return found;
    }

    /* The same, with a progress callback. Throws Cancelled if `progress` returns false. */
    std::vector<Sensitivity> sensitivities(ppsched_objective objective, int32_t kind, const Progress &progress) const
    {
        std::vector<Sensitivity> found(schedule_.stages());
        detail::Raised raised;
        detail::Teller teller{progress, &raised};
        ppsched_error error;
        const ppsched_status status = ppsched_timeline_get_sensitivities(found.data(), found.size(), nullptr, get(),
                                                                         static_cast<int32_t>(objective), kind,
                                                                         detail::Teller::tell, &teller, &error);
        raised.rethrow();
        detail::check(status, error);
        return found;
    }

    /* Writes the schedule with its times. */
    void export_to(const Writer &writer, ppsched_format format, const ExportOptions &options = {}) const
    {
        detail::export_to(schedule_.get(), get(), writer, format, options);
    }

    std::string export_to_string(ppsched_format format, const ExportOptions &options = {}) const
    {
        return detail::export_to_string(schedule_.get(), get(), format, options);
    }

private:
    std::unique_ptr<ppsched_timeline, detail::Destroy<ppsched_timeline_destroy>> handle_;
    Schedule schedule_;
};

inline Timeline Schedule::evaluate(const Config &config, uint32_t flags) const
{
    return Timeline(detail::make<ppsched_timeline>(ppsched_schedule_evaluate, get(), config.get(), flags));
}

inline Timeline Schedule::evaluate_transfers(const Config &config) const
{
    return Timeline(detail::make<ppsched_timeline>(ppsched_schedule_evaluate_transfers, get(), config.get(), nullptr, 0u));
}

inline Timeline Schedule::evaluate_transfers(const Config &config, const ChannelModel &model) const
{
    return Timeline(detail::make<ppsched_timeline>(ppsched_schedule_evaluate_transfers, get(), config.get(), &model, 0u));
}

} // namespace ppsched

#endif
