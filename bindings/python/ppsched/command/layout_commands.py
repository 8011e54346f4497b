# SPDX-License-Identifier: Apache-2.0
"""The command layout, which reads and makes layouts: which layers each stage has."""
import argparse
import contextlib
import json
import os
import re
from typing import Any, Dict, Iterator, List, Optional

from .._core._library import Error, Refused
from .._core.layout import TITAN_SCHEDULES, Layout
from .._core.words import counted
from .answer_file import take_ending
from .commands import COMMANDS, Commands
from .number_options import whole
from .printing import print_text
from .usage import OneFile, UsageError

# Flags of Megatron-LM's launcher that take a number, and the library's names for them.
NUMBERS = {"num_layers_per_virtual_pipeline_stage": "layers_per_chunk", "num_virtual_stages_per_pipeline_rank": "chunks",
           "decoder_first_pipeline_num_layers": "first_decoders", "decoder_last_pipeline_num_layers": "last_decoders"}
SWITCHES = {"account_for_embedding_in_pipeline_split": "account_for_embedding",
            "account_for_loss_in_pipeline_split": "account_for_loss"}
OF_TITAN = ("stages", "layers_per_stage", "schedule", "first_stage_less_layers", "last_stage_less_layers", "rotary_emb")
OF_STRING = ("vp", "mtp_num_layers")


