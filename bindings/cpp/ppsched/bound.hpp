/* SPDX-License-Identifier: Apache-2.0 */
/* Lower bounds on the time of an iteration. */
#ifndef PPSCHED_BOUND_HPP
#define PPSCHED_BOUND_HPP

#include <ppsched/bound.h>

#include <ppsched/config.hpp>
#include <ppsched/detail.hpp>
#include <ppsched/sized.hpp>

namespace ppsched {

using Bound = Sized<ppsched_bound>;

/* Lower bounds: no schedule with the config's placement takes less time. See ppsched_config_find_bound. */
inline Bound lower_bound(const Config &config, ppsched_objective objective = PPSCHED_OBJECTIVE_SPAN)
{
    return detail::record_of<Bound>(ppsched_config_find_bound, config.get(), static_cast<int32_t>(objective));
}

/* The same bounds, and a proof. `known` is the objective that a schedule reaches. If the call proves that no schedule is
 * better, `proof` is `known`. See ppsched_config_prove_bound. */
inline Bound prove_bound(const Config &config, double known, ppsched_objective objective = PPSCHED_OBJECTIVE_SPAN,
                         double work = 0)
{
    return detail::record_of<Bound>(ppsched_config_prove_bound, config.get(), static_cast<int32_t>(objective), known, work);
}

} // namespace ppsched

#endif
