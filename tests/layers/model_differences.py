#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What models cost by ours, beside what was measured and what other estimates say; docs/model.md has these tables.

usage: model_differences.py            prints the tables
       model_differences.py --check    the page has every row of them
"""
import json
import pathlib
import sys

import ppsched
from ppsched import Config, Model, Split, Training, Transformer
from ppsched.command.model_estimate import GIB, even_memory, even_split, links_of, update_time
from ppsched.readers.model_files import model_of
from ppsched.command.model_options import Job, job_of

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parent.parent / "docs" / "model.md"
MIB = 2.0**20
RECOMPUTE = {"full": "full", "attn_only": "selective", "none": "none"}
# Zero Bubble Pipeline Parallelism (arXiv 2401.10241), tables 3 and 9: layers, heads, h, stages, microbatch, ms of F, I and W.
ZERO_BUBBLE = {"1.5B": (22, 24, 2304, 8, 6, 18.522, 18.086, 9.337), "6.2B": (30, 32, 4096, 8, 3, 29.718, 29.444, 19.927),
               "14.6B": (46, 40, 5120, 16, 1, 11.347, 11.248, 8.132), "28.3B": (62, 48, 6144, 32, 1, 10.419, 10.207, 7.715)}


def cases(name):
    for text in (HERE / name).read_text(encoding="utf-8").split("\ncase ")[1:]:
        lines = text.splitlines()
        yield lines[0], dict(line.partition(" ")[::2] for line in lines[1:]), lines


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(row) + " |" for row in rows)]


def share(ours, theirs):
    return f"{100 * (ours / theirs - 1):+.1f} %"


def number(fields, name, default=0):
    value = fields.get(name, "none")
    return default if value == "none" else int(value)


# --- measured ---

def gpt(fields):
    """The runs of Korthikanti et al. as calculon has them, on the library's A100."""
    def of(name):
        return number(fields, name)
    shape = Transformer(of("num_blocks"), of("hidden"), of("attn_heads"), 51200, of("feedforward"), head_size=of("attn_size"),
                        positions=of("seq_size"), tied=True, norm_bias=True, dropout=True, causal=False)
    training = Training(of("seq_size"), of("microbatch_size"), of("tensor_par"), data_parallel=of("data_par"),
                        keeps_scores=True,
                        sequence_parallel=fields["tensor_par_comm_type"] != "ar")
    model = Model(shape, training, ppsched.find_accelerator("a100"))
    return Job(model, of("pipeline_par"), of("batch_size") // of("microbatch_size"), of("pipeline_interleaving"),
               RECOMPUTE[fields["activation_recompute"]])


def step_of(job):
    layers = job.model.layers()
    kinds = [names.index(job.recompute) + 1 if job.recompute in names else 0 for names in layers.kinds]
    stages = job.pp * job.vpp
    config = ppsched.config_from_layers(Config(job.pp, job.microbatches, stages, **links_of(job)), layers,
                                        Split(even_split(job.model, stages), kinds))
    timeline = ppsched.generate("1f1b" if job.vpp == 1 else "interleaved_1f1b", config).evaluate()
    return timeline.metrics.makespan + sum(update_time(job.model, even_memory(job)))


def published_steps():
    rows = []
    for name, fields, _ in cases("calculon.txt"):
        if "published_iteration_time" in fields:
            ours, theirs = step_of(gpt(fields)), float(fields["published_iteration_time"])
            rows.append([name.removeprefix("tab5-"), f"{theirs:.2f} s", f"{ours:.2f} s", share(ours, theirs),
                         share(float(fields["total_time"]), theirs)])
    return table(["run", "measured step time", "our step time", "our error", "error of calculon"], rows)


def published_memory():
    rows = []
    for name, fields, _ in cases("calculon.txt"):
        if "published_activations_gib" in fields:
            memory = even_memory(gpt(fields))[0]
            states, kept = (memory.total - memory.activations) / GIB, memory.activations / GIB
            theirs = float(fields["published_parameters_and_optimizer_gib"]), float(fields["published_activations_gib"])
            rows.append([name.removeprefix("fig1-"), f"{theirs[0]:.1f}", f"{states:.1f}", share(states, theirs[0]),
                         f"{theirs[1]:.1f}",
                         f"{kept:.1f}", share(kept, theirs[1])])
    return table(["run", "weights, gradients and optimizer: published GiB", "our GiB", "our error", "activations: published GiB", "our GiB", "our error"], rows)


def zero_bubble():
    rows = []
    for name, (layers, heads, hidden, stages, batch, *measured) in ZERO_BUBBLE.items():
        shape = Transformer(layers, hidden, heads, 51200, 4 * hidden, tied=True, norm_bias=True, dropout=True, causal=False)
        model = Model(shape, Training(1024, batch, keeps_scores=True), ppsched.find_accelerator("a100"))
        ours = [1000 * (layers + 2) / stages * model.pass_cost("dense", kind).time for kind in ("forward", "input", "weight")]
        words = [" : ".join(f"{value / times[0]:.2f}" for value in times) for times in (measured, ours)]
        rows.append([name, *words, f"{sum(measured):.1f} ms", f"{sum(ours):.1f} ms", share(sum(ours), sum(measured)),
                     *(share(a, b) for a, b in zip(ours, measured))])
    return table(["model", "measured F : I : W", "our F : I : W", "measured F + I + W", "our F + I + W", "error of F + I + W", "error of F",
                  "error of I", "error of W"], rows)


# --- other estimates ---

