/* SPDX-License-Identifier: Apache-2.0 */
/* How the other headers call the library. Programs must not use this header. */
#ifndef PPSCHED_DETAIL_HPP
#define PPSCHED_DETAIL_HPP

#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <ppsched/status.h>

#include <ppsched/error.hpp>

namespace ppsched::detail {

/* Throws the exception of a status. */
inline void check(ppsched_status status, const ppsched_error &record)
{
    switch (status) {
    case PPSCHED_OK:
        return;
    case PPSCHED_ERROR_NO_MEMORY:
        throw std::bad_alloc();
    case PPSCHED_ERROR_REFUSED:
        throw Refused(record);
    case PPSCHED_ERROR_INVALID_SCHEDULE:
        throw InvalidSchedule(record);
    case PPSCHED_ERROR_CANCELLED:
        throw Cancelled(record);
    default:
        throw Error(record);
    }
}

/* Calls a function whose last argument is an error record. */
template <typename Function, typename... Arguments>
void call(Function function, Arguments... arguments)
{
    ppsched_error record;
    const ppsched_status status = function(arguments..., &record);
    check(status, record);
}

/* Calls a function that returns a handle through its first argument. The caller owns the handle. */
template <typename Handle, typename Function, typename... Arguments>
Handle *make(Function function, Arguments... arguments)
{
    Handle *out = nullptr;
    call(function, &out, arguments...);
    return out;
}

/* Calls a function that fills a record, which is its first argument. */
template <typename Record, typename Function, typename... Arguments>
Record record_of(Function function, Arguments... arguments)
{
    Record out{};
    call(function, &out, arguments...);
    return out;
}

/* Calls a function whose first three arguments are for a buffer: once for the size, and once for the items. */
template <typename Items, typename Function, typename... Arguments>
Items items_of(Function function, Arguments... arguments)
{
    Items items;
    size_t needed = 0;
    call(function, static_cast<typename Items::pointer>(nullptr), size_t{0}, &needed, arguments...);
    items.resize(needed);
    call(function, items.data(), items.size(), &needed, arguments...);
    return items;
}

/* As items_of, for a text. The result has no NUL at its end. */
template <typename Function, typename... Arguments>
std::string text_of(Function function, Arguments... arguments)
{
    std::string text = items_of<std::string>(function, arguments...);
    text.pop_back();
    return text;
}

/* As items_of, for a function that may return INVALID_SCHEDULE with records and an error. Returns the status. */
template <typename Record, typename Function, typename... Arguments>
ppsched_status report(std::vector<Record> &found, ppsched_error &error, Function function, Arguments... arguments)
{
    for (size_t count = 0;; found.resize(count)) {
        const ppsched_status status = function(found.data(), found.size(), &count, arguments..., &error);
        if (status != PPSCHED_ERROR_INVALID_SCHEDULE)
            check(status, error);
        if (count == found.size())
            return status;
    }
}

/* Frees a handle. */
template <auto destroy>
struct Destroy {
    template <typename Handle>
    void operator()(Handle *handle) const noexcept
    {
        destroy(handle);
    }
};

/* An exception that a callback threw. It is kept until the library call that ran the callback has returned. */
class Raised {
public:
    /* Runs a callback and returns its result. Returns false if it throws, or has thrown before in the same call. */
    template <typename Callback>
    bool run(const Callback &callback) noexcept
    {
        if (error_)
            return false;
        try {
            return callback();
        } catch (...) {
            error_ = std::current_exception();
            return false;
        }
    }

    void rethrow() const
    {
        if (error_)
            std::rethrow_exception(error_);
    }

private:
    std::exception_ptr error_;
};

/* A text for C. Refuses a text that C would cut short. */
inline const char *c_text(const char *what, const std::string &text)
{
    if (text.find('\0') != std::string::npos)
        throw Error(PPSCHED_ERROR_ARGUMENT, std::string(what) + " holds a NUL character");
    return text.c_str();
}

/* A static text of the library. NULL becomes an empty text. */
inline std::string_view view_text(const char *text) noexcept
{
    return text != nullptr ? std::string_view(text) : std::string_view();
}

} // namespace ppsched::detail

#endif
