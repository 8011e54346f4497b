/* SPDX-License-Identifier: Apache-2.0 */
/* ChakraTraces: writes traces for network simulators, and reads schedules from such traces. */
#ifndef PPSCHED_CHAKRA_HPP
#define PPSCHED_CHAKRA_HPP

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ppsched/chakra.h>

#include <ppsched/config.hpp>
#include <ppsched/detail.hpp>
#include <ppsched/export.hpp>
#include <ppsched/schedule.hpp>
#include <ppsched/sized.hpp>

namespace ppsched {

using ChakraOptions = Sized<ppsched_chakra_options>;

/* The traces of a lowered schedule, one per rank. Can be moved, not copied. */
class ChakraTraces {
public:
    ChakraTraces(const Schedule &schedule, const Config &config, const ChakraOptions &options = {})
        : handle_(detail::make<ppsched_chakra>(ppsched_chakra_create, schedule.get(), config.get(), &options))
    {
    }

    const ppsched_chakra *get() const noexcept { return handle_.get(); }
    uint32_t ranks() const noexcept { return ppsched_chakra_ranks(get()); }

    /* Writes the trace of a rank: bytes, not text. The writer receives the trace in parts. If the writer asks to stop, the call
     * throws an Error with the status PPSCHED_ERROR_WRITER. */
    void export_to(const Writer &writer, uint32_t rank) const
    {
        struct Writing {
            const Writer &writer;
            detail::Raised raised;
        } writing{writer, {}};
        const auto write = [](void *user, const char *data, size_t size) noexcept -> int32_t {
            Writing &own = *static_cast<Writing *>(user);
            return own.raised.run([&] { return own.writer(std::string_view(data, size)); }) ? 0 : 1;
        };
        ppsched_error record;
        const ppsched_status status = ppsched_chakra_export(get(), rank, write, &writing, &record);
        writing.raised.rethrow();
        detail::check(status, record);
    }

    /* The whole trace of a rank. */
    std::string export_to_string(uint32_t rank) const
    {
        std::string bytes;
        export_to(
            [&bytes](std::string_view data) {
                bytes.append(data);
                return true;
            },
            rank);
        return bytes;
    }

private:
    struct Destroy {
        void operator()(ppsched_chakra *handle) const noexcept { ppsched_chakra_destroy(handle); }
    };
    std::unique_ptr<ppsched_chakra, Destroy> handle_;
};

/* Reads the traces of all ranks, in order of rank. Returns the schedule, and a config with the costs in the traces. */
inline std::pair<Schedule, Config> read_chakra(const std::vector<std::string> &traces,
                                               const ppsched_environment *environment = nullptr)
{
    std::vector<ppsched_chakra_trace> records;
    for (const std::string &trace : traces)
        records.push_back({trace.data(), trace.size()});
    ppsched_schedule *schedule = nullptr;
    ppsched_config *config = nullptr;
    const ppsched_chakra_trace none{"", 0};
    detail::call(ppsched_chakra_import, &schedule, &config, records.empty() ? &none : records.data(), records.size(),
                 environment);
    return {Schedule(schedule), Config(config)};
}

} // namespace ppsched

#endif
