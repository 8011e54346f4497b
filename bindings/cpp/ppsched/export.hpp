/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules and timelines as text. */
#ifndef PPSCHED_EXPORT_HPP
#define PPSCHED_EXPORT_HPP

#include <functional>
#include <string>
#include <string_view>

#include <ppsched/export.h>

#include <ppsched/detail.hpp>
#include <ppsched/sized.hpp>

namespace ppsched {

using ExportOptions = Sized<ppsched_export_options>;

/* Receives the next part of a text. Returns whether to continue. */
using Writer = std::function<bool(std::string_view data)>;

namespace detail {

/* Writes a schedule, with its times if there is a timeline. */
inline void export_to(const ppsched_schedule *schedule, const ppsched_timeline *timeline, const Writer &writer,
                      ppsched_format format, const ExportOptions &options)
{
    struct Writing {
        const Writer &writer;
        Raised raised;
    } writing{writer, {}};
    const auto write = [](void *user, const char *data, size_t size) noexcept -> int32_t {
        Writing &own = *static_cast<Writing *>(user);
        return own.raised.run([&] { return own.writer(std::string_view(data, size)); }) ? 0 : 1;
    };
    ppsched_error record;
    const ppsched_status status = ppsched_schedule_export(schedule, timeline, static_cast<int32_t>(format), &options, write,
                                                          &writing, &record);
    writing.raised.rethrow();
    check(status, record);
}

inline std::string export_to_string(const ppsched_schedule *schedule, const ppsched_timeline *timeline, ppsched_format format,
                                    const ExportOptions &options)
{
    std::string text;
    const auto append = [&text](std::string_view data) {
        text.append(data);
        return true;
    };
    export_to(schedule, timeline, append, format, options);
    return text;
}

} // namespace detail

} // namespace ppsched

#endif
