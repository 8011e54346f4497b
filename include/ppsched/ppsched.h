/* SPDX-License-Identifier: Apache-2.0 */
/* ppsched: pipeline-parallel schedules as data. This header includes all stable ones.
 *
 * Conventions. Every function is `ppsched_<object>_<verb>`. A call that can fail returns a ppsched_status; what it makes goes
 * out through its first argument, written on success only, and belongs to the caller. What is returned by pointer is borrowed
 * from the object it was asked of. The last argument is an optional record for the details of an error.
 * Structs that may grow are sized: their first field is `size`, which the caller sets to sizeof. Any size from that of the
 * struct's first release on is taken, to 4096. Fields that a caller of an older release does not have count as zero in what a
 * call reads, and are left out of what it fills. Bytes of a newer caller that the library does not know must be zero in what a
 * call reads, and become zero in what it fills. Anything else is STRUCT_SIZE, and nothing is touched.
 * Units: times and memory are doubles in units of the caller's choice. */
#ifndef PPSCHED_PPSCHED_H
#define PPSCHED_PPSCHED_H

#include <ppsched/bound.h>
#include <ppsched/channel.h>
#include <ppsched/check.h>
#include <ppsched/config.h>
#include <ppsched/environment.h>
#include <ppsched/evaluate.h>
#include <ppsched/explain.h>
#include <ppsched/export.h>
#include <ppsched/import.h>
#include <ppsched/launch.h>
#include <ppsched/lower.h>
#include <ppsched/op.h>
#include <ppsched/plan.h>
#include <ppsched/schedule.h>
#include <ppsched/status.h>
#include <ppsched/strategy.h>
#include <ppsched/traffic.h>
#include <ppsched/version.h>

#endif
