# SPDX-License-Identifier: Apache-2.0
"""How much longer offload makes a step, for copies of several durations: with all copies that fit, and with only as many as a memory limit
needs.

    offload_sweep.py [PICTURE]

k is the time of both copies of a stage pass, divided by that of its F, I and W.
"""
import sys

import ppsched

TIMES = (0.25, 0.5, 0.75, 1, 1.25, 1.5, 2)
SIZES = ((4, 2, 16), (8, 2, 32), (8, 4, 32), (16, 2, 64))  # devices, stages per device, microbatches


def problem(sizes, k, limit=None):
    devices, chunks, microbatches = sizes
    return ppsched.Config(devices, microbatches, stages=devices * chunks, backward_input_times=1, backward_weight_times=1,
                          offload_times=3 * k / 2, mem_limit=() if limit is None else limit)


def offloaded(sizes, k, limit=None):
    """The share of offloaded stage passes, how much longer the step is, and the largest peak; None if no schedule fits."""
    plain = ppsched.generate("group_interleaved_1f1b", problem(sizes, k, limit))
    try:
        schedule = plain.offload(until_limit=limit is not None)
    except ppsched.Error:
        return None
    gone = sum(op.kind == ppsched.Kind.OFFLOAD for queue in schedule.queues for op in queue)
    before, after = plain.evaluate().metrics, schedule.evaluate().metrics
    return gone / (sizes[0] * sizes[1] * sizes[2]), after.makespan / before.makespan - 1, after.peak_memory


def table():
    """Prints, for each duration of copies: the offloaded share, how much longer the step is, and the peak."""
    for sizes in SIZES:
        cells = []
        for k in TIMES:
            share, growth, peak = offloaded(sizes, k)
            cells.append(f"{share:.0%} +{growth:.1%} {peak:g}")
        print("D {} V {} M {}:".format(*sizes), " | ".join(cells))


def curve(sizes, k):
    """The offloaded share and the step time, for each limit under which a schedule fits."""
    peak = int(ppsched.generate("group_interleaved_1f1b", problem(sizes, k)).evaluate().metrics.peak_memory)
    points = [offloaded(sizes, k, limit) for limit in range(peak, 0, -1)]
    return [(share, growth) for share, growth, _ in filter(None, points)]


def draw(path, sizes=(8, 2, 32)):
    from matplotlib.figure import Figure
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    for k in TIMES:
        shares, growths = zip(*curve(sizes, k))
        axes.plot([100 * share for share in shares], [100 * growth for growth in growths], marker="o", markersize=3, label=f"k = {k:g}")
    axes.set_xlabel("share of activations offloaded, %")
    axes.set_ylabel("longer step, %")
    axes.set_title("D = {}, V = {}, M = {}: as few as hold ever smaller limits".format(*sizes), fontsize=10)
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=110)


table()
if len(sys.argv) > 1:
    draw(sys.argv[1])
