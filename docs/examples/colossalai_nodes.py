# SPDX-License-Identifier: Apache-2.0
"""scheduler_nodes of Colossal-AI's HybridParallelPlugin(pp_style="zbv") from a CSV: nodes_of("schedule.csv").

The CSV is that of `ppsched schedule ... --launch colossalai -o schedule.csv`.
"""
import json

from colossalai.pipeline.schedule.v_schedule import ScheduledNode

import ppsched


def nodes_of(csv):
    schedule = ppsched.read(csv)
    schedule.launch("colossalai", csv=csv)  # ppsched.Refused where its pipe cannot run it
    lowered = schedule.lower("just_in_time", split_backwards=True)
    return [[ScheduledNode(type=node["type"], chunk=node["chunk"], stage=node["stage"], minibatch=node["microbatch"],
                           start_time=node["start_time"], completion_time=node["completion_time"])
             for node in rank] for rank in json.loads(lowered.evaluate().export("sail"))]
