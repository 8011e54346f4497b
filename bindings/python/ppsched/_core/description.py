# SPDX-License-Identifier: Apache-2.0
"""Descriptions of models: their layers, and the blocks of each layer."""
import ctypes
import json
import weakref
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence, Union

from . import _abi
from ._abi import DescriptionFlag, TransformerFlag
from ._library import Error, call, decoded, lib, new_handle
from .number_lists import integer
from .shown import shown
from .views import Shared, sized
from .words import counted


class Transformer(NamedTuple):
    """A decoder-only transformer with plain or latent attention, and an MLP or experts in each layer. Fields of parts that it
    does not have are 0 or False. For other models use Description.

    expert_layers: for each layer 1 if it has experts, else 0. If it is empty, dense_layers, expert_interval and expert_offset apply.

        transformer = ppsched.Transformer(layers=32, hidden_size=4096, heads=32, vocabulary_size=128256, ffn_size=14336, gated=True)
        print(ppsched.Model(transformer).parameters.total)
    """

    layers: int
    hidden_size: int
    heads: int
    vocabulary_size: int
    ffn_size: int = 0
    key_value_heads: int = 0
    head_size: int = 0
    positions: int = 0
    query_rank: int = 0
    key_value_rank: int = 0
    rope_head_size: int = 0
    value_head_size: int = 0
    experts: int = 0
    experts_per_token: int = 0
    expert_ffn_size: int = 0
    shared_ffn_size: int = 0
    dense_layers: int = 0
    expert_interval: int = 0
    expert_offset: int = 0
    mtp_layers: int = 0
    tied: bool = False
    gated: bool = False
    norm_bias: bool = False
    qkv_bias: bool = False
    projection_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False
    post_norms: bool = False
    router_bias: bool = False
    causal: bool = True
    dropout: bool = False
    no_final_norm: bool = False
    no_latent_norms: bool = False
    expert_layers: Sequence[int] = ()


def _expert_layers(value: object, layers: int) -> Any:
    """The list as a C array, one value per layer; None if it is empty."""
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        raise Error(f"expert_layers must be a list of 0 and 1, not {shown(value)}")
    if not value:
        return None
    if len(value) != layers:
        raise Error(f"expert_layers has {counted(len(value), 'value')}, and the model has {counted(layers, 'layer')}; give one for each")
    return (ctypes.c_uint8 * layers)(*(min(c_count("expert_layers", one), 255) for one in value))


def c_count(name: str, value: object) -> int:
    """A count that fits into a C field; the library refuses counts that are too large."""
    return min(max(integer(name, value), 0), 2**32 - 1) if integer(name, value) >= 0 else 2**32 - 1


def _transformer_record(transformer: Transformer) -> Any:
    record = sized(_abi.Transformer)
    known = {name.lower(): flag for name, flag in TransformerFlag.__members__.items()}
    for name, value in transformer._asdict().items():
        if name in known:
            record.flags |= known[name] if value else 0
        elif name == "expert_layers":
            record.expert_layers = _expert_layers(value, record.layers)
        else:
            setattr(record, name, c_count(name, value))
    return record


