/* SPDX-License-Identifier: Apache-2.0 */
/* Sends and receives: lowered schedules, and what they need of their runtime. */
#ifndef PPSCHED_LOWER_HPP
#define PPSCHED_LOWER_HPP

#include <string>
#include <vector>

#include <ppsched/channel.h>
#include <ppsched/lower.h>
#include <ppsched/traffic.h>

#include <ppsched/detail.hpp>
#include <ppsched/sized.hpp>

namespace ppsched {

using ChannelModel = Sized<ppsched_channel_model>;
using LowerOptions = Sized<ppsched_lower_options>;
using Edge = ppsched_edge;
using OpBuffer = ppsched_op_buffer;
using Wait = ppsched_wait;

/* What Schedule::prove found. */
struct Proof {
    bool safe;
    std::vector<Wait> circle; /* empty where it is safe, or a send or receive lacks its other end */
    std::string text;         /* why it is not safe, in words */

    explicit operator bool() const noexcept { return safe; }
};

/* What Schedule::buffers found: how many receive buffers a device needs, and what each op of its queue holds. */
struct Buffers {
    uint32_t slots;
    std::vector<OpBuffer> ops;
};

namespace detail {

inline Proof prove(const ppsched_schedule *schedule, const ChannelModel &model)
{
    Proof proof{false, {}, {}};
    ppsched_error record;
    for (size_t count = 0;; proof.circle.resize(count)) {
        const ppsched_status status = ppsched_schedule_prove(schedule, &model, proof.circle.data(), proof.circle.size(), &count,
                                                             &record);
        if (status != PPSCHED_ERROR_INVALID_SCHEDULE)
            check(status, record);
        if (count != proof.circle.size())
            continue;
        proof.safe = status == PPSCHED_OK;
        proof.text = proof.safe ? "" : record.message;
        return proof;
    }
}

inline std::vector<Edge> edges(const ppsched_schedule *schedule)
{
    std::vector<Edge> edges;
    size_t count = 0;
    call(ppsched_schedule_edges, schedule, edges.data(), edges.size(), &count);
    edges.resize(count);
    call(ppsched_schedule_edges, schedule, edges.data(), edges.size(), &count);
    return edges;
}

inline Buffers buffers(const ppsched_schedule *schedule, uint32_t device, size_t op_count)
{
    /* One more, as the library turns NULL down for an empty queue, too. */
    Buffers buffers{0, std::vector<OpBuffer>(op_count + 1)};
    call(ppsched_schedule_buffers, schedule, device, buffers.ops.data(), op_count, &buffers.slots);
    buffers.ops.pop_back();
    return buffers;
}

} // namespace detail

} // namespace ppsched

#endif
