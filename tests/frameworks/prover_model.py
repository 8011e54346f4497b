# SPDX-License-Identifier: Apache-2.0
"""Problems of prover_problems.py as models of OR-Tools' CP-SAT, written from docs/time.md, docs/memory.md and docs/layers.md alone.

usage: prover_model.py SECONDS WORKERS <PROBLEMS >RESULTS      JSON, a line each; a result has status, value, bound and seconds
"""
import json
import sys

from ortools.sat.python import cp_model

STATUS = {cp_model.OPTIMAL: "optimal", cp_model.INFEASIBLE: "infeasible", cp_model.FEASIBLE: "feasible", cp_model.UNKNOWN: "unknown"}


def device_of(problem, stage, copy=0):
    devices, placement = problem["devices"], problem["placement"]
    if isinstance(placement, list):
        return placement[stage]
    turn, place = divmod(stage, devices)
    if copy == 1 or placement == "v" and turn % 2 == 1:
        return devices - 1 - place
    return place


def copies_of(problem):
    """The microbatches of each copy of the model."""
    count = problem["microbatches"]
    return [count - count // 2, count // 2] if problem["placement"] == "bidirectional" else [count]


class Stages:
    """What the ops of each stage take, send and hold: numbers, or variables where layers are split."""

    def __init__(self, model, problem):
        self.model, self.problem, self.count = model, problem, problem["stages"]
        if "layers" in problem:
            self.split_layers(problem["layers"])
        else:
            self.take(problem)

    def take(self, problem):
        self.forward, self.inputs, self.weights = (problem[f"{name}_times"] for name in ("forward", "backward_input", "backward_weight"))
        self.backward = problem.get("backward_times") or [i + w for i, w in zip(self.inputs, self.weights)]
        self.sent = problem.get("activation_bytes", [0] * self.count)
        self.held = problem["mem_forward"]
        self.change = problem.get("mem_backward_input", [0] * self.count)
        self.released, self.taken = ([max(0, sign * change) for change in self.change] for sign in (-1, 1))
        self.fixed = problem.get("mem_static", [0] * self.count)
        self.again = problem.get("mem_recomputed_backward_input", [0] * self.count)
        self.again_largest = problem.get("mem_recomputed_backward", self.again)
        # Else an I with its W behind it does what a B does, and earlier.
        self.may_be_whole = [self.backward[s] < self.inputs[s] + self.weights[s] or self.again_largest[s] < self.again[s]
                             for s in range(self.count)]

    def sums(self, terms, name):
        """A variable a stage that equals the sum of its terms, (number, boolean) each."""
        most = [sum(number for number, _ in terms[s]) for s in range(self.count)]
        variables = [self.model.new_int_var(0, most[s], f"{name}{s}") for s in range(self.count)]
        for s in range(self.count):
            self.model.add(variables[s] == sum(number * boolean for number, boolean in terms[s]))
        return variables

    def split_layers(self, layers):
        model, stages = self.model, range(self.count)
        inside = [[model.new_bool_var(f"layer {n} in {s}") for s in stages] for n in range(len(layers))]
        number = [sum(s * inside[n][s] for s in stages) for n in range(len(layers))]
        for n, layer in enumerate(layers):
            model.add_exactly_one(inside[n])
            if n > 0:
                model.add(number[n - 1] <= number[n])
            if layer.get("with_next"):
                model.add(number[n] == number[n + 1])
            if "place" in layer:
                model.add(inside[n][0 if layer["place"] == "first" else self.count - 1] == 1)
        for s in stages:
            if not (self.problem.get("empty_stages") and 0 < s < self.count - 1):
                model.add_at_least_one(inside[n][s] for n in range(len(layers)))
        of = {key: self.sums([[(layer[key], inside[n][s]) for n, layer in enumerate(layers)] for s in stages], key)
              for key in ("forward_time", "backward_input_time", "backward_weight_time", "mem_static")}
        self.forward, self.weights, self.fixed = of["forward_time"], of["backward_weight_time"], of["mem_static"]
        self.recompute(layers, inside, of["backward_input_time"])
        self.sent = []
        for s in stages[:-1]:
            before = sum(inside[n][k] for n in range(len(layers)) for k in range(s + 1))
            self.sent.append(model.new_int_var(0, max(layer["output_bytes"] for layer in layers), f"sent{s}"))
            model.add_element(before, [0] + [layer["output_bytes"] for layer in layers], self.sent[s])
        self.released, self.taken = (self.sums([[(max(0, sign * layer["mem_backward_input"]), inside[n][s]) for n, layer in enumerate(layers)]
                                                for s in stages], "change") for sign in (-1, 1))
        self.change, self.may_be_whole = [0] * self.count, [False] * self.count

    def recompute(self, layers, inside, inputs):
        """Of each layer one way at most to keep less of it. An I brings all back until W ends, a B one layer after the other."""
        model, held, again, longer = self.model, *([[] for _ in range(self.count)] for _ in range(3))
        self.again_largest = [model.new_int_var(0, max(layer["mem_forward"] for layer in layers), f"largest{s}") for s in range(self.count)]
        for n, layer in enumerate(layers):
            ways = [model.new_bool_var(f"layer {n} by {way['name']}") for way in layer.get("recompute", [])]
            model.add_at_most_one(ways)
            for s in range(self.count):
                held[s].append((layer["mem_forward"], inside[n][s]))
                for way, chosen in zip(layer.get("recompute", []), ways):
                    here = model.new_bool_var("")
                    model.add_bool_and(inside[n][s], chosen).only_enforce_if(here)
                    model.add_bool_or(~inside[n][s], ~chosen, here)
                    saved = layer["mem_forward"] - way["mem_forward"]
                    again[s].append((saved, here))
                    longer[s].append((way["backward_time"] - layer["backward_input_time"] - layer["backward_weight_time"], here))
                    model.add(self.again_largest[s] >= saved).only_enforce_if(here)
        self.again, longer, whole = self.sums(again, "again"), self.sums(longer, "longer"), self.sums(held, "held")
        self.inputs = [inputs[s] + longer[s] for s in range(self.count)]
        self.backward = [self.inputs[s] + self.weights[s] for s in range(self.count)]
        has_ways = any("recompute" in layer for layer in layers)
        self.held = [whole[s] - self.again[s] for s in range(self.count)] if has_ways else whole

    def delay(self, lower, sender, receiver):
        """Of a value between stage `lower` and the next one: an activation, or the gradient of it."""
        if sender == receiver:
            return 0
        latency = self.problem.get("p2p_time", 0)
        if isinstance(latency, list):
            latency = latency[sender * self.problem["devices"] + receiver]
        return latency + (self.sent[lower] if "p2p_bandwidth" in self.problem else 0)  # a byte takes a unit of time, or none


# --- any order ---


class Pass:
    """All ops of one microbatch on one stage. Microbatches are alike, so that on each stage they may run in the order of their numbers,
    all of a kind."""

    def __init__(self, model, stages, stage, horizon):
        self.model, self.split_allowed = model, stages.problem.get("split_backward", True)
        self.is_whole = model.new_constant(0 if self.split_allowed else 1)
        if self.split_allowed and stages.may_be_whole[stage]:
            self.is_whole = model.new_bool_var("whole")
        self.f_start, self.b_start, self.w_start, self.f_end, self.b_end, self.w_end = (
            model.new_int_var(0, horizon, name) for name in ("F", "B or I", "W", "F ends", "B or I ends", "W ends"))
        self.forward = model.new_interval_var(self.f_start, stages.forward[stage], self.f_end, "F")
        size = model.new_int_var(0, horizon, "")
        model.add(size == stages.backward[stage]).only_enforce_if(self.is_whole)
        model.add(size == stages.inputs[stage]).only_enforce_if(~self.is_whole)
        self.backward = model.new_interval_var(self.b_start, size, self.b_end, "B or I")
        self.weights = model.new_optional_interval_var(self.w_start, stages.weights[stage], self.w_end, ~self.is_whole, "W")
        model.add(self.b_start >= self.f_end)
        model.add(self.w_start >= self.b_end).only_enforce_if(~self.is_whole)
        self.released = model.new_int_var(0, horizon, "released")
        model.add(self.released == self.w_end).only_enforce_if(~self.is_whole)
        model.add(self.released == self.b_end).only_enforce_if(self.is_whole)

    def follows(self, before):
        """The same ops of the microbatch before come first."""
        self.model.add(self.f_start >= before.f_end)
        self.model.add(self.b_start >= before.b_end)
        self.model.add(self.w_start >= before.w_end).only_enforce_if(~self.is_whole, ~before.is_whole)

    def memory(self, stages, stage, horizon):
        """(interval, how much) that it holds."""
        change = stages.change[stage]
        parts = [(self.f_start, self.b_end, max(0, -change), 1), (self.b_start, self.released, max(0, change), 1),
                 (self.f_start, self.released, stages.held[stage] - max(0, -change) if change else stages.held[stage], 1),
                 (self.b_start, self.released, stages.again[stage], ~self.is_whole),
                 (self.b_start, self.released, stages.again_largest[stage], self.is_whole)]
        for start, end, size, is_there in parts:
            if not (isinstance(size, int) and size == 0):
                yield self.model.new_optional_interval_var(start, self.model.new_int_var(0, horizon, ""), end, is_there, ""), size


def order_model(problem):
    model = cp_model.CpModel()
    stages = Stages(model, problem)
    horizon = problem["horizon"]
    passes, on_device, memory = {}, {}, {}
    for copy, count in enumerate(copies_of(problem)):
        for stage in range(problem["stages"]):
            device = device_of(problem, stage, copy)
            for m in range(count):
                one = passes[copy, stage, m] = Pass(model, stages, stage, horizon)
                on_device.setdefault(device, []).append(one)
                memory.setdefault(device, []).extend(one.memory(stages, stage, horizon))
                if m > 0:
                    one.follows(passes[copy, stage, m - 1])
                if stage > 0:
                    before = passes[copy, stage - 1, m]
                    other = device_of(problem, stage - 1, copy)
                    model.add(one.f_start >= before.f_end + stages.delay(stage - 1, other, device))
                    model.add(before.b_start >= one.b_end + stages.delay(stage - 1, device, other))
    for device, group in on_device.items():
        model.add_no_overlap([interval for one in group for interval in (one.forward, one.backward, one.weights)])
        if "mem_limit" in problem:
            fixed = sum(stages.fixed[stage] for copy in range(len(copies_of(problem))) for stage in range(problem["stages"])
                        if device_of(problem, stage, copy) == device)
            intervals, sizes = zip(*memory[device])
            room = model.new_int_var(0, problem["mem_limit"][device], "room")
            model.add(room == problem["mem_limit"][device] - fixed)
            model.add_cumulative(intervals, sizes, room)
    last = model.new_int_var(0, horizon, "last")
    for device, group in on_device.items():
        begin = 0
        if problem.get("objective") == "span":
            begin = model.new_int_var(0, horizon, "begin")
            model.add_min_equality(begin, [one.f_start for one in group])
        for one in group:
            model.add(last >= one.released - begin)
    model.minimize(last)
    return model


# --- a given order ---


def fixed_order_model(problem):
    """Starts are those of the order: an op follows that before it on its device, and what it reads."""
    model = cp_model.CpModel()
    stages = Stages(model, problem)
    horizon = problem["horizon"]
    ends, devices, last = {}, {}, model.new_int_var(0, horizon, "last")
    takes = {"F": stages.forward, "B": stages.backward, "I": stages.inputs, "W": stages.weights}
    for device, queue in enumerate(problem["queues"]):
        for unit in queue:
            end = model.new_int_var(0, horizon, "")
            for stage, kind, m in unit:
                ends[kind if kind in "FW" else "B", stage, m] = end
                devices["B" if kind == "B" else kind, stage, m] = device
    for device, queue in enumerate(problem["queues"]):
        free = 0
        for unit in queue:
            ((stage, kind, m), *_) = unit
            end = ends[kind if kind in "FW" else "B", stage, m]
            start = end - sum(takes[kind][stage] for stage, kind, _ in unit)
            model.add(start >= free)
            for stage, kind, m in unit:
                for other, needed in needs(problem, stage, kind):
                    sender = owner(devices, other, needed, m)
                    wait = stages.delay(min(stage, other), sender, device) if other != stage else 0
                    model.add(start >= ends[needed, other, m] + wait)
            free = end
        model.add(last >= free)
        hold_memory(model, stages, problem, device, queue)
    model.minimize(last)
    return model


def needs(problem, stage, kind):
    """(stage, op) whose ends an op waits for; "B" stands for an I too."""
    if kind == "F":
        return [(stage - 1, "F")] if stage > 0 else []
    if kind == "W":
        return [(stage, "B")]
    return [(stage, "F")] + ([(stage + 1, "B")] if stage + 1 < problem["stages"] else [])


def owner(devices, stage, kind, m):
    return devices[next(key for key in ((kind, stage, m), ("I", stage, m)) if key in devices)]


def hold_memory(model, stages, problem, device, queue):
    """What a device holds while each of its units runs: within its limit."""
    if "mem_limit" not in problem:
        return
    copies = {(stage, 2 * m // problem["microbatches"] if problem["placement"] == "bidirectional" else 0)
              for unit in queue for stage, _, m in unit}
    level = sum(stages.fixed[stage] for stage, _ in copies)
    for unit in queue:
        during, after = level, level
        for stage, kind, _ in unit:
            held, again, largest = stages.held[stage], stages.again[stage], stages.again_largest[stage]
            released, taken = stages.released[stage], stages.taken[stage]
            # Not +=, which changes the expression for all that share it.
            during = during + {"F": held, "I": again + taken, "B": largest + taken, "W": 0}[kind]
            after = after + {"F": held, "I": again + taken - released, "B": -held, "W": released - held - again - taken}[kind]
        model.add(during <= problem["mem_limit"][device])
        level = after


def solve(problem, seconds, workers):
    model = fixed_order_model(problem) if "queues" in problem else order_model(problem)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds, solver.parameters.num_workers, solver.parameters.random_seed = seconds, workers, 1
    status = solver.solve(model)
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return {"status": STATUS[status], "value": round(solver.objective_value) if found else None, "bound": solver.best_objective_bound,
            "seconds": solver.wall_time}


def main():
    for line in sys.stdin:
        print(json.dumps(solve(json.loads(line), float(sys.argv[1]), int(sys.argv[2]))), flush=True)


if __name__ == "__main__":
    main()
