# SPDX-License-Identifier: Apache-2.0
"""What mypy must find: an error in each line that says so, and in no other."""
from typing import List

import ppsched

config = ppsched.Config(4, 8, forward_time=1)  # wrong
ppsched.Config(4, 8, forward_times=None)  # wrong
ppsched.Config(4, 8, mem_limit=None)  # wrong
ppsched.Config("4", 8)  # wrong
config.forward_time  # wrong
config.forward_times = [2.0]  # wrong
lists: ppsched.Quantities = {"forward_time": 1}  # wrong
schedule = ppsched.generate("1f1b", config)
timeline = schedule.evaluate(last=False)  # wrong
timeline.spans[0][0].begin  # wrong
timeline.spans[0][0] + "1"  # wrong
ops: List[str] = list(schedule.queues[0])  # wrong
timeline.idle[0].filled  # wrong
timeline.memory("0")  # wrong
timeline.latest_starts[0][0].end  # wrong
timeline.critical_path[0].reason.text  # wrong
timeline.sensitivities(goal="span")  # wrong
timeline.relief().most  # wrong
timeline.metrics.limit_device + 1  # wrong
plan = ppsched.plan(config, chunk=2)  # wrong
plan.best.strategy  # wrong
plan[0].ranks  # wrong
ppsched.plan(config, head={"forward": 1})  # wrong
ppsched.Schedule.from_text("0F0", "csv", forward_time=1)  # wrong
ppsched.read("mine.csv", mem_limits=3)  # wrong
ppsched.find_strategy("1f1b").long  # wrong
ppsched.generate(3, config)  # wrong
schedule.lower("none", unshards=3)  # wrong
ppsched.Layout("EL")  # wrong
ppsched.Layout.megatron(8, 2, first_layers=2)  # wrong
ppsched.Layout("EL", 1).stages[0].layers  # wrong
