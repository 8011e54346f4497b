/* SPDX-License-Identifier: Apache-2.0 */
/* Chunked prefill: how to cut prompts into chunks, for a pipeline of forwards. */
#ifndef PPSCHED_PREFILL_HPP
#define PPSCHED_PREFILL_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ppsched/prefill.h>

#include <ppsched/config.hpp>
#include <ppsched/detail.hpp>
#include <ppsched/sized.hpp>
#include <ppsched/view.hpp>

namespace ppsched {

using Prefill = Sized<ppsched_prefill>;

/* The chunks of prompts; see ppsched_prefill_figures for `makespan`, `equal_makespan` and `is_best`. */
struct Chunks {
    std::vector<uint64_t> tokens; /* number of tokens of each chunk, prompt by prompt */
    double makespan, equal_makespan;
    bool is_best;
    Config config; /* a config with one microbatch per chunk */
};

/* A copy of a config with one microbatch for each chunk; see ppsched_prefill_create_config. */
inline Config config_of_chunks(const Config &config, const Prefill &prefill, View<uint64_t> chunks)
{
    ppsched_config *made = nullptr;
    detail::call(ppsched_prefill_create_config, &made, &prefill, config.get(), chunks.data(), chunks.size());
    return Config(made);
}

/* Chooses the chunks of prompts for a strategy; see ppsched_prefill_find_chunks. */
inline Chunks prefill_chunks(const Config &config, const Prefill &prefill, const char *strategy = "looped_bfs")
{
    const uint64_t block = std::max<uint64_t>(prefill.block, 1);
    uint64_t blocks = prefill.tokens / block + 1;
    for (std::size_t i = 0; prefill.prompts != nullptr && i < prefill.prompt_count && blocks < 65536; i++)
        blocks += std::min<uint64_t>(prefill.prompts[i] / block + 1, 65536);
    std::vector<uint64_t> tokens(static_cast<std::size_t>(std::min<uint64_t>(blocks, 65536)));
    Sized<ppsched_prefill_figures> found;
    std::size_t count = 0;
    detail::Raised raised;
    detail::Teller teller{config.progress(), &raised};
    const Config told = config.progress() ? teller.copy_of(config) : config;
    ppsched_error error;
    const ppsched_status status = ppsched_prefill_find_chunks(tokens.data(), tokens.size(), &count, &found, &prefill,
                                                              told.get(), strategy, &error);
    raised.rethrow();
    detail::check(status, error);
    tokens.resize(count);
    Config made = config_of_chunks(config, prefill, tokens);
    return {std::move(tokens), found.makespan, found.equal_makespan, found.is_best != 0, std::move(made)};
}

} // namespace ppsched

#endif