class Description(Shared):
    """The layers of a model: the blocks of each kind of layer, and the kind of each layer.

    Description(values): values is a mapping or its JSON text. It may have the library's own form (docs/model.md), such as

        Description({"hidden_size": 4096, "vocabulary_size": 131072,
                     "kinds": {"full": [{"kind": "attention", "heads": 32, "key_value_heads": 8},
                                        {"kind": "mlp", "width": 14336, "gated": True}]},
                     "layers": "32xfull"})

    or the form of Hugging Face's config.json of a known family (ppsched.model_families). values may also be a Transformer.
    Immutable; threads may share it. Errors: ppsched.Error with the field that is wrong.

        llama = {"hidden_size": 4096, "vocabulary_size": 128256, "layers": "32xfull",
                 "kinds": {"full": [{"kind": "attention", "heads": 32}, {"kind": "mlp", "width": 14336, "gated": True}]}}
        print(ppsched.Description(llama).layers)
    """

    def __init__(self, values: Union[str, Mapping[str, Any], Transformer]) -> None:
        if isinstance(values, Transformer):
            record = _transformer_record(values)
            self._handle = new_handle(lib.ppsched_description_from_transformer, ctypes.byref(record), None)
        else:
            text = _text_of(values).encode()
            self._handle = new_handle(lib.ppsched_description_read, text, len(text), None)
        self._finish()

    @classmethod
    def guess(cls, values: Union[str, Mapping[str, Any]]) -> "Description":
        """A first draft of a description, from a config.json of any family. For an unknown family it uses the fields that have
        usual names. warnings has the names of fields that are not understood, and the names of sizes that are missing; such a
        size is 1. If there are no warnings, the description is complete."""
        made, text = cls.__new__(cls), _text_of(values).encode()
        made._handle = new_handle(lib.ppsched_description_guess, text, len(text), None)
        made._finish()
        return made

    def _finish(self) -> None:
        weakref.finalize(self, lib.ppsched_description_release, self._handle)
        self._info = sized(_abi.DescriptionInfo)
        call(lib.ppsched_description_get_info, ctypes.byref(self._info), self._handle)

    @property
    def layers(self) -> int:
        """The number of layers, without towers and MTP layers."""
        return int(self._info.layer_count)

    @property
    def layer_kinds(self) -> List[str]:
        """For each layer the name of its kind."""
        names = [decoded(self._info.kinds[number].contents.name) for number in range(self._info.kind_count)]
        return [names[self._info.layers[number]] for number in range(self._info.layer_count)]

    @property
    def hidden_size(self) -> int:
        """Width of the layers."""
        return int(self._info.hidden_size)

    @property
    def vocabulary_size(self) -> int:
        """Number of tokens of the vocabulary."""
        return int(self._info.vocabulary_size)

    @property
    def positions(self) -> int:
        """Number of learned positions, or 0."""
        return int(self._info.positions)

    @property
    def mtp_layers(self) -> int:
        """Number of layers for the prediction of several tokens (MTP)."""
        return int(self._info.mtp_layers)

    @property
    def sequence_length(self) -> int:
        """The longest sequence for which the model was made, or 0 if unknown."""
        return int(self._info.sequence_length)

    @property
    def tied(self) -> bool:
        """Whether the output uses the embedding's matrix."""
        return bool(self._info.flags & DescriptionFlag.TIED)

    @property
    def causal(self) -> bool:
        """Whether a token attends only to tokens before it."""
        return not self._info.flags & DescriptionFlag.NOT_CAUSAL

    @property
    def warnings(self) -> List[str]:
        """Unknown fields of the text, which are ignored."""
        count = lib.ppsched_description_warning_count(self._handle)
        return [decoded(lib.ppsched_description_warning_at(self._handle, number)) for number in range(count)]

    def json(self) -> str:
        """The description as JSON, in the library's own form."""
        pieces: List[bytes] = []

        def write(_user: Any, data: Any, size: int) -> int:
            pieces.append(ctypes.string_at(data, size))
            return 0

        call(lib.ppsched_description_write, self._handle, _abi.WriteFunction(write), None)
        return b"".join(pieces).decode()

    def values(self) -> Dict[str, object]:
        """The description as a mapping, which can be changed and read again."""
        found = json.loads(self.json())
        assert isinstance(found, dict)
        return found

    def __reduce__(self) -> Any:
        return Description, (self.json(),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Description) and self.json() == other.json()

    def __hash__(self) -> int:
        return hash(self.json())

    def __repr__(self) -> str:
        return f"<ppsched.Description: {counted(self.layers, 'layer')}, hidden size {self.hidden_size}>"


def _text_of(values: object) -> str:
    if isinstance(values, str):
        return values
    if not isinstance(values, Mapping):
        raise Error(f"a description must be a mapping, its JSON text or a Transformer, not {shown(values)}")
    try:
        return json.dumps(dict(values))
    except (TypeError, ValueError, RecursionError) as error:
        raise Error(f"a description must contain only JSON values: {error}") from None


def model_families() -> List[str]:
    """The values of model_type in Hugging Face's config.json that the library reads.

        print("llama" in ppsched.model_families())
    """
    return [decoded(lib.ppsched_model_family_at(number)) for number in range(lib.ppsched_model_family_count())]
