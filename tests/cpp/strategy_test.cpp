/* SPDX-License-Identifier: Apache-2.0 */
/* The list of strategies, and lower bounds. */
#include <algorithm>
#include <string>
#include <vector>

#include "cases.hpp"

using ppsched::Config;
using ppsched::Schedule;

namespace {

CASE(test_strategies)
{
    const std::vector<ppsched::Strategy> all = ppsched::strategies();
    CHECK(all.size() == ppsched_strategy_count());
    for (const ppsched::Strategy &strategy : all) {
        CHECK(!strategy.name.empty() && !strategy.summary.empty() && !strategy.source.empty());
        CHECK(ppsched::strategy_find(std::string(strategy.name)).name == strategy.name);
        for (const std::string_view alias : strategy.aliases)
            CHECK(ppsched::strategy_find(std::string(alias)).name == strategy.name);
        CHECK(strategy.searches || (!strategy.searches_long && strategy.most_memory == 0));
        CHECK(strategy.takes_group_size == std::any_of(strategy.options.begin(), strategy.options.end(),
                                                       [](const auto &option) { return option.name == "group_size"; }));
        for (const ppsched::Option &option : strategy.options)
            CHECK(!option.name.empty() && !option.summary.empty() &&
                  option.choices.empty() == (option.minimum < option.maximum));
    }
    const ppsched::Strategy found = ppsched::strategy_find("auto");
    CHECK(found.searches && found.searches_long && found.options.size() >= 2);
    CHECK(std::any_of(found.options.begin(), found.options.end(), [](const auto &option) { return !option.choices.empty(); }));
    const auto error = thrown<ppsched::Error>([] { (void)ppsched::strategy_find("zb_h3"); });
    CHECK(error && error->status() == PPSCHED_ERROR_UNKNOWN_STRATEGY);
    CHECK(error && std::string(error->what()).find("zb_h") != std::string::npos);
}

CASE(test_lower_bound)
{
    Config config(4, 4, 8);
    const ppsched::Bound span = ppsched::lower_bound(config);
    const ppsched::Bound makespan = ppsched::lower_bound(config, PPSCHED_OBJECTIVE_MAKESPAN);
    CHECK(span.value >= 24 && makespan.value >= span.value && span.least_limit > 0);
    CHECK(makespan.value <= Schedule::generate(config, "1f1b").evaluate(config).metrics().makespan);
    config.set_values(PPSCHED_QUANTITY_BACKWARD_TIMES, 1);
    config.set_values(PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, 2);
    CHECK(status_of([&] { (void)ppsched::lower_bound(config); }) == PPSCHED_ERROR_RANGE);
}

} // namespace
