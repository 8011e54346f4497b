/* SPDX-License-Identifier: Apache-2.0 */
/* Microbatches that differ in cost: the order in which they run, and the replica on which they run. */
#ifndef PPSCHED_MICROBATCHES_HPP
#define PPSCHED_MICROBATCHES_HPP

#include <utility>
#include <vector>

#include <ppsched/microbatches.h>

#include <ppsched/config.hpp>
#include <ppsched/detail.hpp>
#include <ppsched/schedule.hpp>
#include <ppsched/sized.hpp>
#include <ppsched/view.hpp>

namespace ppsched {

using OrderOptions = Sized<ppsched_order_options>;

/* A problem with its microbatches in another order. */
struct Ordered {
    Config config;
    std::vector<uint32_t> order; /* for each place in the order, the number of its microbatch in the original config */
};

/* The best order of a schedule's microbatches; see ppsched_schedule_order_microbatches. */
inline Ordered order_microbatches(const Schedule &schedule, const Config &config, const OrderOptions &options = {})
{
    std::vector<uint32_t> order(config.microbatches());
    ppsched_config *made = nullptr;
    ppsched_error error;
    detail::Raised raised;
    detail::Teller teller{config.progress(), &raised};
    const Config told = config.progress() ? teller.copy_of(config) : config;
    const ppsched_status status = ppsched_schedule_order_microbatches(order.data(), order.size(), nullptr, &made,
                                                                      schedule.get(), told.get(), &options, &error);
    raised.rethrow();
    detail::check(status, error);
    Config owner(made);
    detail::call(ppsched_config_set_progress, made, nullptr,
                 nullptr); /* the callback of `told` is valid only during this call */
    return {std::move(owner), std::move(order)};
}

/* A distribution of microbatches over replicas; see ppsched_microbatches_balance and ppsched_balance. */
struct Balance {
    std::vector<uint32_t> replica; /* the replica of each microbatch */
    double most, bound;
    bool is_best;
};

/* Distributes microbatches with these costs over replicas; see ppsched_microbatches_balance. */
inline Balance balance_microbatches(View<double> costs, int64_t replicas, bool even_counts = false)
{
    std::vector<uint32_t> replica(costs.size());
    Sized<ppsched_balance> found;
    detail::call(ppsched_microbatches_balance, replica.data(), replica.size(), nullptr, &found, costs.data(), costs.size(),
                 replicas, static_cast<uint32_t>(even_counts), nullptr);
    return {std::move(replica), found.most, found.bound, found.is_best != 0};
}

} // namespace ppsched

#endif
