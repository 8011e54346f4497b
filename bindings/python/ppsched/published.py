# SPDX-License-Identifier: Apache-2.0
"""Our bubbles beside published ones: python3 -m ppsched.published.

The profiles are those of "Zero Bubble Pipeline Parallelism" (Qi et al. 2023, arXiv 2401.10241, tables 5 and 9): times of one
stage pass in milliseconds. The paper's bubble rate is (cost - m * (F + B + W)) / cost, where cost is the longest span of a device:
our bubble of span. The paper's B is the input gradient, our I; its ZB-1p and ZB-2p are plans for p and 2p stage passes of memory,
of which half is released with the input gradient.
"""
import os
import sys
from typing import NamedTuple

from .config import Config
from .schedule import generate


class Column(NamedTuple):
    """A schedule of the table: the paper's name, ours, and the memory limit in times p stage passes."""

    paper: str
    strategy: str
    limit: int


class Profile(NamedTuple):
    """Measured times, and the paper's bubble rates in the order of COLUMNS."""

    model: str
    devices: int
    microbatches: int
    forward: float
    backward_input: float
    backward_weight: float
    p2p: float
    bubbles: tuple


COLUMNS = (Column("1F1B", "1f1b", 0), Column("ZB-H1", "zb_h1", 0), Column("ZB-H2", "zb_h2", 0), Column("ZB-1p", "zb_auto", 1),
           Column("ZB-2p", "zb_auto", 2))

PROFILES = (
    Profile("1.5B", 8, 24, 18.522, 18.086, 9.337, 0.601, (0.2431, 0.1585, 0.1083, 0.1585, 0.0433)),
    Profile("1.5B", 8, 32, 18.513, 18.086, 9.331, 0.626, (0.1985, 0.1242, 0.0837, 0.1242, 0.0039)),
    Profile("1.5B", 8, 64, 18.546, 18.097, 9.321, 0.762, (0.1240, 0.0674, 0.0444, 0.0674, 0.0026)),
    Profile("6.2B", 8, 24, 29.718, 29.444, 19.927, 0.527, (0.2347, 0.1323, 0.0698, 0.1323, 0.0029)),
    Profile("6.2B", 8, 32, 29.802, 29.428, 19.530, 0.577, (0.1898, 0.1045, 0.0559, 0.1045, 0.0022)),
    Profile("6.2B", 8, 64, 29.935, 29.621, 19.388, 0.535, (0.1091, 0.0554, 0.0294, 0.0554, 0.0010)),
    Profile("14.6B", 16, 48, 11.347, 11.248, 8.132, 0.377, (0.2552, 0.1397, 0.0672, 0.1397, 0.0066)),
    Profile("14.6B", 16, 64, 11.307, 11.254, 8.101, 0.379, (0.2082, 0.1088, 0.0516, 0.1088, 0.0054)),
    Profile("14.6B", 16, 128, 11.325, 11.308, 8.109, 0.378, (0.1251, 0.0576, 0.0266, 0.0576, 0.0028)),
    Profile("28.3B", 32, 96, 10.419, 10.207, 7.715, 0.408, (0.2646, 0.1421, 0.0641, 0.1421, 0.0038)),
    Profile("28.3B", 32, 128, 10.408, 10.204, 7.703, 0.408, (0.2168, 0.1106, 0.0490, 0.1106, 0.0029)),
    Profile("28.3B", 32, 256, 10.402, 10.248, 7.698, 0.460, (0.1352, 0.0594, 0.0257, 0.0594, 0.0018)),
)

# The one that is shown at length: p = 32, m = 96.
PROFILE = PROFILES[9]


def evaluate(profile, strategy, limit=0):
    """The timeline of a strategy under a profile; limit: memory in times p stage passes, 0 for none."""
    limits = {"mem_limit": 2 * limit * profile.devices} if limit else {}
    config = Config(profile.devices, profile.microbatches, forward_times=profile.forward,
                    backward_input_times=profile.backward_input, backward_weight_times=profile.backward_weight,
                    p2p_time=profile.p2p, mem_forward=2, mem_backward_input=-1, **limits)
    return generate(strategy, config).evaluate(latest=False)


def print_profile(profile):
    """One profile with all figures."""
    print(f"{profile.model} model, p = {profile.devices}, m = {profile.microbatches}: F {profile.forward}, I "
          f"{profile.backward_input}, W {profile.backward_weight}, p2p {profile.p2p} ms\n")
    print(f"{'strategy':<16}{'paper':>8}{'of span':>8}{'of total':>10}{'of ideal':>10}{'step time':>12}{'peak memory':>13}")
    for column, paper in zip(COLUMNS, profile.bubbles):
        metrics = evaluate(profile, column.strategy, column.limit).metrics
        name = column.strategy + (f" ({column.paper})" if column.limit else "")
        print(f"{name:<16}{paper:>8.4f}{metrics.bubble.of_span:>8.4f}{metrics.bubble.of_total:>10.4f}"
              f"{metrics.bubble.of_ideal:>10.4f}{metrics.makespan:>9.1f} ms{metrics.peak_memory / 2:>13g}")
    print("\npaper, of span: share of the longest device span that is idle; peak memory in activations of one stage pass\n")


def print_table():
    """All profiles, paper and ours side by side."""
    print(f"{'model':<8}{'p':>4}{'m':>5}" + "".join(f"{column.paper:>16}" for column in COLUMNS))
    print(" " * 17 + f"{'paper   ours':>16}" * len(COLUMNS))
    for profile in PROFILES:
        pairs = [(paper, evaluate(profile, column.strategy, column.limit).metrics.bubble.of_span)
                 for column, paper in zip(COLUMNS, profile.bubbles)]
        print(f"{profile.model:<8}{profile.devices:>4}{profile.microbatches:>5}" +
              "".join(f"{f'{paper:.4f} {ours:.4f}':>16}" for paper, ours in pairs))


def main():
    try:
        print_profile(PROFILE)
        print_table()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


if __name__ == "__main__":
    main()
