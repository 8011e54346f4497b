/* SPDX-License-Identifier: Apache-2.0 */
/* Op: an entry of a queue. */
#ifndef PPSCHED_OP_HPP
#define PPSCHED_OP_HPP

#include <string>

#include <ppsched/config.h>
#include <ppsched/op.h>

#include <ppsched/detail.hpp>
#include <ppsched/error.hpp>

namespace ppsched {

using Op = ppsched_op;

/* Makes an op. For kinds without a microbatch, `microbatch` must be PPSCHED_NONE. Throws an Error (RANGE) if `stage` is too
 * large for any schedule. */
inline Op make_op(uint32_t stage, ppsched_kind kind, uint32_t microbatch = PPSCHED_NONE, bool overlapped = false)
{
    if (stage >= PPSCHED_MAX_STAGES)
        throw Error(PPSCHED_ERROR_RANGE, "stage is " + std::to_string(stage) + ", which no schedule has");
    Op op{};
    op.microbatch = microbatch;
    op.stage = static_cast<uint16_t>(stage);
    op.kind = static_cast<uint8_t>(kind);
    op.flags = overlapped ? uint8_t{PPSCHED_OP_FLAG_OVERLAPPED} : uint8_t{0};
    return op;
}

/* An op as a token, such as "3F0". */
inline std::string op_token(const Op &op)
{
    return detail::text_of(ppsched_op_write_token, &op);
}

} // namespace ppsched

#endif
