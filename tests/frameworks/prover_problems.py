# SPDX-License-Identifier: Apache-2.0
"""Small random problems with whole numbers, so that sums are exact: of each kind that has a model in prover_model.py. The names of
values are those of ppsched.Config."""
import random

SEED = 20261127
# How many of each kind; the first two are small.
COUNTS = {"linear": 18, "loop": 13, "v": 13, "map": 4, "linear_memory": 12, "loop_memory": 9, "v_memory": 9, "whole": 8, "either": 8, "span": 10,
          "bidirectional": 8, "split": 18, "split_memory": 14, "split_and_order": 6}
RULES = {"linear": ["gpipe", "1f1b", "eager_1f1b", "zb_h1", "zb_h2"],
         "loop": ["looped_bfs", "interleaved_1f1b", "interleaved_zb", "interleaved_1f1b_less_memory"],
         "v": ["zbv", "dualpipe_v"], "bidirectional": ["dualpipe"]}


class Maker:
    """Draws the problems of one kind."""

    def __init__(self, kind, seed):
        self.kind, self.draw = kind, random.Random(f"{seed} {kind}")

    def times(self, count, most=9):
        """Alike, alike but for one, or all unlike."""
        draw = self.draw
        shape = draw.randrange(4)
        values = [draw.randint(1, most)] * count
        if shape == 1:
            values[draw.randrange(count)] = draw.randint(1, 2 * most)
        return values if shape < 2 else [draw.randint(1, most) for _ in range(count)]

    def sizes(self, is_small):
        """Devices, stages, microbatches and placement."""
        draw, placement = self.draw, self.kind.split("_")[0]
        if placement not in ("linear", "loop", "v", "map", "bidirectional"):
            more = ["bidirectional"] if self.kind in ("split", "split_memory") else []
            placement = draw.choice(["linear", "linear", "loop", "v", *more])
        if placement == "bidirectional":
            devices = 2 if is_small else draw.choice([2, 4])
            return devices, devices, 2 * draw.randint(devices, 3 if is_small else 6), placement
        devices = 2 if is_small else draw.randint(2, 5 if placement == "linear" else 4)
        if placement == "map":
            count = draw.randint(devices + 1, devices + 3)
            return devices, count, draw.randint(2, 4), [*range(devices), *(draw.randrange(devices) for _ in range(count - devices))]
        chunks = 1 if placement == "linear" else 2 if placement == "v" or is_small else draw.randint(2, 3)
        most = 3 if is_small else 12 if placement == "linear" else 6
        return devices, devices * chunks, draw.randint(2, most // 2 if most > 3 and self.kind.endswith("_memory") else most), placement

    def links(self, problem):
        draw, devices = self.draw, problem["devices"]
        shape = draw.randrange(4)
        if shape == 1:
            problem["p2p_time"] = draw.randint(1, 5)
        elif shape == 2:
            problem["p2p_time"] = [0 if a == b else draw.randint(0, 5) for a in range(devices) for b in range(devices)]
        elif shape == 3:
            problem.update(p2p_time=draw.randint(0, 2), p2p_bandwidth=1)
            if "layers" not in problem:
                problem["activation_bytes"] = [draw.randint(0, 3) for _ in range(problem["stages"])]

    def make(self, is_small):
        """One by one."""
        devices, stages, microbatches, placement = self.sizes(is_small)
        problem = {"kind": self.kind, "devices": devices, "stages": stages, "microbatches": microbatches, "placement": placement}
        if self.kind.startswith("split"):
            self.make_layers(problem)
        else:
            self.make_stages(problem)
        self.links(problem)
        if self.kind.endswith("_memory") or self.kind in ("bidirectional", "split_and_order") and self.draw.randrange(2) == 0:
            self.limit(problem)
        if self.kind.endswith("_memory") and "layers" not in problem:
            self.vary(problem)
        problem["horizon"] = horizon(problem)
        return problem

    def make_stages(self, problem):
        count = problem["stages"]
        problem.update({f"{name}_times": self.times(count) for name in ("forward", "backward_input", "backward_weight")})
        problem["mem_forward"] = [1] * count
        if self.kind == "either":
            self.shorten(problem)
        if self.kind == "whole":
            problem["split_backward"] = False
        if self.kind == "span":
            problem["objective"] = "span"

    def vary(self, problem):
        """Backwards in one piece, or shorter so; the span; and nothing of this."""
        shape = self.draw.randrange(6)
        if shape == 0:
            problem["split_backward"] = False
        elif shape == 1:
            self.shorten(problem)
        elif shape == 2 and len(problem["mem_forward"]) < 7:
            problem["objective"] = "span"

    def shorten(self, problem):
        whole = [i + w for i, w in zip(problem["backward_input_times"], problem["backward_weight_times"])]
        problem["backward_times"] = [self.draw.randint(max(1, b // 2), b + 1) for b in whole]

    def make_layers(self, problem):
        """The ends belong into the first and the last stage; decoders between them are alike, or of two kinds."""
        draw = self.draw
        of_two, empty = draw.randrange(2) == 1, draw.randrange(4) == 0 and self.kind != "split_and_order"
        self.change = draw.choice([0, 0, -1, 1])  # what an I does to memory, where nothing is recomputed
        kinds = [self.layer(f"decoder{k}") for k in range(2)]
        count = problem["stages"] + draw.randint(1, 3 if self.kind == "split_and_order" else 6) - (min(3, problem["stages"] - 1) if empty else 0)
        layers = [dict(kinds[draw.randrange(2) if of_two else 0]) for _ in range(max(2, count))]
        if draw.randrange(2) == 1:
            layers = [{**self.layer("embedding"), "place": "first"}, *layers, {**self.layer("head"), "place": "last"}]
        if draw.randrange(4) == 0:
            layers[draw.randrange(1, len(layers) - 1) if len(layers) > 2 else 0]["with_next"] = True
        problem["layers"] = layers
        if empty:
            problem["empty_stages"] = True
        names = ["zb_auto"] if problem["placement"] == "linear" else ["auto"]
        problem["strategy"] = draw.choice(names if self.kind == "split_and_order" else RULES[problem["placement"]])
        if problem["strategy"] in ("zb_h2", "dualpipe_v", "interleaved_1f1b"):
            problem["microbatches"] = 2 * problem["devices"]

    def layer(self, name):
        draw = self.draw
        row = {"name": name, "forward_time": draw.randint(1, 6), "backward_input_time": draw.randint(1, 6),
               "backward_weight_time": draw.randint(1, 6), "mem_forward": draw.randint(2, 5), "mem_backward_input": 0, "mem_static": 0,
               "output_bytes": draw.randint(0, 2)}
        if self.kind == "split_memory" and self.change != 0:
            row["mem_backward_input"] = self.change * draw.randint(0, row["mem_forward"] - 1)
        elif self.kind == "split_memory":
            row["mem_static"] = draw.randint(0, 4)
            whole = row["backward_input_time"] + row["backward_weight_time"]
            ways = [{"name": "full", "backward_time": whole + row["forward_time"], "mem_forward": draw.randint(0, 1)},
                    {"name": "selective", "backward_time": whole + 1, "mem_forward": row["mem_forward"] - 1}]
            row["recompute"] = ways[:draw.randint(1, 2)]
        return row

    def limit(self, problem):
        """One for each device, from hardly enough to more than enough; now and then too little."""
        draw, devices = self.draw, problem["devices"]
        if "layers" in problem:
            passes = problem["microbatches"] if self.change == 0 and self.kind == "split_memory" else 2 * problem["microbatches"]
            most = sum(layer["mem_forward"] * passes + layer["mem_static"] for layer in problem["layers"])
            problem["mem_limit"] = [draw.randint(most // (2 * devices), most // devices)] * devices
            return
        count = problem["stages"]
        problem["mem_forward"] = [draw.randint(1, 4) for _ in range(count)]
        problem["mem_static"] = [draw.randint(0, 3) for _ in range(count)]
        shape = draw.randrange(4)
        if shape in (1, 2):
            problem["mem_backward_input"] = [-draw.randint(0, held) if shape == 1 else draw.randint(0, 2) for held in problem["mem_forward"]]
        elif shape == 3:
            problem["mem_recomputed_backward_input"] = [draw.randint(0, 3) for _ in range(count)]
            problem["mem_recomputed_backward"] = [draw.randint(0, most) for most in problem["mem_recomputed_backward_input"]]
        chunks = count // devices * (2 if problem["placement"] == "bidirectional" else 1)
        change = max(0, *problem.get("mem_backward_input", [0, 0]), *problem.get("mem_recomputed_backward_input", [0]))
        least = max(problem["mem_static"]) * chunks + (max(problem["mem_forward"]) + change) * chunks
        problem["mem_limit"] = [least + draw.randint(-1 if draw.randrange(4) == 0 else 0, 8) for _ in range(devices)]


def horizon(problem):
    """All ops and transfers one after the other."""
    microbatches = problem["microbatches"]
    if "layers" in problem:
        times = sum(layer["forward_time"] + max([way["backward_time"] for way in layer.get("recompute", [])] +
                                                [layer["backward_input_time"] + layer["backward_weight_time"]]) for layer in problem["layers"])
        sent = problem["stages"] * max(layer["output_bytes"] for layer in problem["layers"])
    else:
        times = sum(sum(problem[f"{name}_times"]) for name in ("forward", "backward_input", "backward_weight"))
        times, sent = times + problem["stages"], sum(problem.get("activation_bytes", []))
    latency = problem.get("p2p_time", 0)
    return microbatches * (times + 2 * sent + 2 * problem["stages"] * (max(latency) if isinstance(latency, list) else latency))


def problems(few, seed=SEED):
    """All of them, or the first two of each kind."""
    for kind, count in COUNTS.items():
        maker = Maker(kind, seed)
        for number in range(2 if few else count):
            yield {**maker.make(number < 2), "name": f"{kind} {number}"}
