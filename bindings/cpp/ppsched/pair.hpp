/* SPDX-License-Identifier: Apache-2.0 */
/* How long an overlapped forward and backward take. */
#ifndef PPSCHED_PAIR_HPP
#define PPSCHED_PAIR_HPP

#include <utility>
#include <vector>

#include <ppsched/pair.h>

#include <ppsched/config.hpp>
#include <ppsched/detail.hpp>
#include <ppsched/sized.hpp>
#include <ppsched/view.hpp>

namespace ppsched {

using PairWindows = Sized<ppsched_pair_windows>;

/* The times of a pair, and its windows with their times, in order of start. */
struct PairOrder {
    Sized<ppsched_pair_times> times;
    std::vector<ppsched_window_span> windows;
};

namespace detail {

inline PairOrder room_for(const PairWindows &pair)
{
    return {{}, std::vector<ppsched_window_span>(pair.forward_count + pair.backward_count + pair.weight_count)};
}

} // namespace detail

/* The best order of a pair's windows; see ppsched_pair_find_order. */
inline PairOrder find_pair_order(const PairWindows &pair)
{
    PairOrder found = detail::room_for(pair);
    detail::call(ppsched_pair_find_order, found.windows.data(), found.windows.size(), nullptr, &found.times, &pair, nullptr);
    return found;
}

/* The times of a pair whose windows run in a given order; see ppsched_pair_run_order. */
inline PairOrder run_pair_order(const PairWindows &pair, View<int32_t> kinds)
{
    PairOrder found = detail::room_for(pair);
    detail::call(ppsched_pair_run_order, found.windows.data(), found.windows.size(), nullptr, &found.times, &pair, kinds.data(),
                 kinds.size(), nullptr);
    return found;
}

/* Sets the windows of a config's ops: one entry for all stages, or one per stage. See ppsched_config_set_windows. */
inline void set_windows(Config &config, View<PairWindows> stages)
{
    std::vector<const ppsched_pair_windows *> pointers;
    for (const PairWindows &stage : stages)
        pointers.push_back(&stage);
    detail::call(ppsched_config_set_windows, config.get(), pointers.data(), pointers.size());
}

/* The windows of a stage of a config; see ppsched_config_get_windows. Their lists are borrowed from the config. */
inline PairWindows get_windows(const Config &config, uint32_t stage)
{
    return detail::record_of<PairWindows>(ppsched_config_get_windows, config.get(), stage);
}

} // namespace ppsched

#endif
