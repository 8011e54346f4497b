# SPDX-License-Identifier: Apache-2.0
"""Keys of config files for a model, its training and its device, for the commands model and pick."""
import argparse
from typing import Any, Dict

from .._core._library import Error
from .._core.price import RANK_ORDERS
from .._core.shown import shown
from ..readers.file_kinds import is_megatron
from ..readers.json_and_yaml import read_values
from ..readers.model_files import read_mapping_of
from .over_file import tell_if_other

# Keys that are options of the command, and their types. The command line takes precedence.
OPTIONS: Dict[str, Any] = {"model": str, "device": str, "gpus": int, "step_time": (str, int, float), "tokens_per_second": (int, float),
                           "layer_table": str, "pod_nodes": int, "pod_bandwidth": str, "rank_order": (str, list)}
OF_PRICE: Dict[str, Any] = {"reduce_every": int}


def _rank_order(arguments: argparse.Namespace, value: Any) -> Any:
    """For the search of layouts a list, else one word."""
    words = value if isinstance(value, list) else [value]
    for word in words or [None]:
        if word not in RANK_ORDERS:
            raise Error(f"{arguments.config}: rank_order is {shown(word)}; it must be {' or '.join(RANK_ORDERS)}")
    if arguments.command == "pick":
        return words
    if len(words) > 1:
        raise Error(f"{arguments.config}: rank_order has {len(words)} orders; {arguments.command} takes one")
    return words[0]


def _set_options(arguments: argparse.Namespace, config: Dict[str, Any]) -> None:
    for name, kinds in {**OPTIONS, **(OF_PRICE if arguments.command == "price" else {})}.items():
        if name not in config or not hasattr(arguments, name):
            continue
        value = config.pop(name)
        if name == "rank_order":
            value = _rank_order(arguments, value)
        elif isinstance(value, bool) or not isinstance(value, kinds):
            raise Error(f"{arguments.config}: {name} must be {'a text' if kinds is str else 'a number'}, not {shown(value)}")
        tell_if_other(arguments, name, getattr(arguments, name), value)
        if getattr(arguments, name) is None:
            setattr(arguments, name, str(value) if name == "step_time" else value)


def take_model_config(arguments: argparse.Namespace) -> None:
    """Reads the config file of the command model. A file that describes a model may have the model's name under "model"."""
    config = dict(read_mapping_of(arguments.config)) if arguments.config is not None else {}
    if is_megatron(config) and arguments.model is None:
        device = config.pop("device", None)
        _set_options(arguments, {} if device is None else {"device": device})
    else:
        _set_options(arguments, config)
    arguments.job, arguments.job_keys = config, ()


def take_pick_config(arguments: argparse.Namespace) -> None:
    """Reads the keys for the job from the config file of pick, if there is a model. Other keys are read as without a model."""
    arguments.job, arguments.job_keys, arguments.config_values = {}, (), None
    if arguments.config is None:
        return
    config = arguments.config_values = read_values(arguments.config)
    if arguments.model is None and "model" not in config:
        return
    from ..readers.megatron_names import plain  # takes long to load
    from ..readers.megatron_training import SHORT, TAKEN, TRAINING  # takes long to load
    config = {str(name): value for name, value in config.items()}
    of_job = [name for name in config if name.replace("-", "_") in (*TRAINING, *SHORT, *TAKEN)]
    arguments.job = dict(plain(arguments.config, {name: config[name] for name in of_job}))
    arguments.job_keys = (*OPTIONS, *TRAINING, *SHORT, *TAKEN, *of_job, *(name for name in config if name.replace("-", "_") == "use_tp_pp_dp_mapping"))
    _set_options(arguments, config)
