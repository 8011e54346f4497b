# SPDX-License-Identifier: Apache-2.0
"""Runs a planned schedule in Colossal-AI: nodes_of("schedule.csv") returns the scheduler_nodes of HybridParallelPlugin(pp_style="zbv").

`ppsched schedule ... --launch colossalai -o schedule.csv` writes the CSV.
"""
import json

from colossalai.pipeline.schedule.v_schedule import ScheduledNode

import ppsched


def nodes_of(csv):
    schedule = ppsched.read(csv)
    schedule.launch("colossalai", csv=csv)  # raises ppsched.Refused if Colossal-AI cannot run it
    lowered = schedule.lower("just_in_time", split_backwards=True)
    return [[ScheduledNode(type=node["type"], chunk=node["chunk"], stage=node["stage"], minibatch=node["microbatch"],
                           start_time=node["start_time"], completion_time=node["completion_time"])
             for node in rank] for rank in json.loads(lowered.evaluate().export("sail"))]
