# SPDX-License-Identifier: Apache-2.0
"""torchtitan's own models of all families and flavours, on the meta device: of each the parameters, and for each layer the heads, the window
and the experts of a token. Modules named fla, whose kernels need a GPU, are empty here.

usage: torchtitan_flavours.py FAMILY..."""
import importlib
import importlib.abc
import importlib.machinery
import inspect
import json
import sys
import types
import warnings

warnings.filterwarnings("ignore")
import torch  # noqa: E402

GIVEN = {"attn_backend": "flex", "moe_comm_backend": "standard"}


class Empty(types.ModuleType):
    """Any name of it is an empty class."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class Kernels(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.split(".")[0] == "fla" else None

    def create_module(self, spec):
        return Empty(spec.name)

    def exec_module(self, module):
        pass


def layer_facts(layer):
    """Heads and window of its attention, 0 where it has another mixer; experts of a token, 0 where it has none."""
    attention = getattr(layer, "attention", None)
    experts = getattr(layer, "moe", None)
    window = getattr(attention, "sliding_window_size", None) or 0
    return [getattr(attention, "n_heads", 0), window, experts.router.top_k if experts is not None else 0]


def flavour_facts(make):
    config = make(**{name: value for name, value in GIVEN.items() if name in inspect.signature(make).parameters})
    with torch.device("meta"):
        model = config.build()
    tower = sum(p.numel() for name, p in model.named_parameters() if name.startswith("vision_"))
    return {"total": sum(p.numel() for p in model.parameters()) - tower, "tower": tower, "layers": [layer_facts(layer) for layer in config.layers],
            "vocabulary": config.vocab_size}


def family_facts(family):
    module = importlib.import_module(f"torchtitan.models.{family}")
    tables = [value for name, value in vars(module).items() if name.endswith("_configs") and isinstance(value, dict)]
    return {flavour: flavour_facts(make) for flavour, make in tables[0].items()}


def main():
    import torchtitan.models
    sys.meta_path.append(Kernels())
    print(json.dumps({"families": sorted(torchtitan.models._supported_models), "facts": {family: family_facts(family) for family in sys.argv[1:]}}))


if __name__ == "__main__":
    main()
