/* SPDX-License-Identifier: Apache-2.0 */
/* How training runtimes run a schedule. */
#ifndef PPSCHED_LAUNCH_HPP
#define PPSCHED_LAUNCH_HPP

#include <string>

#include <ppsched/launch.h>

#include <ppsched/detail.hpp>
#include <ppsched/sized.hpp>

namespace ppsched {

using LaunchOptions = Sized<ppsched_launch_options>;

namespace detail {

inline std::string launch(const ppsched_schedule *schedule, ppsched_runtime runtime, const LaunchOptions &options)
{
    size_t length = 0;
    const auto ask = [&](char *buffer, size_t capacity) {
        call(ppsched_schedule_launch, schedule, static_cast<int32_t>(runtime), &options, buffer, capacity, &length);
    };
    ask(nullptr, 0);
    std::string line(length + 1, '\0');
    ask(line.data(), line.size());
    line.resize(length);
    return line;
}

} // namespace detail

} // namespace ppsched

#endif
