/* SPDX-License-Identifier: Apache-2.0 */
/* Replan: how a running job continues when its devices change. */
#ifndef PPSCHED_REPLAN_HPP
#define PPSCHED_REPLAN_HPP

#include <memory>
#include <vector>

#include <ppsched/replan.h>

#include <ppsched/config.hpp>
#include <ppsched/detail.hpp>
#include <ppsched/sized.hpp>

namespace ppsched {

using ReplanOptions = Sized<ppsched_replan_options>;
using ReplanFigures = Sized<ppsched_replan_figures>;

/* How a job continues; see ppsched_replan_create. Can be moved, not copied. */
class Replan {
public:
    Replan(const Config &config, const ReplanOptions &options)
    {
        ppsched_replan *made = nullptr;
        const ppsched_replan_options *given = &options;
        detail::call(ppsched_replan_create, &made, config.get(), given);
        handle_.reset(made);
    }

    const ppsched_replan *get() const noexcept { return handle_.get(); }

    ReplanFigures figures() const { return detail::record_of<ReplanFigures>(ppsched_replan_get_figures, get()); }

    /* The number of layers of each stage. */
    std::vector<uint32_t> split() const { return detail::items_of<std::vector<uint32_t>>(ppsched_replan_get_split, get()); }

    /* For each layer 0 (no recomputation), or the number of its kind of recomputation, counted from 1. */
    std::vector<uint8_t> recomputes() const
    {
        return detail::items_of<std::vector<uint8_t>>(ppsched_replan_get_recomputes, get());
    }

    /* For each place in the pipeline, the number of the device in this place. */
    std::vector<uint32_t> device_order() const
    {
        return detail::items_of<std::vector<uint32_t>>(ppsched_replan_get_device_order, get());
    }

    /* The layers that move between devices, in the order of the devices that get them. */
    std::vector<ppsched_layer_move> moves() const
    {
        return detail::items_of<std::vector<ppsched_layer_move>>(ppsched_replan_get_moves, get());
    }

private:
    std::unique_ptr<ppsched_replan, detail::Destroy<ppsched_replan_destroy>> handle_;
};

} // namespace ppsched

#endif
