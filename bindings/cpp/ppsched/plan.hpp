/* SPDX-License-Identifier: Apache-2.0 */
/* Plan: the candidates for a problem, and their ranking. */
#ifndef PPSCHED_PLAN_HPP
#define PPSCHED_PLAN_HPP

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ppsched/plan.h>

#include <ppsched/config.hpp>
#include <ppsched/detail.hpp>
#include <ppsched/layers.hpp>
#include <ppsched/lower.hpp>
#include <ppsched/scenarios.hpp>
#include <ppsched/sized.hpp>
#include <ppsched/timeline.hpp>

namespace ppsched {

using Candidate = Sized<ppsched_candidate>;

/* The options of a plan; see ppsched_plan_options. Empty lists, and members that are not changed, mean the defaults. */
struct PlanOptions {
    ppsched_objective objective = PPSCHED_OBJECTIVE_MAKESPAN;
    std::vector<std::string> strategies;
    std::vector<uint32_t> chunks, group_sizes, microbatches;
    std::vector<double> memory_limits;
    uint32_t placements = 0, effort = 0;
    ppsched_lowering lowering = PPSCHED_LOWERING_NONE;
    std::optional<ChannelModel> channel; /* without it, transfers wait only for their links */
    ModelEnd embedding{}, head{};
    std::optional<Layers> layers; /* each candidate gets its own split of these layers; without layers, candidates have the
                                     config's stages */
    uint32_t runtimes = 0;        /* runtimes for which runs_on is computed, bits 1 << enum ppsched_runtime */
    std::optional<ppsched_runtime> runtime; /* candidates that this runtime cannot run are refused */
    bool empty_stages = false;
    uint32_t split_effort = 0; /* with layers; 0: the default */
    uint32_t unshard = 0;      /* this and the next two: see ppsched_lower_options */
    ppsched_unshard_lookahead unshard_lookahead = PPSCHED_UNSHARD_LOOKAHEAD_FULL;
    uint32_t reduce_grad = 0;
    uint32_t receive_prefetch = 0; /* for PPSCHED_LOWERING_JUST_IN_TIME */
    std::vector<uint32_t> slices;  /* numbers of slices per microbatch to try */
    uint32_t order_effort = 0;     /* 0: microbatches keep their order */
    double slice_time = 0, attention_share = 0;
    uint32_t scenario_count = 0; /* number of scenarios; `scenarios` says how times vary in them */
    ScenarioOptions scenarios;
    ppsched_rank_by rank_by = PPSCHED_RANK_BY_STEP;
    double quantile = 0;            /* 0: the default */
    bool free_device_order = false; /* with layers: the order of devices is searched, too */
    bool offload = false;           /* true: candidates with offload are listed, too */
    uint32_t top = 0;               /* how many of the best candidates are wanted; 0: all */
};

/* The result of Plan::least_limit: the least memory limit, the same for all devices, and the candidate that fits it. */
struct LeastLimit {
    double limit;
    uint32_t candidate;
};

/* The candidates for a problem, numbered from 0. After `run`, each candidate also has a rank. Can be moved, not copied. */
class Plan {
public:
    /* Lists the candidates. Copies the config's progress callback; only `run` calls it. */
    explicit Plan(const Config &config, const PlanOptions &options = {})
        : teller_(config.progress() ? new detail::Teller{config.progress(), nullptr} : nullptr), handle_(list(config, options))
    {
    }

    const ppsched_plan *get() const noexcept { return handle_.get(); }
    uint32_t size() const noexcept { return ppsched_plan_count(get()); }

    /* Evaluates one candidate, without the progress callback. Several threads may call it at the same time, for different
     * candidates. If the candidate is refused, the call does not throw; the candidate has the reason. */
    void evaluate(uint32_t candidate) { detail::call(ppsched_plan_evaluate, handle_.get(), candidate); }

    /* Evaluates all candidates that are not evaluated yet, and ranks all candidates. If the call throws, evaluated candidates
     * stay evaluated, and the call may be repeated. */
    void run();

    /* The number of the candidate with a rank; rank 0 is the best. Empty past the last rank, and until the plan has run. */
    std::optional<uint32_t> candidate_at_rank(uint32_t rank) const noexcept
    {
        const uint32_t candidate = ppsched_plan_candidate_at_rank(get(), rank);
        return candidate == PPSCHED_NONE ? std::nullopt : std::optional<uint32_t>(candidate);
    }

    /* Describes a candidate. Its figures are filled in if it is evaluated. Texts are borrowed from the plan. */
    Candidate candidate(uint32_t candidate) const &
    {
        return detail::record_of<Candidate>(ppsched_plan_get_candidate, get(), candidate);
    }

    Candidate candidate(uint32_t candidate) const && = delete;

    /* The split of a candidate's layers. Throws Refused if the candidate is not evaluated, or was refused. */
    Split split(uint32_t candidate) const
    {
        return {detail::items_of<std::vector<uint32_t>>(ppsched_plan_get_split, get(), candidate),
                detail::items_of<std::vector<uint8_t>>(ppsched_plan_get_recomputes, get(), candidate)};
    }

    /* The order of microbatches of an ordered candidate: for each place the number of its microbatch in the config. */
    std::vector<uint32_t> microbatch_order(uint32_t candidate) const
    {
        return detail::items_of<std::vector<uint32_t>>(ppsched_plan_get_microbatch_order, get(), candidate);
    }

