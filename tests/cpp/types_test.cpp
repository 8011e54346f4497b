/* SPDX-License-Identifier: Apache-2.0 */
/* What the types promise, which the compiler checks. */
#include <type_traits>
#include <utility>

#include "cases.hpp"

using ppsched::Builder;
using ppsched::Config;
using ppsched::Plan;
using ppsched::Schedule;
using ppsched::Timeline;

namespace {

static_assert(std::is_nothrow_move_constructible_v<Config> && std::is_nothrow_move_assignable_v<Config>);
static_assert(std::is_nothrow_copy_constructible_v<Schedule> && std::is_nothrow_copy_assignable_v<Schedule>);
static_assert(std::is_nothrow_move_constructible_v<Schedule> && std::is_nothrow_move_assignable_v<Schedule>);
static_assert(std::is_nothrow_move_constructible_v<Timeline> && std::is_nothrow_move_assignable_v<Timeline>);
static_assert(std::is_nothrow_move_constructible_v<Plan> && std::is_nothrow_move_assignable_v<Plan>);
static_assert(!std::is_copy_constructible_v<Plan>);
static_assert(!std::is_copy_constructible_v<Timeline> && !std::is_copy_constructible_v<Builder>);
static_assert(!std::is_move_constructible_v<Builder> && !std::is_move_assignable_v<Builder>);
static_assert(std::is_nothrow_copy_constructible_v<ppsched::Error> && std::is_nothrow_copy_constructible_v<ppsched::Refused>);
static_assert(sizeof(Schedule) == sizeof(void *) && sizeof(ppsched::View<ppsched::Op>) == 2 * sizeof(void *));
static_assert(std::is_trivially_copyable_v<ppsched::View<ppsched::Op>> && std::is_trivially_copyable_v<ppsched::Metrics>);

/* Views of what is about to go cannot be asked for. */
template <typename Owner, typename = void>
struct gives_queue : std::false_type {
};
template <typename Owner>
struct gives_queue<Owner, std::void_t<decltype(std::declval<Owner>().queue(0))>> : std::true_type {
};
static_assert(gives_queue<const Schedule &>::value && !gives_queue<Schedule>::value && !gives_queue<const Schedule>::value);

template <typename Owner, typename = void>
struct gives_spans : std::false_type {
};
template <typename Owner>
struct gives_spans<Owner, std::void_t<decltype(std::declval<Owner>().spans(0))>> : std::true_type {
};
static_assert(gives_spans<const Timeline &>::value && !gives_spans<Timeline>::value);

template <typename Owner, typename = void>
struct gives_peaks : std::false_type {
};
template <typename Owner>
struct gives_peaks<Owner, std::void_t<decltype(std::declval<Owner>().peaks())>> : std::true_type {
};
static_assert(gives_peaks<const ppsched::Scenarios &>::value && !gives_peaks<ppsched::Scenarios>::value);

} // namespace
