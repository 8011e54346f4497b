# SPDX-License-Identifier: Apache-2.0
"""What ppsched.torch.measure_layers tells of layers whose memory and work are known. Prints JSON: the rows of its table, and how many
times each layer ran.

usage: layers.py WIDTH TOKENS STEPS
"""
import json
import sys

import ppsched
import ppsched.torch
import torch


class Counted(torch.nn.Module):
    """An MLP that counts its forwards."""

    def __init__(self, width):
        super().__init__()
        self.runs = 0
        self.body = torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.ReLU(), torch.nn.Linear(4 * width, width))

    def forward(self, value):
        self.runs += 1
        return self.body(value)


def main():
    width, tokens, steps = (int(word) for word in sys.argv[1:])
    torch.set_num_threads(1)
    mlp, embedding = Counted(width), torch.nn.Embedding(100, width)
    layers = {"embedding": (embedding, lambda: (torch.zeros(tokens, dtype=torch.long),)), "decoder": (mlp, lambda: (torch.ones(tokens, width),))}
    table = ppsched.torch.measure_layers(layers, micro_batch=1, seq=tokens, sizes={"tp": 2}, steps=steps)
    errors = []
    for words in ({"sizes": {"dp": 2}}, {"steps": 0}):
        try:
            ppsched.torch.measure_layers(layers, **words)
        except ppsched.Error as error:
            errors.append(str(error))
    try:
        ppsched.torch.measure_layers({"decoder": (torch.nn.Identity(), lambda: (torch.zeros(2, dtype=torch.long),))})
    except ppsched.Error as error:
        errors.append(str(error))
    again = ppsched.layer_table_of(ppsched.layer_table_text(table))
    print(json.dumps({"rows": [row._asdict() for row in table.layers], "same": again.layers == list(table.layers), "runs": mlp.runs,
                      "errors": errors, "parameters": sum(one.numel() for one in mlp.parameters())}))


main()
