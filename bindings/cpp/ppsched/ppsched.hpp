/* SPDX-License-Identifier: Apache-2.0 */
/* ppsched for C++17: the objects of the C API as classes that release their memory, and its statuses as exceptions. It has only
 * headers, which include <ppsched/ppsched.h>. The comments of the C headers are the reference. Their constants and records are
 * used unchanged. This header includes all others, one per topic.
 *
 * Ownership: Config, Schedule, Builder, Timeline, Plan, Layers, Layout, Description and Model own their C objects. They stay
 *   valid when the objects from which they were made are destroyed. A View is borrowed, and valid as long as the object that
 *   returned it. A moved-from object is empty: its sizes are 0, and calls that can fail throw. It may be assigned to.
 * Errors: Error, or std::bad_alloc if there is not enough memory. A call that throws does not change its objects.
 * Callbacks: the call that ran a callback throws the callback's exception unchanged. The exception never passes through the
 *   library.
 * Thread-safety: as for the C API. Any number of threads may read a Schedule, Timeline, Layout, Layers, Description or Model,
 *   and a Config or Plan while no thread changes it. Only one thread at a time may use a Builder. */
#ifndef PPSCHED_PPSCHED_HPP
#define PPSCHED_PPSCHED_HPP

#include <ppsched/ppsched.h>

#include <ppsched/bound.hpp>
#include <ppsched/builder.hpp>
#include <ppsched/calibrator.hpp>
#include <ppsched/chakra.hpp>
#include <ppsched/check.hpp>
#include <ppsched/config.hpp>
#include <ppsched/description.hpp>
#include <ppsched/error.hpp>
#include <ppsched/export.hpp>
#include <ppsched/job.hpp>
#include <ppsched/launch.hpp>
#include <ppsched/layers.hpp>
#include <ppsched/layout.hpp>
#include <ppsched/lower.hpp>
#include <ppsched/microbatches.hpp>
#include <ppsched/model.hpp>
#include <ppsched/op.hpp>
#include <ppsched/pair.hpp>
#include <ppsched/plan.hpp>
#include <ppsched/prefill.hpp>
#include <ppsched/price.hpp>
#include <ppsched/scenarios.hpp>
#include <ppsched/schedule.hpp>
#include <ppsched/sized.hpp>
#include <ppsched/replan.hpp>
#include <ppsched/replicas.hpp>
#include <ppsched/steady.hpp>
#include <ppsched/strategy.hpp>
#include <ppsched/timeline.hpp>
#include <ppsched/view.hpp>

#endif
