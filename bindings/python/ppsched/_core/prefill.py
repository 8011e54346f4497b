# SPDX-License-Identifier: Apache-2.0
"""The chunks of prompts, for a pipeline of forwards."""
import ctypes
from typing import List, NamedTuple, Optional, Sequence, Union

from . import _abi
from ._library import Error, call, lib
from .config import Config
from .listener import Listener, Progress, check_progress
from .number_lists import integer, number_given
from .views import sized


class Chunks(NamedTuple):
    """The chunks of one or more prompts.

    tokens: number of tokens of each chunk, prompt by prompt; makespan: makespan of the strategy's schedule with these chunks;
    equal_makespan: makespan with the same number of equal chunks; is_best: no other chunks have a shorter makespan; config: the
    problem with one microbatch per chunk, and a request for each prompt.
    """

    tokens: List[int]
    makespan: float
    equal_makespan: float
    is_best: bool
    config: Config


MOST = 65536  # chunks that the library makes


def _count(name: str, value: object) -> int:
    count = integer(name, value)
    if count < 1:
        raise Error(f"{name} is {count}; it must be 1 or more", _abi.Status.ERROR_RANGE)
    return count


def prefill_chunks(config: Config, tokens: Union[int, Sequence[int]], *, constant: float = 0, linear: float = 0, quadratic: float = 0, block: int = 1,
                   chunks: Optional[int] = None, strategy: str = "looped_bfs", progress: Optional[Progress] = None) -> Chunks:
    """Cuts one or more prompts into chunks, so that the strategy's schedule of forwards is as short as can be found. tokens:
    number of tokens of the prompt, or a list with one number per prompt.

    A chunk of n tokens after p earlier tokens of its prompt takes the forward time of its stage, multiplied by constant +
    linear * n + quadratic * n * (p + n / 2). The number of tokens of a chunk is a multiple of `block`, except in the last chunk
    of a prompt. chunks: the number of chunks, or None if the search chooses this number. config: a problem of forwards only;
    its number of microbatches is ignored.
    progress: as for ppsched.generate. Errors: ppsched.Error if the config has backwards or a number is wrong.

        forwards = ppsched.Config(devices=4, microbatches=1, forward_only=True)
        print(ppsched.prefill_chunks(forwards, 8192, constant=1, linear=0.001, quadratic=1e-7, block=256))
    """
    given = sized(_abi.Prefill)
    given.block = _count("block", block)
    if isinstance(tokens, Sequence) and not isinstance(tokens, str):
        prompts = [_count(f"tokens[{i}]", own) for i, own in enumerate(tokens)]
        given.prompts = ctypes.cast((ctypes.c_uint64 * max(len(prompts), 1))(*prompts), ctypes.POINTER(ctypes.c_uint64))
        given.prompt_count = len(prompts)
    else:
        given.tokens = _count("tokens", tokens)
        prompts = [given.tokens]
    given.chunks = min(_count("chunks", chunks), 2**32 - 1) if chunks is not None else 0
    for name, value in (("constant", constant), ("linear", linear), ("quadratic", quadratic)):
        setattr(given, name, number_given(name, value))
    figures, handle = sized(_abi.PrefillFigures), ctypes.c_void_p()
    most = min(sum(own // given.block + 1 for own in prompts), MOST)
    found, count = (ctypes.c_uint64 * most)(), ctypes.c_size_t()
    check_progress(progress)
    with config.units.telling(), Listener(config, progress) as told:
        call(lib.ppsched_prefill_find_chunks, found, most, ctypes.byref(count), ctypes.byref(figures), ctypes.byref(given), told._handle,
             strategy.encode("utf-8"))
    sizes = (ctypes.c_uint64 * count.value)(*found[:count.value])
    call(lib.ppsched_prefill_create_config, ctypes.byref(handle), ctypes.byref(given), config._handle, sizes, len(sizes))
    return Chunks(list(sizes), figures.makespan, figures.equal_makespan, bool(figures.is_best), config._like(handle))
