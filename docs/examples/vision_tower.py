# SPDX-License-Identifier: Apache-2.0
"""Where the vision tower of a model goes on 8 devices: in stage 0, on stages of its own, or on devices of its own.

Times are those of Qwen3-VL-32B in milliseconds, as `ppsched model --device h100 --tp 2 --seq 4096 --micro-batch 1` estimates them from the
config.json of the model. Every second microbatch has an image; the others run no stage of the tower. An argument names the file for a
picture of the second case.
"""
import sys

import ppsched

DEVICES, MICROBATCHES, LAYERS = 8, 16, 64
IMAGES = list(range(0, MICROBATCHES, 2))
TOWER, EMBEDDING, DECODER, HEAD = (22.248, 40.324), (0.135, 0.052), (4.712, 9.355), (6.891, 11.916)  # forward, backward


def text_stages(stages):
    """Forward and backward times of the text stages. The numbers of layers are as equal as possible; the head counts as one layer."""
    counts = [(LAYERS + 1) // stages + (s < (LAYERS + 1) % stages) for s in range(stages)]
    counts[-1] -= 1
    times = [[count * time for time in DECODER] for count in counts]
    for i in range(2):
        times[0][i] += EMBEDDING[i]
        times[-1][i] += HEAD[i]
    return times


def best(placement, times, tower, inputs):
    """The best order that is found. The first `tower` stages are the tower; they run only microbatches with images."""
    config = ppsched.Config(DEVICES, MICROBATCHES, len(times), placement=placement, stage_inputs=inputs, split_backward=False,
                            stage_microbatches=[IMAGES if s < tower else None for s in range(len(times))],
                            forward_times=[forward for forward, _ in times], backward_times=[backward for _, backward in times],
                            mem_forward=[0.25 if s < tower else 1 for s in range(len(times))], p2p_time=0.1,
                            mem_limit=DEVICES + 2, options={"effort": 2})
    return ppsched.generate("auto", config).evaluate(), ppsched.lower_bound(config, "makespan").value


def cases():
    def chain(stages):
        return [[s - 1] if s else [] for s in range(stages)]

    text = text_stages(DEVICES)
    part = [[time / DEVICES for time in TOWER]] * DEVICES
    yield "in stage 0", best([0, *range(DEVICES)], [TOWER, *text], 1, chain(DEVICES + 1))
    yield "on a separate stage on each device", best([*range(DEVICES)] * 2, [*part, *text], DEVICES, chain(2 * DEVICES))
    yield "on a separate device", best([*range(DEVICES)], [TOWER, *text_stages(DEVICES - 1)], 1, chain(DEVICES))


if __name__ == "__main__":
    for name, (timeline, bound) in cases():
        print(f"| {name} | {timeline.metrics.makespan:.0f} | {bound:.0f} | {timeline.metrics.bubble.of_total:.0%} |")
        if len(sys.argv) > 1 and name.startswith("on a separate stage"):
            timeline.draw().savefig(sys.argv[1], dpi=80)
