/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with a schedule. */
#ifndef PPSCHED_CHECK_HPP
#define PPSCHED_CHECK_HPP

#include <string>
#include <vector>

#include <ppsched/check.h>

#include <ppsched/detail.hpp>

namespace ppsched {

using Finding = ppsched_finding;

/* A finding in words. */
inline std::string finding_text(const Finding &finding)
{
    return detail::text_of(ppsched_finding_text, finding);
}

namespace detail {

inline std::vector<Finding> findings(const ppsched_schedule *schedule)
{
    std::vector<Finding> findings;
    ppsched_error record;
    for (size_t count = 0;; findings.resize(count)) {
        const ppsched_status status = ppsched_check(schedule, findings.data(), findings.size(), &count, &record);
        if (status != PPSCHED_ERROR_INVALID_SCHEDULE)
            check(status, record);
        if (count == findings.size())
            return findings;
    }
}

} // namespace detail

} // namespace ppsched

#endif
