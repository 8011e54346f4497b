/* SPDX-License-Identifier: Apache-2.0 */
/* Types for lowered schedules (schedules with sends and receives), and for what a runtime must provide to run them. */
#ifndef PPSCHED_LOWER_HPP
#define PPSCHED_LOWER_HPP

#include <string>
#include <vector>

#include <ppsched/channel.h>
#include <ppsched/memory_saving.h>
#include <ppsched/lower.h>
#include <ppsched/resources.h>

#include <ppsched/detail.hpp>
#include <ppsched/sized.hpp>

namespace ppsched {

using ChannelModel = Sized<ppsched_channel_model>;
using LowerOptions = Sized<ppsched_lower_options>;
using RecomputeOptions = Sized<ppsched_recompute_options>;
using OffloadOptions = Sized<ppsched_offload_options>;
using Link = ppsched_link;
using OpBuffer = ppsched_op_buffer;
using Wait = ppsched_wait;
using Lifetime = ppsched_lifetime;
using Arena = ppsched_arena;
using Connection = ppsched_connection;

/* The result of Schedule::prove. */
struct Proof {
    bool safe;                /* the schedule runs to its end in the channel model */
    std::vector<Wait> circle; /* the wait cycle; empty if there is no deadlock, or if sends and receives do not match */
    std::string text;         /* if not `safe`: the reason, in words */

    explicit operator bool() const noexcept { return safe; }
};

/* The result of Schedule::buffers: `slots` is the number of receive buffers of a device; `ops` has the buffer of each op of its
 * queue. */
struct Buffers {
    uint32_t slots;
    std::vector<OpBuffer> ops;
};

namespace detail {

inline Proof prove(const ppsched_schedule *schedule, const ChannelModel &model)
{
    Proof proof{false, {}, {}};
    ppsched_error error;
    proof.safe = report(proof.circle, error, ppsched_schedule_prove, schedule, &model) == PPSCHED_OK;
    if (!proof.safe)
        proof.text = error.message;
    return proof;
}

inline std::vector<Link> links(const ppsched_schedule *schedule)
{
    return items_of<std::vector<Link>>(ppsched_schedule_get_links, schedule);
}

inline Buffers buffers(const ppsched_schedule *schedule, uint32_t device, size_t op_count)
{
    Buffers buffers{0, std::vector<OpBuffer>(op_count)};
    call(ppsched_schedule_get_buffers, buffers.ops.data(), op_count, nullptr, &buffers.slots, schedule, device);
    return buffers;
}

inline std::vector<Lifetime> lifetimes(const ppsched_schedule *schedule, uint32_t device, ppsched_slot_use use)
{
    return items_of<std::vector<Lifetime>>(ppsched_schedule_get_lifetimes, schedule, device, static_cast<int32_t>(use));
}

inline std::vector<Arena> arenas(const ppsched_schedule *schedule, uint32_t device, ppsched_slot_use use)
{
    return items_of<std::vector<Arena>>(ppsched_schedule_get_arenas, schedule, device, static_cast<int32_t>(use));
}

inline std::vector<Connection> connections(const ppsched_schedule *schedule, ppsched_connecting what)
{
    return items_of<std::vector<Connection>>(ppsched_schedule_get_connections, schedule, static_cast<int32_t>(what));
}

} // namespace detail

} // namespace ppsched

#endif
