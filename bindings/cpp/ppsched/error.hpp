/* SPDX-License-Identifier: Apache-2.0 */
/* The exceptions that calls throw. */
#ifndef PPSCHED_ERROR_HPP
#define PPSCHED_ERROR_HPP

#include <optional>
#include <stdexcept>
#include <string>

#include <ppsched/status.h>

namespace ppsched {

/* A call failed, or the caller stopped it. what() is the library's message. */
class PPSCHED_API Error : public std::runtime_error {
public:
    Error(ppsched_status status, const std::string &message) : std::runtime_error(message), status_(status) {}

    explicit Error(const ppsched_error &record)
        : std::runtime_error(record.message), status_(record.status), device_(known(record.device)),
          stage_(known(record.stage)), microbatch_(known(record.microbatch)), position_(known(record.position))
    {
    }

    ppsched_status status() const noexcept { return status_; }

    /* The place of the error. A number that does not apply is empty. */
    std::optional<uint32_t> device() const noexcept { return device_; }
    std::optional<uint32_t> stage() const noexcept { return stage_; }
    std::optional<uint32_t> microbatch() const noexcept { return microbatch_; }
    std::optional<uint32_t> position() const noexcept { return position_; }

private:
    static std::optional<uint32_t> known(uint32_t number) noexcept
    {
        return number == PPSCHED_NONE ? std::nullopt : std::optional<uint32_t>(number);
    }

    ppsched_status status_;
    std::optional<uint32_t> device_, stage_, microbatch_, position_;
};

/* A strategy does not support the problem, or something else is not supported (PPSCHED_ERROR_REFUSED). The message says which
 * rule is broken and what would work. */
class PPSCHED_API Refused : public Error {
    using Error::Error;
};

/* A schedule is incomplete or cannot run. */
class PPSCHED_API InvalidSchedule : public Error {
    using Error::Error;
};

/* A progress callback asked to stop. */
class PPSCHED_API Cancelled : public Error {
    using Error::Error;
};

} // namespace ppsched

#endif
