# SPDX-License-Identifier: Apache-2.0
"""What splits and orders gain on devices that differ, by the spread of their speeds: the table of docs/performance.md.

usage: unlike_devices.py [PROBLEMS]     each with 4 to 8 devices, 32 layers with an embedding and a head, 32 microbatches
"""
import random
import statistics
import sys

import ppsched


def layers_of(draw):
    decoder = draw.choice([1.0, 2.0])
    return ppsched.Layers([{"name": "embedding", "place": "first", "forward_time": 0.1, "backward_time": 0.1},
                           {"name": "decoder", "count": 32, "forward_time": decoder, "backward_time": 2 * decoder},
                           {"name": "head", "place": "last", "forward_time": draw.choice([0.5, 1.0, 2.0]), "backward_time": 2.0}])


def best(config, layers, strategy, **given):
    return ppsched.plan(config, layers=layers, strategies=[strategy], chunks=[1], **given).best


def equal(config, layers, strategy):
    """Equal parts of all layers; the first get one more."""
    count, devices = len(layers), config.devices
    split = [count // devices + (place < count % devices) for place in range(devices)]
    return ppsched.generate(strategy, ppsched.config_from_layers(config, layers, ppsched.Split(split, [0] * count))).evaluate(latest=False).metrics.makespan


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    print("| strategy | range of speeds | planned: shorter than equal by, mean (maximum) | "
          "free order: share | free order: shorter by, mean (maximum) |\n|---|---|---|---|---|")
    for strategy in ("1f1b", "zb_h1"):
        for least in (0.9, 0.7, 0.5, 0.3):
            draw, gains, orders = random.Random(7), [], []
            for _ in range(count):
                devices, layers = draw.randint(4, 8), layers_of(draw)
                config = ppsched.Config(devices, 32, device_speeds=[draw.uniform(least, 1) for _ in range(devices)])
                split = best(config, layers, strategy).step_time
                free = best(config, layers, strategy, free_device_order=True).step_time
                gains.append(1 - split / equal(config, layers, strategy))
                orders.append(1 - free / split)
            better = [gain for gain in orders if gain > 1e-6]
            print(f"| {strategy} | {least} to 1 | {statistics.mean(gains):.1%} ({max(gains):.1%}) | {len(better) / count:.0%} | "
                  f"{statistics.mean(better or [0]):.1%} ({max(orders):.1%}) |", flush=True)


if __name__ == "__main__":
    main()
