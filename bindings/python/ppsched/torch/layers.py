# SPDX-License-Identifier: Apache-2.0
"""Measures each distinct kind of layer of a model in PyTorch, on one device, as a table for ppsched.Model."""
import importlib
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core._library import Error
from .._core.layer_table import LayerTable, MeasuredLayer
from .._core.number_lists import integer
from .._core.shown import shown
from ..readers.layer_table import SIZES
from ..readers.profile import reduced
from .installed import Pytorch, pytorch
from .measuring import _bytes_of, _Clock

Kind = Tuple[Any, Callable[[], Sequence[Any]]]
STATES = 18.0  # bytes of a parameter: weight 2, gradient 4, optimizer 12
ENDS = ("embedding", "head")  # recomputation leaves them out


class _Layer(NamedTuple):
    """A module on a device, with inputs that need gradients where they can."""

    there: Pytorch
    clock: _Clock
    module: Any
    make: Callable[[], Sequence[Any]]

    def inputs(self) -> List[Any]:
        given = [value.to(self.clock.device) if hasattr(value, "to") else value for value in self.make()]
        return [value.detach().requires_grad_() if hasattr(value, "is_floating_point") and value.is_floating_point() else value
                for value in given]

    def outputs(self, found: Any) -> List[Any]:
        """The tensors of what the module returns that have gradients."""
        several = found if isinstance(found, (tuple, list)) else [found]
        return [one for one in several if getattr(one, "requires_grad", False)]

    def forward(self, call: Callable[..., Any]) -> Tuple[float, List[Any], List[Any]]:
        """Milliseconds, inputs and outputs."""
        inputs = self.inputs()
        self.clock.wait()
        start = self.clock.mark()
        outputs = self.outputs(call(*inputs))
        end = self.clock.mark()
        self.clock.wait()
        return self.clock.between(start, end), inputs, outputs

    def backward(self, outputs: List[Any], wanted: List[Any]) -> float:
        """Milliseconds of the gradients of some tensors."""
        if not outputs or not wanted:
            return 0.0
        gradients = [self.there.torch.ones_like(one) for one in outputs]
        self.clock.wait()
        start = self.clock.mark()
        self.there.torch.autograd.grad(outputs, wanted, gradients, allow_unused=True)
        end = self.clock.mark()
        self.clock.wait()
        return self.clock.between(start, end)

    def parameters(self) -> List[Any]:
        return [one for one in self.module.parameters() if one.requires_grad]


def _differentiable(inputs: List[Any]) -> List[Any]:
    return [one for one in inputs if getattr(one, "requires_grad", False)]


def _pass_times(layer: _Layer, call: Callable[..., Any]) -> Tuple[float, float, float]:
    """Milliseconds of a forward, of the gradients of inputs, and of those of inputs and weights, each of a graph of its own."""
    forward, inputs, outputs = layer.forward(call)
    one = layer.backward(outputs, _differentiable(inputs))
    _, inputs, outputs = layer.forward(call)
    return forward, one, layer.backward(outputs, _differentiable(inputs) + layer.parameters())


def _times(layer: _Layer, call: Callable[..., Any], steps: int) -> List[float]:
    _pass_times(layer, call)
    rows = [_pass_times(layer, call) for _ in range(steps)]
    return [1e-3 * reduced(list(column), "median") for column in zip(*rows)]


def _kept(layer: _Layer) -> float:
    """Bytes that the backward needs, without weights."""
    saved: List[Any] = []

    def note(tensor: Any) -> Any:
        saved.append(tensor)
        return tensor

    inputs = layer.inputs()
    with layer.there.torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        layer.module(*inputs)
    return float(_bytes_of([*saved, *inputs], [*layer.module.parameters(), *layer.module.buffers()]))


def _rows(kind: str, layer: _Layer, steps: int, sizes: Dict[str, Any], recomputes: bool, states: float) -> List[MeasuredLayer]:
    forward, one, both = _times(layer, layer.module, steps)
    count = sum(parameter.numel() for parameter in layer.module.parameters())
    one = min(one, both)  # of noise
    rows = [MeasuredLayer(kind, **sizes, forward_time=forward, backward_input_time=one, backward_weight_time=both - one,
                          mem_forward=_kept(layer), mem_static=states * count)]
    if recomputes:
        checkpoint: Any = importlib.import_module("torch.utils.checkpoint").checkpoint
        _, _, again = _times(layer, lambda *inputs: checkpoint(layer.module, *inputs, use_reentrant=False), steps)
        rows.append(MeasuredLayer(kind, "full", **sizes, backward_input_time=one + max(again - both, 0.0), backward_weight_time=both - one,
                                  mem_forward=float(_bytes_of(layer.inputs()))))
    return rows


def measure_layers(layers: Mapping[str, Kind], *, device: Any = "cpu", micro_batch: int = 0, seq: int = 0,
                   sizes: Optional[Mapping[str, int]] = None, steps: int = 10, recompute: bool = True,
                   state_bytes: float = STATES) -> LayerTable:
    """Measures each kind of layer and returns a ppsched.LayerTable, in seconds and bytes; layer_table_text writes it.

    layers: for each kind, by its name in the model such as "decoder", a module and a function that makes its inputs. The module is moved to
    the device. micro_batch, seq and sizes (tp, cp, ep, etp) are what it was measured with, 0: any. steps: how many times each is timed,
    after one of warm-up; the median counts. recompute: also with full recomputation, but for embedding and head. state_bytes: of a
    parameter, with gradient and optimizer.

    The gradients of weights take what a whole backward takes beyond that of the inputs. mem_forward are the tensors that the backward
    needs, without weights. Parts of a group measure together: call it on each rank; one rank's table is that of all.
    Raises Error for sizes that are not known, and for a layer whose result has no gradient.
    """
    unknown = next((name for name in sizes or {} if name not in SIZES), None)
    if unknown is not None:
        raise Error(f"sizes has {shown(unknown)}; it may have {', '.join(SIZES)}")
    if integer("steps", steps) < 1:
        raise Error(f"steps is {steps}; it must be at least 1")
    own = {SIZES[name]: integer(name, value) for name, value in {"micro_batch": micro_batch, "seq": seq, **(sizes or {})}.items()}
    there = pytorch()
    clock = _Clock(there, there.torch.device(device))
    rows: List[MeasuredLayer] = []
    for kind, (module, make) in layers.items():
        layer = _Layer(there, clock, module.to(clock.device), make)
        if not layer.outputs(layer.module(*layer.inputs())):
            raise Error(f"{kind}: its result has no gradient, so there is no backward to measure")
        rows += _rows(kind, layer, steps, own, recompute and kind not in ENDS, state_bytes)
    return LayerTable(rows)
