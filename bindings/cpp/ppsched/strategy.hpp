/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in strategies. */
#ifndef PPSCHED_STRATEGY_HPP
#define PPSCHED_STRATEGY_HPP

#include <string>
#include <string_view>
#include <vector>

#include <ppsched/strategy.h>

#include <ppsched/config.hpp>
#include <ppsched/detail.hpp>
#include <ppsched/sized.hpp>

namespace ppsched {

/* An option of a strategy. Its value is one of `choices` or, if `choices` is empty, an integer from `minimum` to `maximum`. All
 * texts of Option and Strategy are static storage of the library. */
struct Option {
    std::string_view name, default_text, summary;
    int64_t minimum, maximum;
    std::vector<std::string_view> choices;
};

/* A description of a strategy; see ppsched_strategy_info. */
struct Strategy {
    std::string_view name, summary, source;
    std::vector<std::string_view> aliases;
    ppsched_placement placement;
    uint32_t chunks, weight_versions;
    bool splits_backward, flushes, searches, searches_long, takes_group_size;
    uint64_t most_memory; /* the most bytes that a search holds at once, in addition to memory that is linear in the ops */
    std::vector<Option> options;
    uint32_t slices; /* see ppsched_strategy_info */
};

namespace detail {

inline Option describe_option(uint32_t strategy, uint32_t number)
{
    const auto info = record_of<Sized<ppsched_option_info>>(ppsched_strategy_get_option, strategy, number);
    return {view_text(info.name),
            view_text(info.default_text),
            view_text(info.summary),
            info.minimum,
            info.maximum,
            {info.choices, info.choices + info.choice_count}};
}

inline Strategy describe_strategy(uint32_t number)
{
    const auto info = record_of<Sized<ppsched_strategy_info>>(ppsched_strategy_get_info, number);
    Strategy strategy{view_text(info.name),
                      view_text(info.summary),
                      view_text(info.source),
                      {info.aliases, info.aliases + info.alias_count},
                      static_cast<ppsched_placement>(info.placement),
                      info.chunks,
                      info.weight_versions,
                      info.splits_backward != 0,
                      info.flushes != 0,
                      info.searches != 0,
                      info.searches_long != 0,
                      info.takes_group_size != 0,
                      info.most_memory,
                      {},
                      info.slices};
    for (uint32_t i = 0; i < info.option_count; i++)
        strategy.options.push_back(describe_option(number, i));
    return strategy;
}

} // namespace detail

/* All built-in strategies. */
inline std::vector<Strategy> strategies()
{
    std::vector<Strategy> all;
    for (uint32_t i = 0; i < ppsched_strategy_count(); i++)
        all.push_back(detail::describe_strategy(i));
    return all;
}

/* The strategy with a name or alias. If there is none, the call throws; the message has the nearest name. */
inline Strategy strategy_find(const std::string &name)
{
    return detail::describe_strategy(detail::record_of<uint32_t>(ppsched_strategy_find, detail::c_text("the strategy", name)));
}

/* Throws if the strategy does not support the problem, as Schedule::generate would. Makes no schedule. */
inline void strategy_fits(const std::string &name, const Config &config)
{
    detail::call(ppsched_strategy_fits, detail::c_text("the strategy", name), config.get());
}

} // namespace ppsched

#endif
