/* SPDX-License-Identifier: Apache-2.0 */
/* What no schedule can do better. */
#ifndef PPSCHED_BOUND_HPP
#define PPSCHED_BOUND_HPP

#include <ppsched/bound.h>

#include <ppsched/config.hpp>
#include <ppsched/detail.hpp>
#include <ppsched/sized.hpp>

namespace ppsched {

using Bound = Sized<ppsched_bound>;

/* What no schedule can do better, for the config's placement. */
inline Bound lower_bound(const Config &config, ppsched_objective objective = PPSCHED_OBJECTIVE_SPAN)
{
    Bound bound;
    detail::call(ppsched_lower_bound, static_cast<ppsched_bound *>(&bound), config.get(), static_cast<int32_t>(objective));
    return bound;
}

} // namespace ppsched

#endif
