# SPDX-License-Identifier: Apache-2.0
"""Options that go over a file of settings: a line for each that differs, in answers for people."""
import argparse
from typing import Any, Dict, Mapping, Optional

from .._core._library import Error
from .printing import tell

SPLITS = ("split", "layout", "account_for_embedding", "account_for_loss", "first_decoders", "last_decoders")


def _text(value: Any) -> str:
    """Words in one order, however they were divided."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return " ".join(sorted({name for word in value for name in str(word).split(",") if name})) or "none"
    return str(value)


def _word(name: str) -> str:
    return name.replace("_kind", "").replace("_", "-")


def tell_over(arguments: argparse.Namespace, name: str, has: str) -> None:
    """The line of one option. Only price has such lines."""
    if arguments.command == "price" and not arguments.json:
        tell(arguments.command, f"--{_word(name)} takes precedence over the file, which has {has}")


def tell_if_other(arguments: argparse.Namespace, name: str, given: Any, has: Any) -> None:
    """The line where both are known and differ."""
    if given is not None and has is not None and _text(given) != _text(has):
        tell_over(arguments, name, _text(has))


def _sharding(options: Mapping[str, Any]) -> Optional[int]:
    zero = options.get("zero")
    if zero is not None:
        return int(zero[0]) if isinstance(zero, list) else int(zero)
    return None if options.get("distributed_optimizer") is None else int(options["distributed_optimizer"])


def tell_over_training(arguments: argparse.Namespace, of_file: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Of the options of a model's training. Those that price takes itself are told by over_step."""
    for name in given:
        if name not in ("zero", "use_distributed_optimizer", "sizes", "pair_windows", "recompute_kind"):
            tell_if_other(arguments, name, given[name], of_file.get(name))
    if given["global_batch"] is not None and of_file.get("num_microbatches") is not None:
        tell_over(arguments, "global_batch", f"num_microbatches {of_file['num_microbatches']}")
    tell_if_other(arguments, "zero", given["zero"], _sharding(of_file))
    if given["use_distributed_optimizer"] and given["zero"] is None and _sharding(of_file) not in (None, 1):
        tell_over(arguments, "use_distributed_optimizer", f"zero {_sharding(of_file)}")
    has = {word.partition("=")[0]: word for word in of_file.get("sizes") or ()}
    for word in given["sizes"] or ():
        tell_if_other(arguments, "bytes", word, has.get(word.partition("=")[0]))


def tell_over_devices(arguments: argparse.Namespace, options: Mapping[str, Any]) -> None:
    """Where options make another number of devices than the file has."""
    name = next((name for name in ("dp", "tp", "pp", "cp") if getattr(arguments, name) is not None), None)
    if name is None or options.get("world_size") is None or options.get("dp") is None:
        return
    devices = 1
    for factor in ("dp", "tp", "pp", "cp"):
        value = options.get(factor) or 1
        devices *= value[0] if isinstance(value, list) else value
    if devices != options["world_size"]:
        tell_over(arguments, name, f"world_size {options['world_size']}")


def _over_split(arguments: argparse.Namespace, options: Dict[str, Any]) -> None:
    """How layers are split is said in one way: that of the options, if they say it."""
    given = [name for name in SPLITS if getattr(arguments, name, None) is not None]
    whole = next((name for name in given if name in ("split", "layout")), None)
    if whole is not None and len(given) > 1:
        raise Error(f"--{whole} says the whole split; leave --{_word(next(name for name in given if name != whole))} out")
    others = [name for name in SPLITS if given and name not in given and options.get(name) and (whole is not None or name == "layout")]
    if others:
        tell_over(arguments, given[0], ", ".join(_word(name) + ("" if options[name] is True else f" {options[name]}") for name in others))
    for name in others:
        options.pop(name)


def over_step(arguments: argparse.Namespace, of_file: Mapping[str, Any], names: Mapping[str, Any]) -> Dict[str, Any]:
    """The options of price over those of the file. names: of these options, as parsed."""
    options = dict(of_file)
    for name, given in names.items():
        tell_if_other(arguments, name, given, of_file.get(name))
        if given is not None:
            options[name] = given
    _over_split(arguments, options)
    return options
