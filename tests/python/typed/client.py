# SPDX-License-Identifier: Apache-2.0
# mypy: disallow-any-expr
"""A client that mypy knows all types of: it is checked with --strict and without a single Any. It also runs."""
from typing import Dict, List, Optional, Tuple

import ppsched


def problem(devices: int) -> ppsched.Config:
    config = ppsched.Config(devices, microbatches=8, forward_times=[1, 1.5] * (devices // 2), backward_times=2, p2p_time=0.125,
                            mem_limit=[6.0] * devices, placement=ppsched.Placement.LINEAR, options={})
    times: List[float] = config.forward_times
    return config if len(times) == config.stages else ppsched.Config(devices, 8)


def quantities() -> ppsched.Quantities:
    return {"forward_times": 1, "p2p_time": [[0, 1], [1, 0]], "mem_limit": (4, 5)}


def look(timeline: ppsched.Timeline) -> Dict[str, float]:
    found: Dict[str, float] = {}
    for queue, spans, latest in zip(timeline.schedule.queues, timeline.spans, timeline.latest_starts):
        ops: ppsched.View[ppsched.Op] = queue
        first: ppsched.Op = ops[0]
        rest: List[ppsched.Op] = ops[1:]
        for op, span, start in zip(queue, spans, latest):
            found[str(op)] = span.end - span.start + (start - span.start)
        found[first.kind.name] = len(rest)
    metrics, worst = timeline.metrics, timeline.relief("span", ppsched.Kind.F)
    limit: Optional[int] = metrics.limit_device
    idle: List[float] = [cause.fill + cause.drain for cause in timeline.idle]
    curve: List[Tuple[float, float]] = [(point.time, point.memory) for point in timeline.memory(0)]
    path: List[ppsched.Reason] = [step.reason for step in timeline.critical_path]
    gains: List[float] = [each.less for each in timeline.sensitivities(ppsched.Objective.MAKESPAN)]
    sums: Dict[str, float] = {"bubble": metrics.bubble.of_total, "idle": sum(idle), "curve": len(curve), "path": len(path),
                              "gains": sum(gains), "worst": worst.stage, "limit": -1 if limit is None else limit,
                              "slack": min(timeline.slack_by_device) + timeline.slack[0][0]}
    return {**found, **sums}


def choose(config: ppsched.Config) -> str:
    def tell(share: float, best: float) -> bool:
        return share >= 0 and best >= 0

    plan = ppsched.plan(config, objective="span", chunks=[1, 2], embedding={"forward_time": 0.25}, progress=tell)
    best: Optional[ppsched.Candidate] = plan.best
    ranked: List[ppsched.Candidate] = plan[:3]
    if best is None or best.step_time is None:
        return f"{plan.least_limit().limit:g}"
    words: List[str] = plan.command(best, costs=["-c", "problem.json"])
    table: str = plan.csv()
    again: ppsched.Config = plan.config.with_stages(plan.config.devices, head={"forward_time": 0.5}).with_microbatches(16)
    lowered = plan.schedule(best).lower(ppsched.Lowering.BY_TIME, unshard=3)
    proof: ppsched.Proof = lowered.prove("pair", rendezvous=True)
    links: List[int] = [link.transfers for link in lowered.links()]
    waits: List[str] = [f"{wait.device} waits in {wait.op}" for wait in proof.circle]
    return (f"{best.strategy} {best.step_time:g} of {len(ranked)} {plan.listed[0].number}: {sum(links)} {waits} {bool(proof)} {words} "
            f"{len(table)} {again.microbatches}")


def own(config: ppsched.Config, builder: ppsched.Builder) -> None:
    for device in range(config.devices):
        builder.append(device, *(f"{device}F{m}" for m in range(config.microbatches)))
        builder.append(device, *(ppsched.Op(device, ppsched.Kind.B, m) for m in range(config.microbatches)))


def layers() -> str:
    layout = ppsched.Layout("Et|t|t|tmL", 2, chunks=2, decoders=4)
    stages: List[ppsched.LayoutStage] = [stage for stage in layout.stages if stage.decoders]
    ranks: List[List[Tuple[int, int]]] = layout.ranks
    same: ppsched.Layout = ppsched.Layout.of_stages(stages, devices=2)
    parts: List[str] = ppsched.Layout.torchtitan(6, 2, schedule="1F1B").modules(1)
    return f"{same.text} {ranks} {parts} {ppsched.Layout.megatron(8, 2, first_decoders=3)}"


def main() -> None:
    print(layers())
    config = problem(4)
    schedule: ppsched.Schedule = ppsched.generate("1f1b", config)
    print(look(schedule.evaluate()), choose(config), ppsched.generate(own, config).check())
    print(ppsched.Schedule.from_text(schedule.export("csv"), "csv", forward_times=2).config.forward_times)
    print(ppsched.Config(2, 4, **quantities()).p2p_time, ppsched.lower_bound(config).value)
    for strategy in ppsched.strategies():
        print(strategy.name, strategy.searches_long, strategy.most_memory, [option.choices for option in strategy.options])


main()