    /* For each place in a candidate's pipeline, the number of the device in this place. Only for a plan with
     * free_device_order. */
    std::vector<uint32_t> device_order(uint32_t candidate) const
    {
        return detail::items_of<std::vector<uint32_t>>(ppsched_plan_get_device_order, get(), candidate);
    }

    /* A candidate's own problem, with the progress callback of the plan. */
    Config config(uint32_t candidate) const
    {
        Config config(detail::make<ppsched_config>(ppsched_plan_create_config, get(), candidate));
        if (teller_)
            config.set_progress(teller_->progress);
        return config;
    }

    /* Makes a candidate's schedule again, without the progress callback, and times it as the plan did. Timeline::schedule
     * returns the schedule. */
    Timeline timeline(uint32_t candidate) const
    {
        return Timeline(detail::make<ppsched_timeline>(ppsched_plan_create_timeline, get(), candidate));
    }

    /* For a plan in which no candidate fits: the least memory limit under which a candidate fits, and this candidate. */
    LeastLimit least_limit() const
    {
        LeastLimit least{};
        detail::call(ppsched_plan_find_least_limit, &least.limit, &least.candidate, get());
        return least;
    }

private:
    ppsched_plan *list(const Config &config, const PlanOptions &options) const;

    std::unique_ptr<detail::Teller> teller_; /* outlives the C plan; its address does not change if this plan is moved */
    std::unique_ptr<ppsched_plan, detail::Destroy<ppsched_plan_destroy>> handle_;
};

inline void Plan::run()
{
    detail::Raised raised;
    ppsched_error record;
    if (teller_)
        teller_->raised = &raised;
    const ppsched_status status = ppsched_plan_run(handle_.get(), &record);
    if (teller_)
        teller_->raised = nullptr;
    raised.rethrow();
    detail::check(status, record);
}

namespace detail {

/* Sets a pointer to a list, and the length of the list. */
template <typename List, typename Item>
void give(const List &values, const Item *&list, uint32_t &count)
{
    list = values.empty() ? nullptr : values.data();
    count = static_cast<uint32_t>(values.size());
}

/* The structs of options to which ppsched_plan_options points. */
struct PlanGroups {
    explicit PlanGroups(const PlanOptions &options)
    {
        lower.lowering = options.lowering;
        lower.unshard = options.unshard;
        lower.unshard_lookahead = options.unshard_lookahead;
        lower.reduce_grad = options.reduce_grad;
        lower.receive_prefetch = options.receive_prefetch;
        split.layers = options.layers ? options.layers->get() : nullptr;
        split.effort = options.split_effort;
        split.empty_stages = options.empty_stages;
        give(options.slices, slice.slices, slice.slice_count);
        slice.slice_time = options.slice_time;
        slice.attention_share = options.attention_share;
        ranking.scenario_count = options.scenario_count;
        ranking.scenario_options = options.scenario_count > 0 ? &options.scenarios : nullptr;
        ranking.rank_by = options.rank_by;
        ranking.quantile = options.quantile;
    }

    bool lowers() const
    {
        return lower.lowering != PPSCHED_LOWERING_NONE || lower.unshard != 0 || lower.reduce_grad != 0 ||
               lower.unshard_lookahead != PPSCHED_UNSHARD_LOOKAHEAD_FULL || lower.receive_prefetch != 0;
    }

    bool splits() const { return split.layers != nullptr || split.effort != 0 || split.empty_stages != 0; }

    Sized<ppsched_lower_options> lower;
    Sized<ppsched_split_options> split;
    Sized<ppsched_slice_options> slice;
    Sized<ppsched_ranking_options> ranking;
};

} // namespace detail

inline ppsched_plan *Plan::list(const Config &config, const PlanOptions &options) const
{
    Sized<ppsched_plan_options> own;
    std::vector<const char *> names;
    for (const std::string &name : options.strategies)
        names.push_back(detail::c_text("the strategy", name));
    detail::give(names, own.strategies, own.strategy_count);
    detail::give(options.chunks, own.chunks, own.chunk_count);
    detail::give(options.group_sizes, own.group_sizes, own.group_size_count);
    detail::give(options.microbatches, own.microbatches, own.microbatch_count);
    detail::give(options.memory_limits, own.memory_limits, own.memory_limit_count);
    const detail::PlanGroups groups(options);
    own.objective = options.objective;
    own.placements = options.placements;
    own.effort = options.effort;
    own.order_effort = options.order_effort;
    own.runtimes = options.runtimes;
    own.runtime = options.runtime ? static_cast<int32_t>(*options.runtime) : 0;
    own.offload = options.offload;
    own.free_device_order = options.free_device_order;
    own.top = options.top;
    own.lower = groups.lowers() ? &groups.lower : nullptr;
    own.channel = options.channel ? &*options.channel : nullptr;
    own.embedding = &options.embedding;
    own.head = &options.head;
    own.split = groups.splits() ? &groups.split : nullptr;
    own.slice = &groups.slice;
    own.ranking = &groups.ranking;

    const ppsched_plan_options *given = &own;
    if (!teller_)
        return detail::make<ppsched_plan>(ppsched_plan_create, config.get(), given);
    const Config told = teller_->copy_of(config);
    return detail::make<ppsched_plan>(ppsched_plan_create, told.get(), given);
}

} // namespace ppsched

#endif
