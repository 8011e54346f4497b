# SPDX-License-Identifier: Apache-2.0
"""Documents of very different lengths, one per microbatch: how much shorter a step becomes with another order, and with slices.

The model is Llama-3-8B, in a pipeline of four H100s. The cost model gives the costs for each length, so the cost of attention grows with
the square of the length. Lengths are lognormal (sigma 1.2), between 8 K and 128 K tokens, as in corpora of long documents."""
import random

import ppsched

DEVICES, DOCUMENTS, SLICES = 4, 12, 8
SHAPE = ppsched.Transformer(layers=32, hidden_size=4096, heads=32, vocabulary_size=128256, ffn_size=14336, key_value_heads=8,
                            gated=True)


def lengths():
    draw = random.Random(8)
    return [int(min(max(draw.lognormvariate(10, 1.2), 8192), 131072)) // 1024 * 1024 for _ in range(DOCUMENTS)]


def layer_costs(length):
    """Forward and backward in milliseconds, and activations in GB, of the layers of one device."""
    model = ppsched.Model(SHAPE, ppsched.Training(sequence_length=length, tensor_parallel=8, sequence_parallel=True),
                          ppsched.find_accelerator("h100"))
    layers = SHAPE.layers // DEVICES
    forward, to_input, to_weight = (1e3 * layers * model.pass_cost("dense", kind).time for kind in ("forward", "input", "weight"))
    return forward, to_input + to_weight, layers * model.memory("dense").activations / 1e9


def show(name, schedule):
    timeline = schedule.evaluate()
    peak = max(device.peak_memory for device in timeline.device_metrics)
    print(f"{name:42} {timeline.metrics.makespan:8.1f} ms   peak {peak:5.1f} GB   idle {timeline.metrics.bubble.of_total:.1%}")


def main():
    costs = [layer_costs(length) for length in lengths()]
    forward, backward, memory = costs[0]
    problem = {"forward_times": forward, "backward_times": backward, "mem_forward": memory,
               "microbatch_scale": [cost[0] / forward for cost in costs],
               "microbatch_memory_scale": [cost[2] / memory for cost in costs]}
    config = ppsched.Config(DEVICES, DOCUMENTS, **problem)
    print("documents of", *(f"{length // 1024} K" for length in lengths()))
    for strategy in ("1f1b", "zb_h1"):
        schedule = ppsched.generate(strategy, config)
        show(f"{strategy}, as they come", schedule)
        longest = ppsched.Config(DEVICES, DOCUMENTS, **{**problem, **sorted_lists(problem)})
        show(f"{strategy}, longest first", ppsched.generate(strategy, longest))
        ordered = schedule.order_microbatches()
        show(f"{strategy}, best order found", ordered)
    print("the order:", *ordered.config.microbatch_order)
    show("auto, in that order", ppsched.generate("auto", ordered.config))
    sliced = ppsched.Config(DEVICES, DOCUMENTS, slices=SLICES, **{**problem, **per_slice(forward, backward, memory)})
    show(f"seq_1f1b, {SLICES} slices", ppsched.generate("seq_1f1b", sliced))
    show("in its best order", ppsched.generate("seq_1f1b", sliced).order_microbatches())
    plan = ppsched.plan(config, slices=[1, 2, 4, 8], slice_time=0.5, attention_share=0.5, order_effort=1)
    for slices in (1, 2, 4, 8):
        best = next(candidate for candidate in plan if candidate.slices == slices)
        show(f"plan, slices {slices}: {best.strategy}, V = {best.chunks}", plan.timeline(best).schedule)
    shares = ppsched.balance_microbatches(lengths(), 3, even_counts=True)
    print(f"over 3 replicas of 4: at most {shares.most / 1024:g} K tokens, none can have less than {shares.bound / 1024:g} K:",
          shares.replica)


def sorted_lists(problem):
    pairs = sorted(zip(problem["microbatch_scale"], problem["microbatch_memory_scale"]), reverse=True)
    return {"microbatch_scale": [time for time, _ in pairs], "microbatch_memory_scale": [memory for _, memory in pairs]}


def per_slice(forward, backward, memory):
    """Slices of equal length. Half of the time is attention to all earlier tokens, which grows from slice to slice."""
    growth = [0.5 + (2 * k + 1) / (2 * SLICES) for k in range(SLICES)]
    return {"forward_times": forward / SLICES, "backward_times": backward / SLICES, "mem_forward": memory / SLICES,
            "slice_scale": growth}


main()
