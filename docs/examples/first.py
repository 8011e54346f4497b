# SPDX-License-Identifier: Apache-2.0
"""Compares two schedules, prints one op by op, and writes it for PyTorch."""
import ppsched

config = ppsched.Config(devices=4, microbatches=8, forward_times=[1.0, 1.2, 1.2, 1.4], p2p_time=0.1)
for name in ("1f1b", "zb_h1"):
    metrics = ppsched.generate(name, config).evaluate().metrics
    print(f"{name}: makespan {metrics.makespan:.1f}, bubble {metrics.bubble.of_total:.4f} of total")

timeline = ppsched.generate("zb_h1", config).evaluate()
for op, span, slack in zip(timeline.schedule.queues[3], timeline.spans[3], timeline.slack[3]):
    print(f"{op} from {span.start:.1f} to {span.end:.1f}, slack {slack:.1f}")

print(timeline.export("csv"))
