/* SPDX-License-Identifier: Apache-2.0 */
/* The cases of the C++ headers' test, what they check with, and problems that they share. */
#ifndef CPP_CASES_HPP
#define CPP_CASES_HPP

#include <cstdio>
#include <optional>
#include <string>
#include <typeinfo>
#include <vector>

#include <ppsched/ppsched.hpp>

struct Case {
    const char *name;
    void (*run)();
};

/* All cases of the program; each enters itself before main. */
inline std::vector<Case> &cases()
{
    static std::vector<Case> all;
    return all;
}

struct Entered {
    Entered(const char *name, void (*run)()) { cases().push_back({name, run}); }
};

#define CASE(name)                                                                                                             \
    void name();                                                                                                               \
    const Entered name##_entered(#name, name);                                                                                 \
    void name()

inline int failures = 0; /* of all cases */

#define CHECK(condition)                                                                                                       \
    do {                                                                                                                       \
        if (!(condition)) {                                                                                                    \
            std::printf("# %s:%d: %s\n", __FILE__, __LINE__, #condition);                                                      \
            failures++;                                                                                                        \
        }                                                                                                                      \
    } while (0)

/* What a function throws, which must be of exactly that type; a default value where it throws nothing or something else. */
template <typename Exception, typename Function>
std::optional<Exception> thrown(const Function &function)
{
    try {
        function();
    } catch (const Exception &error) {
        if (typeid(error) == typeid(Exception))
            return error;
    } catch (...) {
    }
    return std::nullopt;
}

/* The status of the plain Error that a function throws, or OK. */
template <typename Function>
ppsched_status status_of(const Function &function)
{
    const auto error = thrown<ppsched::Error>(function);
    return error ? error->status() : ppsched_status{PPSCHED_OK};
}

/* A problem that only a search serves well: uneven stages, back and forth, with a memory limit. */
inline ppsched::Config uneven()
{
    ppsched::Config config(4, 8, 8);
    config.set_placement(PPSCHED_PLACEMENT_V);
    config.set_values(PPSCHED_QUANTITY_FORWARD_TIMES, {1, 1, 1, 1, 1, 1, 1, 1.75});
    config.set_values(PPSCHED_QUANTITY_BACKWARD_TIMES, {2, 2, 2, 2, 2, 2, 2, 3.5});
    config.set_values(PPSCHED_QUANTITY_MEM_LIMIT, 5);
    config.set_option("effort", 1);
    return config;
}

inline ppsched::Schedule lowered(const ppsched::Schedule &schedule, ppsched_lowering lowering, bool defer_receives = false)
{
    ppsched::LowerOptions options;
    options.lowering = lowering;
    options.defer_receives = defer_receives;
    return schedule.lower(options);
}

/* The number of a plan's best candidate. */
inline uint32_t best_of(const ppsched::Plan &plan)
{
    return plan.candidate_at_rank(0).value();
}

inline std::vector<std::string> tokens(ppsched::View<ppsched::Op> ops)
{
    std::vector<std::string> all;
    for (const ppsched::Op &op : ops)
        all.push_back(ppsched::op_token(op));
    return all;
}

inline bool same_queues(const ppsched::Schedule &a, const ppsched::Schedule &b)
{
    bool same = a.devices() == b.devices();
    for (uint32_t device = 0; same && device < a.devices(); device++)
        same = tokens(a.queue(device)) == tokens(b.queue(device));
    return same;
}

#endif