def megatron():
    rows = []
    for name, fields, _ in cases("megatron_memory.txt"):
        given = {key: int(value) if value.isdigit() else value for key, value in fields.items()
                 if key and not key.startswith(("printed", "formula", "weight_and_optimizer", "activation_bytes", "total_mib",
                                                "done"))}
        found = model_of(name, given)
        kept = {"sequence_parallel": False, **found.options}
        job = job_of(found, kept, ppsched.find_accelerator("h100"))
        memory = even_memory(job)[0]
        states, theirs = memory.total - memory.activations, float(fields["weight_and_optimizer_bytes"])
        rows.append([name, f"{theirs / GIB:.1f}", share(states, theirs), f"{float(fields['activation_bytes']) / GIB:.1f}",
                     f"{memory.activations / GIB:.1f}", share(memory.activations, float(fields["activation_bytes"]))])
    return table(["case", "weights and optimizer: Megatron-LM GiB", "our difference, device 0", "activations: Megatron-LM GiB", "our GiB",
                  "our difference"], rows)


def llm_analysis():
    rows = []
    for name, fields, _ in cases("llm_analysis.txt"):
        of = {key: number(fields, key) for key in ("num_layers", "hidden_dim", "n_head", "vocab_size", "num_key_value_heads",
                                                   "ffn_embed_dim",
                                                   "moe_num_experts", "moe_top_k", "max_seq_len", "micro_batch_size", "tp", "dp", "ep", "sp")}
        is_flash, is_gated, has_experts = fields["flash_attn"] == "yes", fields.get("mlp_gated_linear_units") == "yes", of["moe_num_experts"] > 1
        width = of["ffn_embed_dim"] or 4 * of["hidden_dim"]
        shape = Transformer(of["num_layers"], of["hidden_dim"], of["n_head"], of["vocab_size"], 0 if has_experts else width,
                            of["num_key_value_heads"], gated=is_gated, causal=False, dropout=not is_flash, norm_bias=not is_gated,
                            experts=of["moe_num_experts"] if has_experts else 0, experts_per_token=of["moe_top_k"] if has_experts else 0,
                            expert_ffn_size=width if has_experts else 0)
        training = Training(of["max_seq_len"], of["micro_batch_size"], of["tp"], expert_parallel=of["ep"],
                            data_parallel=of["dp"],
                            expert_tensor_parallel=1 if has_experts else 0, sequence_parallel=of["sp"] > 1, keeps_scores=not is_flash)
        model = Model(shape, training, ppsched.find_accelerator(fields["gpu"].partition("-")[0]))
        kind = "expert" if has_experts else "dense"
        memory, time = model.memory(kind), model.pass_cost(kind, "forward").time
        ours = memory.full if fields["activation_recomputation"] == "FULL" else memory.activations
        kept, theirs = float(fields["layer_activation_total"]), float(fields["layer_forward_time"])
        rows.append([name, f"{1000 * theirs:.2f}", f"{1000 * time:.2f}", share(time, theirs), f"{kept / MIB:.0f}",
                     f"{ours / MIB:.0f}",
                     share(ours, kept)])
    return table(["case", "forward of a layer: llm-analysis ms", "our ms", "difference",
                  "activations of a layer: llm-analysis MiB", "our MiB",
                  "difference"], rows)


PRIMUS_MODELS = {"llama2-7b": "llama-2-7b", "llama3-70b": "llama-3.1-70b", "qwen3-235b": "qwen3-235b-a22b",
                 "deepseek-v3": "deepseek-v3"}


def primus():
    """Of a layer: what it keeps of a microbatch."""
    rows, seen = [], set()
    for _, fields, lines in cases("primus_memory.txt"):
        name = PRIMUS_MODELS.get(fields["model"])
        if name is None or fields["result"] != "ok":
            continue
        found = model_of(name, json.loads((HERE / "models" / f"{name}.json").read_text(encoding="utf-8")))
        has_experts = any("moe" in row.name for row in Model(found.description).rows)
        size = number(fields, "ep", 1)
        training = Training(number(fields, "seq_length"), number(fields, "micro_batch_size"), number(fields, "tp", 1),
                            expert_parallel=size if has_experts else 1, data_parallel=size, expert_tensor_parallel=1,
                            sequence_parallel=number(fields, "tp", 1) > 1)
        model = Model(found.description, training)
        for kind, row, word in (("dense", "decoder", "dense_transformer_layer"), ("expert", "moe_decoder", "moe_transformer_layer")):
            line = next((line for line in lines if line.startswith(word)), None)
            ours = model.memory(row).activations if row in [row.name for row in model.rows] else 0
            key = (fields["model"], kind, fields["micro_batch_size"])
            if line is not None and ours and key not in seen:
                seen.add(key)
                theirs = float(line.split()[-1])
                rows.append([f"{fields['model']}, {kind}", f"{theirs / MIB:.0f}", f"{ours / MIB:.0f}", share(ours, theirs)])
    return table(["layer", "activations: Primus MiB", "our MiB", "difference"], rows)


TABLES = {"steps": published_steps, "memory": published_memory, "zero bubble": zero_bubble, "Megatron-LM": megatron,
          "llm-analysis": llm_analysis, "Primus": primus}


def main():
    page = PAGE.read_text(encoding="utf-8") if "--check" in sys.argv else ""
    missing = 0
    for name, made in TABLES.items():
        lines = made()
        if page:
            for line in lines:
                if line not in page:
                    missing += 1
                    print(f"docs/model.md has no row {line}")
        else:
            print(f"\n{name}\n\n" + "\n".join(lines))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
