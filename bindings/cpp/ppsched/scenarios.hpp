/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios: a schedule's makespans if times vary. */
#ifndef PPSCHED_SCENARIOS_HPP
#define PPSCHED_SCENARIOS_HPP

#include <memory>

#include <ppsched/scenarios.h>

#include <ppsched/config.hpp>
#include <ppsched/detail.hpp>
#include <ppsched/schedule.hpp>
#include <ppsched/sized.hpp>
#include <ppsched/view.hpp>

namespace ppsched {

using ScenarioOptions = Sized<ppsched_scenario_options>;
using ScenarioMetrics = Sized<ppsched_scenario_metrics>;

/* The makespans of a schedule, one for each scenario. Can be moved, not copied. Its views are valid as long as it exists. */
class Scenarios {
public:
    /* Evaluates `count` scenarios of a schedule; see ppsched_schedule_evaluate_scenarios. */
    Scenarios(const Schedule &schedule, const Config &config, int64_t count, const ScenarioOptions &options = {})
    {
        ppsched_scenarios *made = nullptr;
        ppsched_error error;
        detail::Raised raised;
        detail::Teller teller{config.progress(), &raised};
        const Config told = config.progress() ? teller.copy_of(config) : config;
        const ppsched_status status = ppsched_schedule_evaluate_scenarios(&made, schedule.get(), told.get(), count, &options,
                                                                          &error);
        raised.rethrow();
        detail::check(status, error);
        handle_.reset(made);
    }

    const ppsched_scenarios *get() const noexcept { return handle_.get(); }

    View<double> makespans() const &noexcept { return list(ppsched_scenarios_makespans); }

    /* For each device, the mean over the scenarios of its cause: the share of the makespan in which its ops are on the critical
     * path. */
    View<double> causes() const &noexcept { return list(ppsched_scenarios_causes); }

    /* For each device, the most memory that it holds in any scenario. */
    View<double> peaks() const &noexcept { return list(ppsched_scenarios_peaks); }

    View<double> makespans() const && = delete;
    View<double> causes() const && = delete;
    View<double> peaks() const && = delete;

    ScenarioMetrics metrics() const { return detail::record_of<ScenarioMetrics>(ppsched_scenarios_get_metrics, get()); }

    double quantile(double q) const
    {
        double found = 0;
        detail::call(ppsched_scenarios_get_quantile, &found, get(), q);
        return found;
    }

private:
    template <typename Function>
    View<double> list(Function function) const noexcept
    {
        size_t count = 0;
        const double *values = function(get(), &count);
        return {values, count};
    }

    std::unique_ptr<ppsched_scenarios, detail::Destroy<ppsched_scenarios_destroy>> handle_;
};

} // namespace ppsched

#endif
