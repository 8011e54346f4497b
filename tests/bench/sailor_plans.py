# SPDX-License-Identifier: Apache-2.0
"""Sailor's plans and ours for 8 fast and 8 slow devices, priced by the same evaluator: the table of docs/performance.md.

usage: sailor_plans.py SAILOR     a clone of eth-easl/sailor whose planner is built for this Python:
    cd SAILOR/sailor/Planner/sailor_planner/cpp_src && g++ -O2 -fPIC -shared -I/usr/include/jsoncpp $(python3 -m pybind11 --includes) planner.cpp \\
        training.cpp planner_utils.cpp utils/read_json.cpp utils/network_utils.cpp -ljsoncpp -o libplanner$(python3-config --extension-suffix)

A stage takes as long as the slowest of its replicas. Reductions, transfers and memory are left out on both sides, but slow devices only get the
tensor parallelism that Sailor gives them, as others do not fit their memory.
"""
import json
import math
import os
import pathlib
import sys

import ppsched

BATCH, LAYERS, EACH = 1024, 26, 8
TYPES = ("A100-40", "V100-16")


class Sailor:
    def __init__(self, root):
        self.root = pathlib.Path(root, "sailor")
        planner = self.root / "Planner/sailor_planner"
        self.profiles = [json.loads((planner / "profiles/OPT-350" / name / "profile.json").read_text()) for name in TYPES]

    def plans(self):
        """[(microbatch, layers of stages, [[(type, tp)] of each stage])]"""
        planner = self.root / "Planner/sailor_planner"
        sys.path.insert(0, str(planner / "cpp_src"))
        import libplanner  # pylint: disable=import-outside-toplevel
        files = ("providers/multizone_bandwidths_het.json", "Planner/simulations/configs/training_config_opt_350.json", "Planner/llm_info.json",
                 "providers/gcp/communication_cost.json")
        made = libplanner.SailorPlanner(f"{planner}/profiles/OPT-350/", *(str(self.root / file) for file in files), True, False,
                                        str(planner / "dummy_quotas_dict.json"), "throughput")
        found = made.get_sorted_plans({"us-central1-a": dict.fromkeys(TYPES, EACH)}, 0.0, 0.0)
        return [(one.get_mbs(), [len(list(stage)) for stage in one.get_stages()], [[(part[0], part[1]) for part in stage] for stage in one.get_config_per_stage()])
                for one in found]

    def times(self, kind, size, tp):
        """(forward, backward) of each layer; None if it was not measured."""
        rows = self.profiles[kind].get(str(size), {}).get(str(tp))
        return None if rows is None else [tuple(rows[str(layer)][:2]) for layer in range(LAYERS)]

    def price(self, size, counts, stages):
        times, first = ([], []), 0
        for count, parts in zip(counts, stages):
            for way in range(2):
                times[way].append(max(sum(row[way] for row in self.times(kind, size, tp)[first:first + count]) for kind, tp in set(parts)))
            first += count
        config = ppsched.Config(len(counts), math.ceil(BATCH / (size * len(stages[0]))), forward_times=times[0], backward_times=times[1])
        return ppsched.generate("1f1b", config).evaluate(latest=False).metrics.makespan

    def ours(self, size, widths, pipelines):
        """The step of replicas whose devices are given by their types, with these tensor parallelisms by type."""
        fast, slow = (self.times(kind, size, tp) for kind, tp in enumerate(widths))
        if fast is None or slow is None:
            return None
        rows = [{"name": f"layer{layer}", "forward_time": fast[layer][0], "backward_time": fast[layer][1],
                 "device_scale": [[slow[layer][0] / fast[layer][0]] + [slow[layer][1] / fast[layer][1]] * 3]} for layer in range(LAYERS)]
        configs = {types: ppsched.Config(len(types), 1, layer_types=list(types)) for types in set(pipelines)}
        return ppsched.share_microbatches([configs[types] for types in pipelines], rows, BATCH // size, free_device_order=len(pipelines[0]) > 1)


def main():
    sys.stdout.flush()
    told, quiet = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)  # the planner prints much
    sailor = Sailor(sys.argv[1])
    plans = sailor.plans()
    os.dup2(told, 1)
    priced = sorted((sailor.price(*one), one) for one in plans)
    alike = [row for row in priced if len({tp for stage in row[1][2] for _, tp in stage}) == 1]
    width = max(tp for _, _, stages in plans for stage in stages for kind, tp in stage if kind == 1)
    print("Sailor, best of all:", priced[0], "\nSailor, best of those alike in tp:", alike[0])
    slow = EACH // width
    for name, widths, pipelines in (("alike in tp, one stage", (width, width), [(0,)] * slow + [(1,)] * slow),
                                    ("alike in tp, two stages", (width, width), [(0, 1)] * slow),
                                    ("Sailor's tp, one stage", (1, width), [(0,)] * EACH + [(1,)] * slow),
                                    ("Sailor's tp, two stages", (1, width), [(0, 0)] * ((EACH - slow) // 2) + [(0, 1)] * slow)):
        for size in sorted({size for size, _, _ in plans}):
            found = sailor.ours(size, widths, pipelines)
            if found is not None:
                print(f"ours, {name}, microbatches of {size}: {found.step_time:.2f} s; equal shares {found.equal_step_time:.2f};",
                      [(one.microbatches, one.split) for one in found.replicas])


if __name__ == "__main__":
    main()
