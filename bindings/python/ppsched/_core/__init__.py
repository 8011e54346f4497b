# SPDX-License-Identifier: Apache-2.0
"""The library itself: problems, schedules, timelines, plans, and what they are written as. Its public names are those of ppsched."""
