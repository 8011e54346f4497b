/* SPDX-License-Identifier: Apache-2.0 */
/* Job: the layouts of a training run on a number of devices. */
#ifndef PPSCHED_JOB_HPP
#define PPSCHED_JOB_HPP

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ppsched/job.h>
#include <ppsched/launch.h>

#include <ppsched/config.hpp>
#include <ppsched/description.hpp>
#include <ppsched/detail.hpp>
#include <ppsched/model.hpp>
#include <ppsched/price.hpp>
#include <ppsched/sized.hpp>

namespace ppsched {

using JobLayout = Sized<ppsched_job_layout>;
using JobFound = Sized<ppsched_job_found>;

/* The options of a job; see ppsched_job_options. Empty lists, and members that are not changed, mean the defaults. */
struct JobOptions {
    uint32_t gpus = 1;
    std::map<ppsched_job_dimension, std::vector<uint32_t>> values; /* the values to try for each dimension */
    ppsched_job_goal goal = PPSCHED_JOB_GOAL_STEP;
    std::optional<ppsched_runtime> runtime;
    uint32_t top = 0;
    std::vector<std::string> strategies;
    double memory_limit = 0;             /* bytes; 0: the memory of the device */
    std::optional<LayerTable> table;     /* measured costs; used only while the job is made */
    std::vector<ppsched_job_type> types; /* types of devices; empty: all devices are alike */
};

/* What was found for a layout, with its price. There is a price only if the state is PRICED or DOES_NOT_FIT. */
struct PricedLayout {
    JobFound found;
    std::optional<Price> price;
};

/* The layouts of a training run, numbered in the order of their bounds. Can be moved, not copied. */
class Job {
public:
    Job(const Description &description, const Training &training, const ppsched_accelerator &accelerator,
        const JobOptions &options, const ppsched_environment *environment = nullptr)
        : handle_(list(description, training, accelerator, options, environment))
    {
    }

    const ppsched_job *get() const noexcept { return handle_.get(); }
    uint32_t size() const noexcept { return ppsched_job_layout_count(get()); }
    JobLayout layout(uint32_t layout) const { return detail::record_of<JobLayout>(ppsched_job_get_layout, get(), layout); }

    /* Prices one layout; see ppsched_job_evaluate_layout. Several threads may call it at the same time. */
    PricedLayout evaluate(uint32_t layout, double above = std::numeric_limits<double>::infinity()) const
    {
        PricedLayout priced;
        ppsched_price *price = nullptr;
        detail::call(ppsched_job_evaluate_layout, &price, &priced.found, get(), layout, above);
        if (price != nullptr)
            priced.price.emplace(price);
        return priced;
    }

    /* Prices as many layouts as are needed to find the `top` best layouts. May be called only once. If `progress` returns
     * false, the call stops and throws Cancelled. If `progress` throws, the call throws the same exception. */
    void run(const Progress &progress = nullptr)
    {
        detail::run_told(handle_.get(), ppsched_job_set_progress, ppsched_job_run, progress);
    }

    /* How many layouts have a rank; and the number of the layout with a rank, empty past the last rank. */
    uint32_t best_count() const noexcept { return ppsched_job_best_count(get()); }

    std::optional<uint32_t> layout_at_rank(uint32_t rank) const noexcept
    {
        const uint32_t layout = ppsched_job_layout_at_rank(get(), rank);
        return layout == PPSCHED_NONE ? std::nullopt : std::optional<uint32_t>(layout);
    }

private:
    static ppsched_job *list(const Description &description, const Training &training, const ppsched_accelerator &accelerator,
                             const JobOptions &options, const ppsched_environment *environment)
    {
        Sized<ppsched_job_options> own;
        std::vector<ppsched_job_list> lists;
        for (const auto &[dimension, values] : options.values)
            lists.push_back({static_cast<int32_t>(dimension), static_cast<uint32_t>(values.size()), values.data()});
        std::vector<const char *> names;
        for (const std::string &name : options.strategies)
            names.push_back(detail::c_text("the strategy", name));
        own.gpus = options.gpus;
        own.lists = lists.empty() ? nullptr : lists.data();
        own.list_count = static_cast<uint32_t>(lists.size());
        own.goal = options.goal;
        own.runtime = options.runtime ? static_cast<int32_t>(*options.runtime) : 0;
        own.top = options.top;
        own.strategies = names.empty() ? nullptr : names.data();
        own.strategy_count = static_cast<uint32_t>(names.size());
        own.memory_limit = options.memory_limit;
        own.table = options.table ? &*options.table : nullptr;
        own.types = options.types.empty() ? nullptr : options.types.data();
        own.type_count = static_cast<uint32_t>(options.types.size());
        const ppsched_job_options *given = &own;
        return detail::make<ppsched_job>(ppsched_job_create, description.get(), &training, &accelerator, given, environment);
    }

    std::unique_ptr<ppsched_job, detail::Destroy<ppsched_job_destroy>> handle_;
};

} // namespace ppsched

#endif
