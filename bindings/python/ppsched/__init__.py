# SPDX-License-Identifier: Apache-2.0
"""Pipeline-parallel schedules as data: generate, check, evaluate, export.

    import ppsched
    config = ppsched.Config(devices=4, microbatches=8, forward_times=1, backward_times=2)
    timeline = ppsched.generate("1f1b", config).evaluate()
    print(timeline.metrics.bubble.of_total, timeline.export("text"))
"""
from ._start import IS_COMMAND, Start

TYPE_CHECKING = False  # typing takes milliseconds
with Start():
    if TYPE_CHECKING or not IS_COMMAND:  # the command imports only what it needs
        from ._names import *
        from ._names import __all__, __dir__, __version__
    else:
        def __getattr__(name: str) -> object:
            import importlib  # it takes long to load, and so do the names
            return getattr(importlib.import_module("._names", __name__), name)
