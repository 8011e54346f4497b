/* SPDX-License-Identifier: Apache-2.0 */
/* Launch arguments for training runtimes. */
#ifndef PPSCHED_LAUNCH_HPP
#define PPSCHED_LAUNCH_HPP

#include <ppsched/launch.h>

#include <ppsched/sized.hpp>

namespace ppsched {

using LaunchOptions = Sized<ppsched_launch_options>;

} // namespace ppsched

#endif
