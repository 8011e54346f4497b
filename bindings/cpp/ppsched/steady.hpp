/* SPDX-License-Identifier: Apache-2.0 */
/* Steady: the figures of a strategy's schedule, computed without making the schedule. */
#ifndef PPSCHED_STEADY_HPP
#define PPSCHED_STEADY_HPP

#include <memory>
#include <string>
#include <vector>

#include <ppsched/steady.h>

#include <ppsched/config.hpp>
#include <ppsched/detail.hpp>
#include <ppsched/sized.hpp>
#include <ppsched/timeline.hpp>

namespace ppsched {

using SteadyPeriod = Sized<ppsched_steady_period>;

/* The figures of the schedule that a strategy would make; see ppsched_steady_create. Can be moved, not copied. */
class Steady {
public:
    Steady(const Config &config, const std::string &strategy)
    {
        ppsched_steady *made = nullptr;
        detail::call(ppsched_steady_create, &made, config.get(), strategy.c_str());
        handle_.reset(made);
    }

    const ppsched_steady *get() const noexcept { return handle_.get(); }

    SteadyPeriod period() const { return detail::record_of<SteadyPeriod>(ppsched_steady_get_period, get()); }
    Metrics metrics() const { return detail::record_of<Metrics>(ppsched_steady_get_metrics, get()); }

    DeviceMetrics device_metrics(uint32_t device) const
    {
        return detail::record_of<DeviceMetrics>(ppsched_steady_get_device_metrics, get(), device);
    }

    /* The idle time of a device by cause. */
    Idle idle(uint32_t device) const { return detail::record_of<Idle>(ppsched_steady_get_idle, get(), device); }

    /* A device's peak memory by cause (enum ppsched_memory_cause). The sum of the values is exactly the peak. */
    std::vector<double> peak_causes(uint32_t device) const
    {
        return detail::items_of<std::vector<double>>(ppsched_steady_get_peak_causes, get(), device);
    }

private:
    std::unique_ptr<ppsched_steady, detail::Destroy<ppsched_steady_destroy>> handle_;
};

/* The time of an iteration in the long run; see ppsched_schedule_find_period. */
inline double find_period(const Schedule &schedule, const Config &config)
{
    double period = 0;
    detail::call(ppsched_schedule_find_period, &period, schedule.get(), config.get());
    return period;
}

} // namespace ppsched

#endif
