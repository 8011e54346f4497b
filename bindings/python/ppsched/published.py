# SPDX-License-Identifier: Apache-2.0
"""Compares computed bubbles with published ones: python3 -m ppsched.published.

The profiles are those of "Zero Bubble Pipeline Parallelism" (Qi et al. 2023, arXiv 2401.10241): table 5, with the times of table 9, and
table 8, with the times of the script that made it. The paper's bubble rate is (cost - m * (F + B + W)) / cost, where cost is the longest
span of a device. That is the bubble of span here. The paper's B is the input gradient, I here. Its ZB-1p and ZB-2p are plans for the memory
of p and 2p stage passes; ZB-V has two chunks per device and the memory of p stage passes.

Its column 1F1B-I does not wait for all dependencies (see wrap_around). So it is compared twice: by that rule, and with all dependencies.
"""
import os
import sys
from typing import NamedTuple, Tuple

from ._core.config import Config
from ._core.schedule import Schedule, generate
from ._core.timeline import Timeline
from ._core.wrap_around import makespan


class Column(NamedTuple):
    """A column of a table: the paper's name, the strategy here, the memory limit in multiples of p stage passes (0: none), and chunks per
    device (0: the profile's number)."""

    paper: str
    strategy: str
    limit: int = 0
    chunks: int = 1


class Profile(NamedTuple):
    """Measured times of a device's work on one microbatch, in the table's unit, and the paper's bubble rates, in the order of the table's
    columns. memory: what F adds and W releases."""

    model: str
    devices: int
    microbatches: int
    forward: float
    backward_input: float
    backward_weight: float
    p2p: float
    chunks: int
    memory: Tuple[float, float]
    bubbles: Tuple[float, ...]


class Table(NamedTuple):
    number: int
    unit: str
    columns: Tuple[Column, ...]
    profiles: Tuple[Profile, ...]


INTERLEAVED = Column("1F1B-I", "interleaved_1f1b", chunks=0)
LINEAR = (Column("1F1B", "1f1b"), INTERLEAVED, Column("ZB-H1", "zb_h1"), Column("ZB-H2", "zb_h2"))