def add_commands(commands: Commands) -> None:
    parser = commands.add_parser(
        "layout", help=COMMANDS["layout"].summary, allow_abbrev=False,
        description="Shows which layers each stage has. Reads a layout string of Megatron-LM, or splits a model as Megatron-LM's launcher does "
                    "with its flags, or as torchtitan does.")
    parser.add_argument("layout", nargs="?", metavar="STRING", help="a layout string, such as Et*3|(tt|)*29,m|L. E: embedding, t: decoder, m: MTP layer, L: head")
    parser.add_argument("--pp", "--pipeline-model-parallel-size", type=whole, metavar="P", dest="pp", help="number of devices of a pipeline")
    parser.add_argument("--num-layers", type=whole, metavar="L", help="number of decoders of the model")
    parser.add_argument("--mtp-num-layers", type=whole, metavar="N", help="number of MTP (multi-token prediction) layers of the model (default with --num-layers: 0)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("-o", "--output", action=OneFile, metavar="FILE", help="write to a file")
    string = parser.add_argument_group("for a layout string")
    string.add_argument("--vp", type=whole, metavar="V", help="refuse the layout if it does not have V stages per device")
    flags = parser.add_argument_group("flags of Megatron-LM's launcher, with their meaning there")
    flags.add_argument("--pipeline-model-parallel-layout", metavar="STRING", help="a layout string, with the additional checks of the launcher")
    for name in NUMBERS:
        flags.add_argument("--" + name.replace("_", "-"), type=whole, metavar="N")
    for name in SWITCHES:
        flags.add_argument("--" + name.replace("_", "-"), action="store_true", default=None)
    flags.add_argument("--no-overlap-p2p-communication", action="store_true", default=None)
    titan = parser.add_argument_group("for a model that torchtitan splits")
    titan.add_argument("--torchtitan", action="store_true", help="split as torchtitan does, and print the names of the modules of each part (stage)")
    titan.add_argument("--stages", type=whole, metavar="S", help="number of parts (default: computed from --schedule and --layers-per-stage)")
    titan.add_argument("--schedule", metavar="NAME", help=f"torchtitan's schedule: {', '.join(TITAN_SCHEDULES)} (default: 1F1B)")
    titan.add_argument("--layers-per-stage", type=whole, metavar="N", help="largest number of layers of a part, including embedding and head")
    titan.add_argument("--first-stage-less-layers", type=whole, metavar="A", help="number of layers that the embedding counts as (default: 1)")
    titan.add_argument("--last-stage-less-layers", type=whole, metavar="B", help="number of layers that norm and head together count as (default: 1)")
    titan.add_argument("--rotary-emb", action="store_true", default=None,
                       help="add rotary_emb to each part; torchtitan's backend for transformers needs it")
    parser.set_defaults(run=run_layout)


def _given(arguments: argparse.Namespace, names: Any) -> Dict[str, Any]:
    return {name: getattr(arguments, name) for name in names if getattr(arguments, name) is not None}


def _word(name: str) -> str:
    return "--" + name.replace("_", "-")


# What stands behind options that are needed.
NEEDED = {"pp": "P, the number of devices of a pipeline", "num_layers": "L, the number of decoders of the model"}


def _need(arguments: argparse.Namespace, *names: str) -> None:
    for name in names:
        if getattr(arguments, name) is None:
            raise UsageError(f"give {_word(name)} {NEEDED.get(name, 'N')}")


def _turn_down(arguments: argparse.Namespace, where: str, *names: str) -> None:
    for name in _given(arguments, names):
        raise UsageError(f"{_word(name)} {where}")


def _read(arguments: argparse.Namespace) -> Layout:
    """The layout of a string."""
    _need(arguments, "pp")
    launched: Optional[str] = arguments.pipeline_model_parallel_layout
    if arguments.layout is not None and (os.path.exists(arguments.layout) or arguments.layout.endswith((".json", ".yaml", ".sh"))):
        raise UsageError(f"{arguments.layout} is a file; give a layout string, such as 'Et*3|(tt|)*29,m|L', or --num-layers L")
    if launched is not None and arguments.layout is not None:
        raise UsageError("the layout string is given twice; give it once")
    for name in _given(arguments, [*NUMBERS, *SWITCHES]):
        raise Refused(f"{_word(name)} cannot be combined with a layout string, which has the whole split; leave one of them out")
    mtps = 0 if arguments.mtp_num_layers is None and arguments.num_layers is not None else arguments.mtp_num_layers
    overlap = not arguments.no_overlap_p2p_communication
    with _in_words_of_the_command({"chunks": "vp", "mtps": "mtp_num_layers"}):
        return Layout(arguments.layout if launched is None else launched, arguments.pp, chunks=arguments.vp,
                      decoders=arguments.num_layers, mtps=mtps, launcher=launched is not None or not overlap, overlap=overlap)


def _split(arguments: argparse.Namespace) -> Layout:
    """The layout that the flags of Megatron-LM make."""
    _turn_down(arguments, "needs a layout string", "vp")
    _need(arguments, "num_layers", "pp")
    flags = {name: arguments.__dict__[word] for word, name in {**NUMBERS, **SWITCHES}.items()
             if arguments.__dict__[word] is not None}
    with _in_words_of_the_command({**{name: word for word, name in NUMBERS.items()}, "mtps": "mtp_num_layers"}):
        return Layout.megatron(arguments.num_layers, arguments.pp, overlap=not arguments.no_overlap_p2p_communication,
                               mtps=arguments.mtp_num_layers or 0, **flags)


@contextlib.contextmanager
def _in_words_of_the_command(words: Dict[str, str]) -> Iterator[None]:
    """Replaces the library's names in messages by options. "chunks" is also an ordinary word, which is not replaced."""
    try:
        yield
    except Error as error:
        message = str(error)
        for name, word in words.items():
            before = r"(^|\band |\bgive )" if name == "chunks" else r"(\b)"
            message = re.sub(rf"{before}{name}\b", rf"\g<1>{_word(word)}", message)
        error.args = (message,)
        raise


def _titan_parts(arguments: argparse.Namespace) -> List[List[str]]:
    _turn_down(arguments, "cannot be combined with --torchtitan", *OF_STRING, *NUMBERS, *SWITCHES, "no_overlap_p2p_communication",
               "pipeline_model_parallel_layout")
    if arguments.layout is not None:
        raise UsageError("a layout string cannot be combined with --torchtitan")
    _need(arguments, "num_layers")
    if arguments.stages is None and arguments.pp is None:
        raise UsageError("give --stages, or --pp")
    if arguments.stages is not None:
        _turn_down(arguments, "cannot be combined with --stages", "layers_per_stage", "schedule")
    less = {"first_less": "first_stage_less_layers", "last_less": "last_stage_less_layers"}
    given = {**_given(arguments, ("stages", "layers_per_stage", "schedule")),
             **{name: arguments.__dict__[word] for name, word in less.items() if arguments.__dict__[word] is not None}}
    with _in_words_of_the_command({**less, "layers_per_stage": "layers_per_stage"}):
        layout = Layout.torchtitan(arguments.num_layers, arguments.pp, **given)
    return [layout.modules(stage, bool(arguments.rotary_emb)) for stage in range(len(layout.stages))]


def _row(layout: Layout) -> Dict[str, Any]:
    return {"vp": layout.chunks, "stages": [str(stage) for stage in layout.stages], "ranks": layout.ranks}


def _decoders_word(offset: int, count: int) -> str:
    """The numbers of the decoders of a stage."""
    return "" if count == 0 else f"{offset}" if count == 1 else f"{offset}-{offset + count - 1}"


def _table(layout: Layout) -> str:
    """The string, the sizes, and one row per device, which has for each chunk its layers and the numbers of its decoders."""
    mtps = f", {counted(layout.mtps, 'MTP layer')}" if layout.mtps else ""
    head = (f"{layout.text}\n{counted(layout.decoders, 'decoder')}{mtps}; {counted(len(layout.stages), 'stage')} on "
            f"{counted(layout.devices, 'device')}, {layout.chunks} each\n")
    if layout.devices == 1 and layout.chunks > 1:
        head += "note: Megatron-LM's launcher refuses several stages on one device\n"
    words = [f"{stage} {_decoders_word(offset, stage.decoders)}".rstrip() for stage, offset in zip(layout.stages, layout.offsets)]
    rows = [["device", *(f"chunk {chunk}" for chunk in range(layout.chunks))]]
    rows += [[str(device), *words[device::layout.devices]] for device in range(layout.devices)]
    widths = [max(map(len, column)) for column in zip(*rows)]
    return head + "".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() + "\n" for row in rows)


def run_layout(arguments: argparse.Namespace) -> None:
    take_ending(arguments)
    if arguments.torchtitan:
        parts = _titan_parts(arguments)
        lines = [f"part {number}: {' '.join(names)}".rstrip() + "\n" for number, names in enumerate(parts)]
        print_text(json.dumps({"parts": parts}) + "\n" if arguments.json else "".join(lines), arguments.output)
        return
    _turn_down(arguments, "needs --torchtitan", *OF_TITAN)
    layout = _split(arguments) if arguments.layout is None and arguments.pipeline_model_parallel_layout is None else _read(arguments)
    print_text(json.dumps(_row(layout)) + "\n" if arguments.json else _table(layout), arguments.output)
