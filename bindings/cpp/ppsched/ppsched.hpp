/* SPDX-License-Identifier: Apache-2.0 */
/* ppsched for C++17: the C API's objects as classes that clean up, its statuses as exceptions. Headers alone over
 * <ppsched/ppsched.h>, whose comments are the reference; its constants and records are used as they are. This header includes
 * all of them, one a topic.
 *
 * Ownership: Config, Schedule, Builder, Timeline, Plan, Layers, Layout and Model own what they hold, and outlive what they were
 *   made from. A View is borrowed, and valid as long as the object that it was asked of. What was moved from holds nothing: its
 *   sizes are 0, and calls that can fail throw; it may be assigned to.
 * Errors: Error, or std::bad_alloc where memory is short. A call that throws leaves its objects as they were.
 * Callbacks: what they throw comes out of the call under which they run, as it is; it never passes through the library.
 * Thread-safety: that of the C API. A Schedule, Timeline, Layout, Layers or Model may be read by any number of threads, and so
 *   may a Config or Plan while nobody changes it; one thread at a time uses a Builder. */
#ifndef PPSCHED_PPSCHED_HPP
#define PPSCHED_PPSCHED_HPP

#include <ppsched/ppsched.h>

#include <ppsched/bound.hpp>
#include <ppsched/builder.hpp>
#include <ppsched/chakra.hpp>
#include <ppsched/check.hpp>
#include <ppsched/config.hpp>
#include <ppsched/description.hpp>
#include <ppsched/error.hpp>
#include <ppsched/export.hpp>
#include <ppsched/launch.hpp>
#include <ppsched/layers.hpp>
#include <ppsched/layout.hpp>
#include <ppsched/lower.hpp>
#include <ppsched/microbatches.hpp>
#include <ppsched/model.hpp>
#include <ppsched/op.hpp>
#include <ppsched/plan.hpp>
#include <ppsched/price.hpp>
#include <ppsched/scenarios.hpp>
#include <ppsched/schedule.hpp>
#include <ppsched/sized.hpp>
#include <ppsched/strategy.hpp>
#include <ppsched/timeline.hpp>
#include <ppsched/view.hpp>

#endif
