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
    return detail::record_of<Bound>(ppsched_config_find_bound, config.get(), static_cast<int32_t>(objective));
}

} // namespace ppsched

#endif