def _measured(model: str, devices: int, microbatches: int, forward: float, backward_input: float, backward_weight: float,
              p2p: float, layers: int, bubbles: Tuple[float, ...]) -> Profile:
    """A row of table 5: a chunk has one layer; half of the memory is released with I."""
    return Profile(model, devices, microbatches, forward, backward_input, backward_weight, p2p, layers // devices, (2, -1), bubbles)


def _study(model: str, devices: int, microbatches: int, forward: float, backward_input: float, backward_weight: float, p2p: float,
           hidden: int, heads: int, bubbles: Tuple[float, ...]) -> Profile:
    """A row of table 8: times of half a device's work, two chunks; memory of a layer with 1024 tokens."""
    memory = (2 * (34 * hidden + 5 * heads * 1024), -2 * 32 * hidden)
    return Profile(model, devices, microbatches, 2 * forward, 2 * backward_input, 2 * backward_weight, p2p, 2, memory, bubbles)


TABLE_5 = Table(5, "ms", (*LINEAR, Column("ZB-1p", "zb_auto", 1), Column("ZB-2p", "zb_auto", 2)), (
    _measured("1.5B", 8, 24, 18.522, 18.086, 9.337, 0.601, 24, (0.2431, 0.1055, 0.1585, 0.1083, 0.1585, 0.0433)),
    _measured("1.5B", 8, 32, 18.513, 18.086, 9.331, 0.626, 24, (0.1985, 0.0818, 0.1242, 0.0837, 0.1242, 0.0039)),
    _measured("1.5B", 8, 64, 18.546, 18.097, 9.321, 0.762, 24, (0.1240, 0.0443, 0.0674, 0.0444, 0.0674, 0.0026)),
    _measured("6.2B", 8, 24, 29.718, 29.444, 19.927, 0.527, 32, (0.2347, 0.0808, 0.1323, 0.0698, 0.1323, 0.0029)),
    _measured("6.2B", 8, 32, 29.802, 29.428, 19.530, 0.577, 32, (0.1898, 0.0628, 0.1045, 0.0559, 0.1045, 0.0022)),
    _measured("6.2B", 8, 64, 29.935, 29.621, 19.388, 0.535, 32, (0.1091, 0.0320, 0.0554, 0.0294, 0.0554, 0.0010)),
    _measured("14.6B", 16, 48, 11.347, 11.248, 8.132, 0.377, 48, (0.2552, 0.1104, 0.1397, 0.0672, 0.1397, 0.0066)),
    _measured("14.6B", 16, 64, 11.307, 11.254, 8.101, 0.379, 48, (0.2082, 0.0852, 0.1088, 0.0516, 0.1088, 0.0054)),
    _measured("14.6B", 16, 128, 11.325, 11.308, 8.109, 0.378, 48, (0.1251, 0.0445, 0.0576, 0.0266, 0.0576, 0.0028)),
    _measured("28.3B", 32, 96, 10.419, 10.207, 7.715, 0.408, 64, (0.2646, 0.1493, 0.1421, 0.0641, 0.1421, 0.0038)),
    _measured("28.3B", 32, 128, 10.408, 10.204, 7.703, 0.408, 64, (0.2168, 0.1164, 0.1106, 0.0490, 0.1106, 0.0029)),
    _measured("28.3B", 32, 256, 10.402, 10.248, 7.698, 0.460, 64, (0.1352, 0.0624, 0.0594, 0.0257, 0.0594, 0.0018)),
))

TABLE_8 = Table(8, "us", (*LINEAR, Column("ZB-V", "zbv_auto", 1, 2)), (
    _study("6.2B", 16, 48, 14407, 14380, 9676, 1610, 4096, 32, (0.2668, 0.1499, 0.1536, 0.0823, 0.0697)),
    _study("6.2B", 16, 64, 14412, 14393, 9688, 1621, 4096, 32, (0.2206, 0.1169, 0.1198, 0.0630, 0.0533)),
    _study("6.2B", 16, 128, 14316, 14306, 9639, 1619, 4096, 32, (0.1390, 0.0621, 0.0637, 0.0325, 0.0274)),
    _study("14.6B", 24, 72, 6763, 6969, 5251, 755, 5120, 40, (0.2699, 0.1519, 0.1439, 0.0628, 0.0638)),
    _study("14.6B", 24, 96, 6783, 6984, 5259, 758, 5120, 40, (0.2229, 0.1184, 0.1121, 0.0480, 0.0483)),
    _study("14.6B", 24, 192, 6785, 6990, 5260, 770, 5120, 40, (0.1403, 0.0630, 0.0595, 0.0247, 0.0250)),
    _study("28.3B", 32, 96, 9458, 9748, 7288, 879, 6144, 48, (0.2676, 0.1509, 0.1429, 0.0629, 0.0593)),
    _study("28.3B", 32, 128, 9469, 9744, 7306, 892, 6144, 48, (0.2204, 0.1177, 0.1111, 0.0478, 0.0451)),
    _study("28.3B", 32, 256, 9447, 9644, 7193, 887, 6144, 48, (0.1362, 0.0626, 0.0593, 0.0251, 0.0236)),
))

# The profile that is shown in detail: p = 32, m = 96.
PROFILE = TABLE_5.profiles[9]


def schedule_of(profile: Profile, column: Column) -> Schedule:
    """The schedule of a column for a profile. A device's work is divided evenly among its chunks; the delay is not divided."""
    chunks = column.chunks or profile.chunks
    config = Config(profile.devices, profile.microbatches, profile.devices * chunks, forward_times=profile.forward / chunks,
                    backward_input_times=profile.backward_input / chunks, backward_weight_times=profile.backward_weight / chunks,
                    p2p_time=profile.p2p, mem_forward=profile.memory[0] / chunks, mem_backward_weight=profile.memory[1] / chunks,
                    mem_limit=column.limit * profile.devices * profile.memory[0] if column.limit else ())
    return generate(column.strategy, config)


def evaluate(profile: Profile, column: Column) -> Timeline:
    """The timeline of a column's schedule for a profile."""
    return schedule_of(profile, column).evaluate(latest=False)


def bubble_by_wrap_around(profile: Profile) -> float:
    """The bubble of 1F1B-I by the paper's rule."""
    backward, chunks = profile.backward_input + profile.backward_weight, profile.chunks
    cost = makespan(schedule_of(profile, INTERLEAVED), profile.forward / chunks, backward / chunks, profile.p2p)
    return 1 - profile.microbatches * (profile.forward + backward) / cost


def print_profile(table: Table, profile: Profile) -> None:
    """One profile with all figures."""
    print(f"{profile.model} model, p = {profile.devices}, m = {profile.microbatches}: F {profile.forward}, I "
          f"{profile.backward_input}, W {profile.backward_weight}, p2p {profile.p2p} {table.unit}\n")
    print(f"{'strategy':<18}{'paper':>8}{'of span':>8}{'of total':>10}{'of ideal':>10}{'step time':>12}{'peak memory':>13}")
    for column, paper in zip(table.columns, profile.bubbles):
        metrics = evaluate(profile, column).metrics
        name = column.strategy + (f" ({column.paper})" if column.limit else "")
        print(f"{name:<18}{paper:>8.4f}{metrics.bubble.of_span:>8.4f}{metrics.bubble.of_total:>10.4f}"
              f"{metrics.bubble.of_ideal:>10.4f}{metrics.makespan:>9.1f} {table.unit}{metrics.peak_memory / profile.memory[0]:>13g}")
    print("\npaper, of span: share of the longest device span that is idle; peak memory in activations of a device's work on a "
          "microbatch")


def figures(profile: Profile, column: Column, paper: float) -> str:
    """A cell of a table: the paper's figure and the computed one. For 1F1B-I, the one computed by the paper's rule is between them."""
    rates = [paper, evaluate(profile, column).metrics.bubble.of_span]
    if column == INTERLEAVED:
        rates.insert(1, bubble_by_wrap_around(profile))
    return " ".join(f"{rate:.4f}" for rate in rates)


def print_table(table: Table) -> None:
    """All profiles, with the paper's and the computed figures side by side."""
    def width(column: Column) -> int:
        return 23 if column == INTERLEAVED else 16

    print(f"\nTable {table.number}\n")
    print(f"{'model':<8}{'p':>4}{'m':>5}" + "".join(f"{column.paper:>{width(column)}}" for column in table.columns))
    print(" " * 17 + "".join(f"{'paper its rule ours' if column == INTERLEAVED else 'paper   ours':>{width(column)}}"
                             for column in table.columns))
    for profile in table.profiles:
        print(f"{profile.model:<8}{profile.devices:>4}{profile.microbatches:>5}" +
              "".join(f"{figures(profile, column, paper):>{width(column)}}"
                      for column, paper in zip(table.columns, profile.bubbles)))


def main() -> None:
    try:
        print_profile(TABLE_5, PROFILE)
        print_table(TABLE_5)
        print_table(TABLE_8)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


if __name__ == "__main__":
    main()
