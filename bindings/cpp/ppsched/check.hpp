/* SPDX-License-Identifier: Apache-2.0 */
/* The findings of the checker. */
#ifndef PPSCHED_CHECK_HPP
#define PPSCHED_CHECK_HPP

#include <string>
#include <vector>

#include <ppsched/check.h>

#include <ppsched/detail.hpp>

namespace ppsched {

using Finding = ppsched_finding;

/* A finding in words, as one line. */
inline std::string finding_text(const Finding &finding)
{
    return detail::text_of(ppsched_finding_write_text, &finding);
}

namespace detail {

inline std::vector<Finding> findings(const ppsched_schedule *schedule)
{
    std::vector<Finding> findings;
    ppsched_error error;
    report(findings, error, ppsched_schedule_check, schedule);
    return findings;
}

} // namespace detail

} // namespace ppsched

#endif
