#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The problems of search_constants.py, by group. Drawn with fixed seeds, so that they are the same for each library.

usage: search_constants_problems.py GROUP [times]     prints a JSON list: the results (smaller is better, null: refused), and the basic blocks
"""
import ctypes
import json
import os
import random
import sys
import time
from typing import Any, Callable, Dict, Iterator, List, Optional

import ppsched

Draw = random.Random
GROUPS: Dict[str, Callable[[Draw], Iterator[Callable[[], float]]]] = {}


def group(function: Callable[[Draw], Iterator[Callable[[], float]]]) -> Callable[[Draw], Iterator[Callable[[], float]]]:
    GROUPS[function.__name__] = function
    return function


# --- parts of problems ---

def times(draw: Draw, stages: int) -> Dict[str, Any]:
    return {name: [draw.randint(least * 32, most * 32) / 32 for _ in range(stages)] for name, least, most in (
        ("forward_times", 8, 16), ("backward_input_times", 8, 18), ("backward_weight_times", 5, 12))}


def problem(draw: Draw, devices: int, microbatches: int, chunks: int = 1, limit: Optional[float] = None, **given: Any) -> ppsched.Config:
    """Uneven costs, delays, and a limit in stage passes of a device."""
    memory = {} if limit is None else {"mem_forward": 1, "mem_backward_input": -0.4, "mem_backward_weight": -0.6, "mem_limit": limit}
    return ppsched.Config(devices, microbatches, devices * chunks, p2p_time=draw.choice([0, 1, 3]), **times(draw, devices * chunks), **memory, **given)


def makespan(strategy: str, config: ppsched.Config) -> Callable[[], float]:
    return lambda: ppsched.generate(strategy, config).evaluate(latest=False).metrics.makespan


def step(config: ppsched.Config, layers: Optional[ppsched.Layers] = None, **given: Any) -> Callable[[], float]:
    def value() -> float:
        best = ppsched.plan(config, layers=layers, **given).best
        if best is None:
            raise ppsched.Error("nothing fits")
        return best.step_time
    return value


def layers_of(draw: Draw, count: int = 16, kinds: int = 2) -> ppsched.Layers:
    """Decoders of some kinds, each with two ways of recomputation."""
    rows: List[Dict[str, Any]] = [{"name": "embedding", "place": "first", "forward_time": 2, "backward_time": 3, "mem_static": 5}]
    for kind in range(kinds):
        forward, held = draw.randint(32 * 8, 32 * 14) / 32, draw.randint(3, 5)
        rows.append({"name": f"decoder{kind}", "count": count // kinds, "forward_time": forward, "backward_input_time": forward + draw.randint(0, 4),
                     "backward_weight_time": forward - 2, "mem_forward": held, "mem_static": 4, "output_bytes": 1,
                     "recompute": [{"name": "selective", "backward_time": 2 * forward + 6, "mem_forward": held / 2},
                                   {"name": "full", "backward_time": 3 * forward + 2, "mem_forward": 0.4}]})
    rows.append({"name": "head", "place": "last", "forward_time": draw.randint(6, 20), "backward_time": draw.randint(14, 40), "mem_static": 5})
    return ppsched.Layers(rows)


# --- orders ---

@group
def auto(draw: Draw) -> Iterator[Callable[[], float]]:
    for devices, microbatches, placement, limit, effort in (
            (2, 3, "linear", 1, 4), (2, 2, "loop", 3, 4), (2, 6, "loop", 3, 2), (3, 6, "v", 4, 2), (4, 5, "linear", 3, 3), (4, 16, "loop", 8, 2), (8, 12, "loop", 14, 2),
            (6, 24, "linear", 3, 2), (4, 8, "v", 6, 2), (4, 12, "linear", 2.5, 2), (8, 16, "v", 10, 2), (8, 32, "v", 9, 2), (16, 32, "linear", 9, 2), (16, 24, "v", 20, 2),
            (8, 64, "loop", 12, 2), (4, 128, "v", 4, 2), (16, 64, "loop", 24, 1)):
        config = problem(draw, devices, microbatches, 1 if placement == "linear" else 2, limit, placement=placement, options={"effort": effort})
        yield makespan("auto", config)


@group
def zero_bubble(draw: Draw) -> Iterator[Callable[[], float]]:
    for devices, microbatches in 2 * ((2, 8), (4, 6), (4, 16), (6, 32), (8, 12), (8, 64), (12, 40), (16, 32), (16, 128), (24, 100)):
        for strategy, chunks, limit in (("zb_auto", 1, 0.6), ("zb_auto", 1, 1.2), ("zb_auto", 1, None), ("zbv_auto", 2, 1.1), ("zbv_auto", 2, 2),
                                        ("v_half", 2, None), ("v_min", 2, None)):
            yield makespan(strategy, problem(draw, devices, microbatches, chunks, None if limit is None else max(2, round(limit * devices))))


@group
def v_search(draw: Draw) -> Iterator[Callable[[], float]]:
    for devices, microbatches, limit in ((2, 8, None), (4, 8, 5), (4, 16, None), (6, 18, 7), (8, 12, 9), (12, 40, 13), (14, 20, None), (17, 20, 15), (18, 20, 20),
                                         (20, 40, None), (24, 24, 30), (28, 30, 21)):
        yield makespan("v_search", problem(draw, devices, microbatches, 2, limit))


@group
def robust(draw: Draw) -> Iterator[Callable[[], float]]:
    for devices, microbatches, rank, scenarios in ((2, 6, "mean", 64), (4, 6, "quantile", 128), (4, 8, "worst", 64), (4, 12, "mean", 600),
                                                   (6, 8, "quantile", 400), (8, 12, "mean", 128)):
        config = problem(draw, devices, microbatches, 1, 3, options={"effort": 1})
        config = ppsched.with_robust_objective(config, rank, scenarios, seed=3, jitter=0.2)

        def value(config: ppsched.Config = config, rank: str = rank) -> float:
            found = ppsched.generate("auto", config).scenarios(1000, seed=3, jitter=0.2)
            return float({"mean": found.metrics.mean, "quantile": found.quantile(0.9), "worst": found.metrics.worst}[rank])
        yield value


@group
def graphs(draw: Draw) -> Iterator[Callable[[], float]]:
    """Branches that join, and stages on two devices; forwards alone by throughput."""
    for number in range(18):
        forwards, devices = number % 2 == 1, draw.randint(2, 4)
        stages, microbatches = draw.randint(5, 7), draw.randint(2, 5) if forwards or number < 6 else draw.randint(6, 16)
        inputs = [[], [0], [0]] + [sorted({draw.randrange(1, s), s - 1}) for s in range(3, stages)]
        placement: List[Any] = [s % devices for s in range(stages)]
        draw.shuffle(placement)
        if number % 4 < 2:
            placement[-1] = [0, devices - 1]
        given: Dict[str, Any] = {"forward_only": True} if forwards else {
            "backward_times": [draw.randint(100, 400) / 10 for _ in range(stages)], "mem_forward": 1, "mem_limit": stages / devices * 2 + 1, "split_backward": number % 3 == 0}
        config = ppsched.Config(devices, microbatches, stages, placement=placement, stage_inputs=inputs, p2p_time=draw.choice([2, 7]),
                                forward_times=[draw.randint(40, 200) / 10 for _ in range(stages)],
                                options={"effort": 1, **({"objective": "throughput"} if forwards else {})}, **given)
        yield (lambda config=config: ppsched.generate("auto", config).period()) if forwards else makespan("auto", config)


@group
def forwards_and_directions(draw: Draw) -> Iterator[Callable[[], float]]:
    """Forwards alone, by makespan and by the mean of requests, and both directions."""
    for number in range(9):
        devices, microbatches = draw.choice([2, 4, 6]), draw.choice([4, 8, 12])
        if number % 3 == 0:
            config = problem(draw, devices, microbatches, 1, 4, placement="bidirectional", options={"effort": 2})
            yield makespan("auto", config)
        else:
            config = ppsched.Config(devices, microbatches, 2 * devices, forward_only=True, placement="loop" if number % 3 == 1 else "v", p2p_time=2,
                                    forward_times=[draw.randint(8, 16) for _ in range(2 * devices)], options={"effort": 2},
                                    microbatch_scale=[draw.randint(5, 20) / 10 for _ in range(microbatches)])
            yield makespan("auto", config)


@group
def slices(draw: Draw) -> Iterator[Callable[[], float]]:
    for devices, microbatches, chunks, cut, limit, strategy in (
            (2, 4, 1, 2, 1.5, "auto"), (4, 4, 1, 4, 2, "auto"), (4, 6, 2, 2, 4, "auto"), (8, 8, 1, 4, 4, "auto"), (8, 16, 2, 2, 10, "auto"),
            (4, 8, 1, 4, 2, "zb_auto"), (8, 16, 1, 4, 3, "zb_auto"), (16, 32, 1, 8, 6, "zb_auto"), (8, 64, 1, 2, 5, "zb_auto")):
        scale = [1 + 0.15 * i for i in range(cut)]
        options = {"options": {"effort": 3}} if strategy == "auto" else {}
        config = problem(draw, devices, microbatches, chunks, limit * cut, slices=cut, slice_scale=scale, **options)
        yield makespan(strategy, config)


@group
def repeats(draw: Draw) -> Iterator[Callable[[], float]]:
    """Many microbatches."""
    for devices, microbatches, chunks, limit, strategy in (
            (2, 128, 2, 3, "auto"), (4, 160, 1, 2, "auto"), (4, 130, 2, 5, "auto"), (4, 512, 1, 3, "auto"), (2, 600, 2, 4, "auto"), (8, 1000, 1, 5, "auto"),
            (4, 512, 1, 3, "zb_auto"), (8, 2000, 1, 6, "zb_auto"), (8, 4000, 1, 10, "zb_auto"), (16, 3000, 1, 17, "zb_auto"), (6, 1500, 1, 9, "zb_auto"),
            (4, 1000, 2, 6, "zbv_auto"), (8, 2000, 2, 14, "zbv_auto"), (8, 1500, 2, None, "v_half"), (16, 20000, 1, 20, "zb_auto")):
        options = {"options": {"effort": 2}} if strategy == "auto" else {}
        yield makespan(strategy, problem(draw, devices, microbatches, chunks, limit, **options))


@group
def large_orders(draw: Draw) -> Iterator[Callable[[], float]]:
    """More ops than the caches hold; microbatches differ, so that nothing repeats."""
    for devices, microbatches in ((8, 1100), (8, 2500)):
        scale = [draw.choice([0.9, 1, 1.1]) for _ in range(microbatches)]
        yield makespan("auto", problem(draw, devices, microbatches, 1, 4, microbatch_scale=scale))


# --- plans ---

@group
def plans(draw: Draw) -> Iterator[Callable[[], float]]:
    """All strategies, and limits that nothing keeps."""
    for devices, microbatches, limit in ((3, 7, 3), (4, 12, 4), (6, 66, 5), (5, 70, 9)):
        config = ppsched.Config(devices, microbatches, p2p_time=1, forward_times=10, backward_input_times=12, backward_weight_times=8, mem_forward=1,
                                mem_limit=limit)
        yield step(config, effort=0)
    for devices, microbatches, layers in ((4, 8, 8), (3, 9, 6)):
        config = ppsched.Config(devices, microbatches, mem_limit=draw.uniform(10, 14))
        yield lambda config=config, layers=layers_of(draw, layers): ppsched.plan(config, layers=layers, split_effort=1, chunks=[1, 2], strategies=[
            "1f1b", "zb_h1", "gpipe", "zbv", "interleaved_1f1b", "zb_auto", "v_half", "v_min"]).least_limit().limit


@group
def splits(draw: Draw) -> Iterator[Callable[[], float]]:
    """Fixed rules, one and several stages per device, recomputation under limits."""
    for devices, chunks, strategy, count, kinds, tightness, effort in (
            (4, 1, "1f1b", 48, 2, 0.4, 3), (6, 1, "zb_h1", 48, 4, 0.6, 3), (8, 1, "1f1b", 64, 4, 0.5, 3), (16, 1, "1f1b", 96, 3, 0.7, 3), (16, 1, "zb_h1", 128, 2, 0.6, 3),
            (8, 1, "zb_h1", 60, 6, 2, 3), (4, 2, "zbv", 40, 2, 0.6, 2), (8, 2, "zbv", 96, 4, 0.5, 2), (6, 2, "interleaved_1f1b", 72, 4, 0.5, 2),
            (4, 3, "interleaved_1f1b", 64, 2, 2, 2), (8, 3, "interleaved_1f1b", 96, 4, 0.6, 2), (4, 4, "interleaved_zb", 64, 4, 0.6, 2), (8, 2, "zbv", 64, 4, 2, 3),
            (4, 18, "interleaved_1f1b", 144, 3, 0.7, 1)):
        held = 4 * count / devices * devices * tightness * (1 + (chunks - 1) / 2 / chunks)
        config = ppsched.Config(devices, 4 * devices, p2p_time=draw.choice([0, 1]), mem_limit=4 * count / devices + held + 8,
                                device_speeds=[draw.choice([1, 1, 0.8]) for _ in range(devices)])
        yield step(config, layers_of(draw, count, kinds), strategies=[strategy], chunks=[chunks], split_effort=effort)


@group
def split_bounds(draw: Draw) -> Iterator[Callable[[], float]]:
    """The share by which a plan is above its bound: layers of many kinds, devices of many speeds."""
    for devices, kinds, slow in ((4, 2, 0), (6, 6, 0.02), (6, 12, 0.02), (12, 2, 0.03), (18, 2, 0.03), (24, 12, 0.03), (24, 2, 0.015), (40, 4, 0.015)):
        config = ppsched.Config(devices, 2 * devices, mem_limit=1e4, device_speeds=[1 - slow * (i * 7 % devices) for i in range(devices)])

        def gap(config: ppsched.Config = config, layers: ppsched.Layers = layers_of(draw, 96, kinds)) -> float:
            best = ppsched.plan(config, layers=layers, strategies=["1f1b"], chunks=[1], split_effort=1)[0]
            return best.step_time / best.bound
        yield gap


@group
def codesign(draw: Draw) -> Iterator[Callable[[], float]]:
    """Split and order together: strategies that search, rules that depend on costs, all rules, and times that vary."""
    for devices, microbatches, count, strategies, chunks, more in (
            (3, 4, 9, ["auto"], [1], {"effort": 1}), (2, 4, 8, ["auto"], [2], {"effort": 1}), (4, 16, 24, ["zb_auto"], [1], {}), (6, 12, 36, ["zbv_auto"], [2], {}),
            (8, 24, 64, ["zb_auto"], [1], {}), (4, 8, 24, ["v_half"], [2], {}), (6, 12, 48, ["v_min"], [2], {}),
            (4, 16, 16, ["group_interleaved_1f1b"], [2], {}), (4, 12, 40, ["group_interleaved_1f1b"], [3], {}), (4, 8, 16, ["1f1b", "zb_h1", "zbv"], [1, 2], {}),
            (4, 8, 16, ["1f1b"], [1], {"scenarios": 100, "jitter": 0.2, "rank_by": "mean"}), (6, 12, 48, ["zbv"], [2], {"scenarios": 200, "jitter": 0.3, "rank_by": "worst"}),
            (4, 8, 16, ["zb_auto"], [1], {"scenarios": 100, "jitter": 0.2, "rank_by": "mean"}),
            (4, 8, 32, ["1f1b", "interleaved_1f1b"], [1, 2], {"runtime": "megatron"}), (8, 24, 64, ["1f1b"], [1], {"runtime": "megatron"})):
        limit = 4 * count / devices + 8 + count * draw.uniform(2.4, 3)
        config = ppsched.Config(devices, microbatches, p2p_time=1, mem_limit=limit)
        yield step(config, layers_of(draw, count), strategies=strategies, chunks=chunks, split_effort=1 if "auto" in strategies else 2, **more)


@group
def many_splits(draw: Draw) -> Iterator[Callable[[], float]]:
    """Plans of several strategies with layers: rounds, shares of the work, shorter schedules."""
    for devices, microbatches, count, runtime in ((3, 12, 12, None), (4, 70, 16, "megatron"), (4, 16, 24, None), (5, 10, 20, None)):
        config = ppsched.Config(devices, microbatches, p2p_time=1, mem_limit=4 * count / devices + 8 + 3 * count)
        more = {"runtime": runtime} if runtime else {}
        yield step(config, layers_of(draw, count), strategies=["1f1b", "zb_h1", "interleaved_1f1b", "group_interleaved_1f1b", "zbv", "zb_auto"], split_effort=2, **more)


@group
def device_orders(draw: Draw) -> Iterator[Callable[[], float]]:
    for devices, microbatches, strategy, chunks, count in (
            (4, 16, "1f1b", 1, 16), (5, 16, "zb_h1", 1, 20), (6, 12, "1f1b", 1, 24), (7, 16, "1f1b", 1, 28), (8, 32, "1f1b", 1, 32), (8, 16, "zb_h1", 1, 32), (10, 20, "1f1b", 1, 40),
            (12, 48, "zb_h1", 1, 48), (6, 12, "zbv", 2, 36), (4, 8, "zb_auto", 1, 16), (6, 24, "zb_auto", 1, 24), (8, 200, "zb_auto", 1, 32), (4, 16, "interleaved_1f1b", 2, 24),
            (6, 24, "interleaved_1f1b", 2, 36), (8, 800, "interleaved_1f1b", 2, 32)):
        config = ppsched.Config(devices, microbatches, device_speeds=[draw.uniform(0.5, 1) for _ in range(devices)], p2p_time=2,
                                mem_limit=[4 * count / devices + 8 + 4 * count * draw.uniform(0.5, 0.9) for _ in range(devices)])
        yield step(config, layers_of(draw, count), strategies=[strategy], chunks=[chunks], free_device_order=True, split_effort=1)


# --- offload ---

@group
def offloads(draw: Draw) -> Iterator[Callable[[], float]]:
    for number in range(5):
        for devices, microbatches, chunks, strategy, share in (
                (4, 8, 1, "1f1b", 0.7), (4, 16, 2, "interleaved_1f1b", 0.6), (8, 16, 1, "1f1b", 0.5), (8, 32, 2, "interleaved_1f1b", 0.5), (4, 8, 2, "zbv", 0.7),
                (8, 16, 2, "zbv", 0.75), (4, 64, 1, "zb_h1", 0.9), (8, 24, 3, "interleaved_1f1b", 0.6), (8, 64, 1, "gpipe", 0.4), (8, 200, 4, "interleaved_1f1b", 0.6),
                (8, 1000, 1, "1f1b", 0.6), (16, 64, 2, "zbv", 0.8), (3, 5, 1, "auto", 0.8), (4, 8, 2, "auto", 0.5)):
            stages, host, share = devices * chunks, draw.choice([0.7, 1, 1.6]), share * draw.choice([1, 0.9, 0.8])
            given: Dict[str, Any] = dict(p2p_time=1, mem_forward=1, mem_backward_input=-0.4, offload_times=[host * draw.randint(6, 12) for _ in range(stages)],
                                         reload_times=[host * draw.randint(6, 12) for _ in range(stages)], **times(draw, stages))
            if strategy == "auto":
                yield makespan(strategy, ppsched.Config(devices, microbatches, stages, mem_limit=share * devices * chunks, options={"offload": "limit", "effort": 1}, **given))
                continue
            peak = ppsched.generate(strategy, ppsched.Config(devices, microbatches, stages, **given)).evaluate().metrics.peak_memory
            config = ppsched.Config(devices, microbatches, stages, mem_limit=max(share * peak, chunks + 1.8), **given)
            yield lambda config=config, strategy=strategy: ppsched.generate(strategy, config).offload(until_limit=True).evaluate(latest=False).metrics.makespan


@group
def offload_memory(draw: Draw) -> Iterator[Callable[[], float]]:
    """The least peak memory to which an offload gets, where the limit cannot be kept; then splits with offload."""
    for devices, microbatches, chunks, strategy in ((4, 8, 2, "interleaved_1f1b"), (6, 12, 1, "zb_h1"), (8, 16, 2, "zbv"), (4, 8, 2, "zbv"), (4, 24, 3, "interleaved_1f1b"),
                                                    (8, 48, 2, "interleaved_zb"), (6, 30, 2, "zbv"), (4, 8, 2, "group_interleaved_1f1b"), (16, 48, 2, "zbv")):
        stages = devices * chunks
        config = ppsched.Config(devices, microbatches, stages, p2p_time=1, **times(draw, stages), mem_forward=[draw.randint(8, 16) / 8 for _ in range(stages)],
                                mem_limit=0.9, offload_times=[draw.randint(10, 40) for _ in range(stages)], reload_times=[draw.randint(10, 40) for _ in range(stages)])

        def least(config: ppsched.Config = config, strategy: str = strategy) -> float:
            return ppsched.plan(config, strategies=[strategy], chunks=[config.stages // config.devices], offload=True).least_limit().limit
        yield least
    for devices, count, chunks, strategy, speed in ((4, 16, 1, "1f1b", 0.3), (3, 12, 1, "zb_h1", 0.5), (4, 24, 2, "zbv", 0.4), (4, 24, 2, "interleaved_1f1b", 0.2),
                                                    (6, 36, 1, "1f1b", 0.2)):
        config = ppsched.Config(devices, 2 * devices, p2p_time=1, mem_limit=4 * count / devices + 8 + 2.5 * count, host_bandwidth=speed)
        yield step(config, layers_of(draw, count), strategies=[strategy], chunks=[chunks], offload=True, split_effort=1)


# --- proofs, numbers of microbatches, chunks of prompts, changes of a running job ---

@group
def proofs(draw: Draw) -> Iterator[Callable[[], float]]:
    """A known makespan, divided by the bound that is proved."""
    for number in range(30):
        devices, microbatches, chunks = ((2, 4, 1), (3, 4, 1), (4, 5, 1), (2, 3, 2), (3, 3, 2), (4, 9, 1), (4, 24, 2), (8, 14, 1), (2, 3, 4), (12, 14, 1))[number % 10]
        config = problem(draw, devices, microbatches, chunks, (1.5 + number % 3) * chunks, options={"effort": 2 if number < 10 else 1})

        def gap(config: ppsched.Config = config) -> float:
            known = ppsched.generate("auto", config).evaluate(latest=False).metrics.makespan
            return known / ppsched.lower_bound(config, "makespan", known=known, work=4e6).value
        yield gap


@group
def microbatch_orders(draw: Draw) -> Iterator[Callable[[], float]]:
    """Orders of microbatches that differ, and microbatches of replicas."""
    for devices, microbatches, strategy in ((4, 7, "1f1b"), (4, 8, "1f1b"), (3, 12, "zb_h1"), (8, 16, "1f1b"), (6, 24, "gpipe"), (4, 40, "1f1b")):
        scale = [draw.randint(3, 30) / 10 for _ in range(microbatches)]
        config = problem(draw, devices, microbatches, microbatch_scale=scale)
        yield lambda config=config, strategy=strategy: ppsched.generate(strategy, config).order_microbatches(effort=2).evaluate(latest=False).metrics.makespan
    for count, replicas in ((13, 4), (18, 5), (24, 7), (36, 8), (50, 12), (64, 9)):
        costs = [draw.paretovariate(2) for _ in range(count)]
        yield lambda costs=costs, replicas=replicas: ppsched.balance_microbatches(costs, replicas).most


@group
def prompts(draw: Draw) -> Iterator[Callable[[], float]]:
    """Chunks of prompts."""
    for devices, tokens, block, even in ((2, 10, 1, False), (4, 14, 1, False), (4, 12, 1, False), (4, 26, 1, False), (4, 100, 4, True), (8, 4096, 4, True),
                                         (4, 600, 10, False), (6, [300, 500], 20, False), (8, 4000, 20, False), (4, [2000, 1000, 3000], 50, False),
                                         (16, 32768, 8, True), (8, [9000, 12000], 4, True)):
        config = ppsched.Config(devices, 1, forward_only=True, p2p_time=1, forward_times=1 if even else [draw.randint(8, 12) / 10 for _ in range(devices)])
        yield lambda config=config, tokens=tokens, block=block: ppsched.prefill_chunks(config, tokens, constant=20, linear=1, quadratic=0.01, block=block).makespan


@group
def changes(draw: Draw) -> Iterator[Callable[[], float]]:
    """A running job whose devices become slower or are lost, and replicas that differ."""
    for number in range(8):
        devices = draw.choice([3, 4, 6])
        layers = layers_of(draw, 4 * devices)
        split = [5] + [4] * (devices - 2) + [5]
        config = ppsched.Config(devices, 8, device_speeds=[draw.choice([1, 1, 0.6]) for _ in range(devices)])
        lost = [draw.randrange(devices)] if number % 2 else []
        yield lambda config=config, layers=layers, split=split, lost=lost, number=number: ppsched.replan(
            config, layers, split, lost=lost, split_effort=1, free_device_order=number % 4 == 0, steps=10 if number % 3 else 0, load_bandwidth=1).step_time
    for microbatches in (10, 21):
        own = [ppsched.Config(3, 1, device_speeds=[draw.uniform(0.5, 1) for _ in range(3)]) for _ in range(2)]
        yield lambda own=own, layers=layers_of(draw, 8), microbatches=microbatches: ppsched.share_microbatches(own, layers, microbatches, split_effort=1).step_time


@group
def nothing(draw: Draw) -> Iterator[Callable[[], float]]:
    """What Python takes to start."""
    return iter(())


def blocks() -> int:
    """Basic blocks that the library has run, if it counts them."""
    count = getattr(ctypes.CDLL(os.environ["PPSCHED_LIBRARY"]), "ppi_blocks_run", None)
    if count is None:
        return 0
    count.restype = ctypes.c_uint64
    return int(count())


def main() -> None:
    found: List[Optional[float]] = []
    for number, run in enumerate(GROUPS[sys.argv[1]](Draw(sys.argv[1]))):
        begin = time.process_time()
        try:
            found.append(run())
        except ppsched.Error as error:
            found.append(None)
            if len(sys.argv) > 2:
                print(error, file=sys.stderr)
        if len(sys.argv) > 2:
            print(f"{number}: {found[-1]}, {time.process_time() - begin:.3f} s", file=sys.stderr)
    print(json.dumps([found, blocks()]))


if __name__ == "__main__":
    main()
