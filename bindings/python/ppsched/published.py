# SPDX-License-Identifier: Apache-2.0
"""Our bubbles beside published ones: python3 -m ppsched.published.

The profile is that of the 28.3B model of "Zero Bubble Pipeline Parallelism" (Qi et al. 2023, arXiv 2401.10241, tables 5 and
9): p = 32 devices, m = 96 microbatches, times in milliseconds. The paper's bubble rate is (cost - m * (F + B + W)) / cost, where
cost is the longest span of a device: our bubble of span. The paper's B is the input gradient, our I.
"""
from typing import NamedTuple

from .config import Config
from .schedule import generate


class Profile(NamedTuple):
    """Measured times of one stage pass, and the paper's bubble rate by our name of the strategy."""

    model: str
    devices: int
    microbatches: int
    forward: float
    backward_input: float
    backward_weight: float
    p2p: float
    bubbles: dict


PROFILE = Profile("28.3B", 32, 96, 10.419, 10.207, 7.715, 0.408, {"1f1b": 0.2646, "zb_h1": 0.1421})


def evaluate(profile, strategy):
    """The timeline of a strategy under a profile."""
    config = Config(profile.devices, profile.microbatches, forward_times=profile.forward,
                    backward_input_times=profile.backward_input, backward_weight_times=profile.backward_weight,
                    p2p_time=profile.p2p)
    return generate(strategy, config).evaluate(latest=False)


def main():
    profile = PROFILE
    print(f"{profile.model} model, p = {profile.devices}, m = {profile.microbatches}: F {profile.forward}, I "
          f"{profile.backward_input}, W {profile.backward_weight}, p2p {profile.p2p} ms\n")
    print(f"{'strategy':<14}{'paper':>8}{'ours':>8}{'of total':>10}{'of ideal':>10}{'step time':>12}{'peak memory':>13}")
    for strategy in ("gpipe", "1f1b", "eager_1f1b", "zb_h1"):
        metrics = evaluate(profile, strategy).metrics
        paper = f"{profile.bubbles[strategy]:.4f}" if strategy in profile.bubbles else "-"
        print(f"{strategy:<14}{paper:>8}{metrics.bubble.of_span:>8.4f}{metrics.bubble.of_total:>10.4f}"
              f"{metrics.bubble.of_ideal:>10.4f}{metrics.makespan:>9.1f} ms{metrics.peak_memory:>13g}")
    print("\npaper, ours: share of the longest device span that is idle; peak memory in activations of one stage pass")


if __name__ == "__main__":
    main()
