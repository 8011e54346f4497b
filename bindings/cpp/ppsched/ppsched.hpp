/* SPDX-License-Identifier: Apache-2.0 */
/* ppsched for C++17. Objects of the C API are classes, whose destructors release the memory. Error statuses are exceptions.
 * There are only headers; they need libppsched and the C headers. The comments of the C headers are the reference. Programs use
 * the constants and records of the C headers. This header includes all other C++ headers, one per topic.
 *
 * Ownership: objects of the classes own their C objects. They stay valid when the objects from which they were made are
 *   destroyed. A View is borrowed: it is valid as long as the object that returned it exists. A moved-from object is empty: its
 *   sizes are 0, and calls that can fail throw. Another object may be assigned to it.
 * Errors: calls throw Error, or std::bad_alloc if there is not enough memory. A call that throws does not change its objects,
 *   with one exception: `run` of Plan, Job and Calibrator; see ppsched_plan_run, ppsched_job_run and ppsched_calibrator_run.
 * Callbacks: if a callback throws, the call that ran the callback throws the same exception. The exception never passes through
 *   the C code of the library.
 * Thread-safety: as for the C API. Any number of threads may read an object of any class at the same time, while no thread
 *   changes the object. Only one thread at a time may use a Builder. */
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
