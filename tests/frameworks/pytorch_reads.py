# SPDX-License-Identifier: Apache-2.0
"""What PyTorch makes of the settings of a launch line: on each rank its classes build a schedule of stages with nothing in them, which
the processes are too: PyTorch's fake ones.

usage: pytorch_reads.py FILE.json    {"lines": [{"words"}]}
"""
import json
import pathlib
import sys
import warnings

from actions import ops

warnings.filterwarnings("ignore")
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.distributed.pipelining import PipelineStage, schedules  # noqa: E402
from torch.distributed.pipelining._utils import generate_stage_to_rank_mapping  # noqa: E402
from torch.testing._internal.distributed.fake_pg import FakeStore  # noqa: E402

def ranks_of(given):
    """The rank of each stage."""
    if "stage_index_to_group_rank" in given:
        return [int(rank) for rank in given["stage_index_to_group_rank"].split(",")]
    placed = generate_stage_to_rank_mapping(int(given["pp_size"]), int(given["num_stages"]), given["style"])
    return [placed[stage] for stage in range(int(given["num_stages"]))]


def build(given, rank):
    stages = [PipelineStage(torch.nn.Identity(), stage, int(given["num_stages"]), torch.device("cpu"))
              for stage, place in enumerate(ranks_of(given)) if place == rank]
    kind = getattr(schedules, given["class"])
    several = issubclass(kind, schedules.PipelineScheduleMulti)
    schedule = kind(stages if several else stages[0], int(given["n_microbatches"]), loss_fn=torch.nn.functional.mse_loss)
    if "csv" in given:
        schedule._load_csv(given["csv"], given["format"])
    order = schedule.pipeline_order or {}
    return {"class": kind.__name__, "stages": [stage.stage_index for stage in stages], "microbatches": schedule._n_microbatches,
            "order": [ops(order[rank]) for rank in sorted(order)]}


def read(problem):
    """Of each rank what it makes, or the words with which it refuses."""
    given, ranks = dict(word.split("=", 1) for word in problem["words"]), []
    for rank in range(int(given["pp_size"])):
        dist.init_process_group("fake", rank=rank, world_size=int(given["pp_size"]), store=FakeStore())
        try:
            ranks.append(build(given, rank))
        except Exception as error:
            return [{"refused": f"{type(error).__name__}: {error}"}]
        finally:
            dist.destroy_process_group()
    return ranks


if __name__ == "__main__":
    asked = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    print(json.dumps({"lines": [read(problem) for problem in asked["lines"]]}))
