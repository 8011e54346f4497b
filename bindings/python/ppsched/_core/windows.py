# SPDX-License-Identifier: Apache-2.0
"""The windows of forwards and backwards: what their parts take, each on its channel."""
import ctypes
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, NoReturn, Optional, Sequence, Tuple, Union

from . import _abi
from ._library import Error, call, lib
from .number_lists import integer
from .shown import shown
from .views import sized
from .words import misspelt, nearest

LISTS = ("forward", "backward", "weight")
KEYS = (*LISTS, "slowdown")
KINDS = {_abi.Kind.F: "forward", _abi.Kind.B: "backward", _abi.Kind.W: "weight"}
# Lists of numbers that windows say.
OF_WINDOWS = ("forward_times", "backward_times", "backward_input_times", "backward_weight_times")

Given = Mapping[str, Any]  # one pair, or one stage, as JSON has it
Row = Tuple[str, float, int]  # channel, time, and how many windows of the backward must have ended


class StageWindows(NamedTuple):
    """The windows of one stage, or of one pair, checked."""

    lists: Dict[str, List[Row]]
    slowdown: Dict[str, float]


class PairWindow(NamedTuple):
    """When a window runs. of: "forward", "backward" or "weight"; number: its number in that list, from 0."""

    of: str
    number: int
    channel: str
    start: float
    end: float


class PairTime(NamedTuple):
    """The times of a forward and a backward that run at the same time.

    time: from the first start to the last end; bound: lower bound on the time of all orders; serial: time if the windows run
    one after another; forward_end, backward_end: ends of their last windows; is_best: no order takes less than `time`; windows:
    all windows, by start.
    """

    time: float
    bound: float
    serial: float
    forward_end: float
    backward_end: float
    is_best: bool
    windows: List[PairWindow]


# --- what is given ---

def _number(where: str, value: object) -> float:
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise Error(f"{where}: the time must be a number, not {shown(value)}")
    if float(value) < 0:
        raise Error(f"{where} takes {shown(value)}; it must be finite and at least 0", _abi.Status.ERROR_RANGE)
    return float(value)


def _row(where: str, name: str, given: object) -> Row:
    most = 3 if name == "weight" else 2
    form = "[channel, time, after]" if name == "weight" else "[channel, time]"
    if not isinstance(given, (list, tuple)) or not 2 <= len(given) <= most:
        raise Error(f"{where} is {shown(given)}; a window is {form}")
    if not isinstance(given[0], str) or not given[0].strip():
        raise Error(f"{where} has no channel: {shown(given)}; a window is {form}, and a channel a name such as 'compute'")
    after = given[2] if len(given) > 2 else 0
    if isinstance(after, bool) or not isinstance(after, int) or not 0 <= after < 2**32:
        raise Error(f"{where}: after must be a number of windows of backward, not {shown(after)}")
    return given[0], _number(where, given[1]), after


def _slowdown(where: str, given: object) -> Dict[str, float]:
    if not isinstance(given, Mapping):
        raise Error(f"{where}slowdown must be a mapping of channels to numbers, not {shown(given)}")
    for channel, value in given.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1 <= value < float("inf"):
            raise Error(f"{where}slowdown of {shown(channel)} is {shown(value)}; it must be a number of at least 1")
    return {str(channel): float(value) for channel, value in given.items()}


def stage_windows(where: str, given: object) -> StageWindows:
    """One object of windows, checked. where: what stands before messages."""
    if not isinstance(given, Mapping):
        raise Error(f"{where}windows must be a mapping with forward and backward, not {shown(given)}")
    unknown = next((key for key in given if key not in KEYS), None)
    if unknown is not None:
        raise Error(f"{where}unknown key {shown(unknown)}; {nearest(unknown, KEYS) or 'known keys: ' + ', '.join(KEYS)}")
    lists: Dict[str, List[Row]] = {}
    for name in LISTS:
        rows = given.get(name)
        if name not in given or (rows is None and name == "weight"):
            rows = []
        if not isinstance(rows, (list, tuple)):
            raise Error(f"{where}{name} must be a list of windows, not {shown(rows)}")
        if not rows and name != "weight":
            raise Error(f"{where}{name} has no windows; a pair is a forward and a backward")
        lists[name] = [_row(f"{where}window {index} of {name}", name, row) for index, row in enumerate(rows)]
    return StageWindows(lists, _slowdown(where, {} if given.get("slowdown") is None else given["slowdown"]))


def window_channels(stages: Sequence[StageWindows], where: str = "") -> List[str]:
    """The names of all, in the order in which they come."""
    names: Dict[str, None] = {}
    for stage in stages:
        names.update((row[0], None) for name in LISTS for row in stage.lists[name])
    for stage in stages:
        names.update(dict.fromkeys(stage.slowdown))
    if len(names) > _abi.MAX_WINDOW_CHANNELS:
        raise Error(f"{where}windows are on {len(names)} channels, {', '.join(map(shown, names))}; a device has at most {_abi.MAX_WINDOW_CHANNELS}")
    return list(names)


def _slowdowns(where: str, stages: Sequence[StageWindows]) -> Dict[str, float]:
    """Of all stages, which must agree."""
    found: Dict[str, float] = {}
    for number, stage in enumerate(stages):
        for channel, value in stage.slowdown.items():
            if found.setdefault(channel, value) != value:
                raise Error(f"{where}slowdown of {shown(channel)} is {value:g} in stage {number}, and {found[channel]:g} before; it must be the "
                            "same in all stages")
    return found


def idle_slowdowns(where: str, stages: Sequence[StageWindows]) -> List[str]:
    """Channels that have a slowdown and no window of any stage, for a note. Raises Error where such a name is probably misspelt."""
    used = list(dict.fromkeys(row[0] for stage in stages for rows in stage.lists.values() for row in rows))
    idle = list(dict.fromkeys(channel for stage in stages for channel, factor in stage.slowdown.items() if channel not in used and factor > 1))
    for channel in idle:
        meant = misspelt(channel, used)
        if meant:
            raise Error(f"{where}slowdown is of {shown(channel)}, and no window runs on it; did you mean {meant}? Channels are {', '.join(map(shown, used))}")
    return idle


class Records:
    """Windows as C takes them, with what must stay in memory meanwhile."""

    def __init__(self, where: str, stages: Sequence[StageWindows]) -> None:
        self.channels = window_channels(stages, where)
        slowdown = _slowdowns(where, stages)
        self._kept: List[Any] = []
        self.records = [self._record(stage, slowdown) for stage in stages]

    def _list(self, rows: List[Row]) -> Any:
        array = (_abi.Window * len(rows))(*(_abi.Window(time, self.channels.index(channel), after) for channel, time, after in rows))
        self._kept.append(array)
        return array

    def _record(self, stage: StageWindows, slowdown: Mapping[str, float]) -> _abi.PairWindows:
        record = sized(_abi.PairWindows)
        for name in LISTS:
            setattr(record, name, self._list(stage.lists[name]) if stage.lists[name] else None)
            setattr(record, name + "_count", len(stage.lists[name]))
        for number, channel in enumerate(self.channels):
            record.slowdown[number] = slowdown.get(channel, 0)
        return record

    @property
    def pointers(self) -> Any:
        kind = ctypes.POINTER(_abi.PairWindows)
        return (kind * len(self.records))(*(ctypes.pointer(record) for record in self.records))

    def telling(self, where: str, error: Error) -> NoReturn:
        """The library's error, with names in place of numbers of channels."""
        text = str(error)
        for number, channel in enumerate(self.channels):
            text = text.replace(f"of channel {number} ", f"of {shown(channel)} ")
        raise type(error)(where + text, error.status) from None


# --- a pair ---

def _order(given: Union[str, Sequence[str]]) -> List[int]:
    letters = list(given) if isinstance(given, str) else given
    known = {kind.name: kind for kind in KINDS}
    for letter in letters:
        if letter not in known:
            raise Error(f"order holds {shown(letter)}; it must be F, B or W for each window in turn")
    return [known[letter] for letter in letters]


def repeated(stage: StageWindows, pairs: int, where: str = "") -> StageWindows:
    """That many pairs in a row, as one: forwards in turn, and backwards with their weight gradients."""
    total = pairs * sum(map(len, stage.lists.values()))
    if pairs < 1:
        raise Error(f"{where}there are {pairs} pairs in a row; give 1 or more")
    if pairs > 1 and total > _abi.MAX_WINDOWS:
        raise Error(f"{where}{pairs} pairs in a row have {total} windows; there may be at most {_abi.MAX_WINDOWS}")
    before = len(stage.lists["backward"])
    lists = {name: [(channel, time, after + number * before if name == "weight" else after) for number in range(pairs)
                    for channel, time, after in rows] for name, rows in stage.lists.items()}
    return StageWindows(lists, stage.slowdown)


class Cycle(NamedTuple):
    """What each of many pairs in a row takes. time: one more pair, the mean over the second half of them; bound: no order is shorter."""

    time: float
    bound: float


def cycle_of(stage: StageWindows, pairs: int, where: str = "", order: Optional[Union[str, Sequence[str]]] = None) -> Cycle:
    """Of `pairs` in a row, 2 or more."""
    half = pairs // 2
    late, early = (time_of_pair(repeated(stage, count, where), where, order and list(order) * count).time for count in (pairs, pairs - half))
    work: Dict[str, float] = {}
    for channel, time, _ in (row for rows in stage.lists.values() for row in rows):
        work[channel] = work.get(channel, 0.0) + time
    chains = [sum(time for _, time, _ in rows) for rows in stage.lists.values()]
    return Cycle((late - early) / half, max(*work.values(), *chains))


def time_of_pair(stage: StageWindows, where: str = "", order: Optional[Union[str, Sequence[str]]] = None) -> PairTime:
    """Of checked windows."""
    records = Records(where, [stage])
    count = sum(map(len, stage.lists.values()))
    spans, times = (_abi.WindowSpan * count)(), sized(_abi.PairTimes)
    given = (spans, count, None, ctypes.byref(times), ctypes.byref(records.records[0]))
    try:
        if order is None:
            call(lib.ppsched_pair_find_order, *given, None)
        else:
            kinds = _order(order)
            call(lib.ppsched_pair_run_order, *given, (ctypes.c_int32 * len(kinds))(*kinds), len(kinds), None)
    except Error as error:
        records.telling(where, error)
    windows = [PairWindow(KINDS[_abi.Kind(span.kind)], span.index, stage.lists[KINDS[_abi.Kind(span.kind)]][span.index][0], span.start, span.end)
               for span in spans]
    return PairTime(times.time, times.bound, times.serial, times.forward_end, times.backward_end, bool(times.is_best), windows)


def pair_time(windows: Given, *, order: Optional[Union[str, Sequence[str]]] = None, pairs: int = 1) -> PairTime:
    """Finds how long a forward and a backward take if a device runs them at the same time, in the best order of their windows.

    windows: {"forward": [("compute", 3), ("network", 2)], "backward": [...]}: the windows of each, by channel and time, in the
      order in which they run. "weight": the same, with a third number: how many windows of the backward must have ended before
      the window starts. "slowdown": {"compute": 1.1}: factor on the time of a channel's windows while another channel is busy.
      A window starts as soon as it is ready and its channel is free.
    order: a given order, such as "FBFB": each letter says from which list the next window is. Each channel then runs its
      windows in this order, and waits for the next one.
    pairs: number of consecutive pairs. A pair may start before the previous pair ends. order is the order of one pair.
    Times are in a unit of your choice. Errors: ppsched.Error with the window that is wrong.

        windows = {"forward": [("compute", 3), ("network", 2)], "backward": [("network", 2), ("compute", 6)]}
        print(ppsched.pair_time(windows).time)
    """
    count = integer("pairs", pairs)
    pair = stage_windows("", windows)
    idle_slowdowns("", [pair])
    return time_of_pair(repeated(pair, count), "", None if order is None else list(order) * count)


# --- of stages ---

def checked_windows(given: object, where: str = "") -> List[StageWindows]:
    """One object, or a list of one for each stage, checked."""
    if isinstance(given, (list, tuple)) and not given:
        raise Error(f"{where}windows is an empty list; give one object for all stages, or one for each")
    if isinstance(given, (list, tuple)):
        stages = [stage_windows(f"{where}stage {number}: ", stage) for number, stage in enumerate(given)]
    else:
        stages = [stage_windows(where, given)]
    idle_slowdowns(where, stages)
    return stages


def windows_as_given(stage: StageWindows) -> Dict[str, Any]:
    """The object from which these windows are read."""
    lists = {name: [[channel, time, *([after] if after else [])] for channel, time, after in rows]
             for name, rows in stage.lists.items() if rows}
    return {**lists, **({"slowdown": dict(stage.slowdown)} if stage.slowdown else {})}


def set_windows(handle: ctypes.c_void_p, stages: Sequence[StageWindows]) -> None:
    """Gives them to a config."""
    records = Records("", stages)
    try:
        call(lib.ppsched_config_set_windows, handle, records.pointers, len(records.records))
    except Error as error:
        records.telling(f"windows of stage {error.stage}: " if error.stage is not None and len(stages) > 1 and "stage" not in str(error) else "",
                        error)


def _rows_of(windows: Any, count: int, channels: Sequence[str]) -> List[Row]:
    return [(channels[window.channel], window.time, window.after) for window in windows[:count]]


def windows_of(record: Any, channels: Sequence[str]) -> StageWindows:
    """From a record of the library. channels: their names."""
    lists = {name: _rows_of(getattr(record, name), getattr(record, name + "_count"), channels) for name in LISTS}
    return StageWindows(lists, {channel: factor for channel, factor in zip(channels, record.slowdown) if factor > 1})


def config_windows(handle: ctypes.c_void_p, stages: int, channels: Sequence[str]) -> Tuple[StageWindows, ...]:
    """Those of each stage of a config; nothing if it has none."""
    found = []
    for stage in range(stages):
        record = sized(_abi.PairWindows)
        call(lib.ppsched_config_get_windows, ctypes.byref(record), handle, stage)
        found.append(windows_of(record, channels))
    return tuple(found) if found[0].lists["forward"] else ()


def leaf_times(given: object) -> Iterator[Tuple[str, Any, int]]:
    """Each number of time in windows as they may be: its words, and where it stands."""
    for stage in given if isinstance(given, list) else [given]:
        for name in LISTS if isinstance(stage, dict) else ():
            rows = stage.get(name)
            for index, row in enumerate(rows if isinstance(rows, list) else ()):
                if isinstance(row, list) and len(row) > 1:
                    yield f"window {index} of {name}", row, 1


def pair_of(stages: Sequence[StageWindows], forward: int, backward: int) -> StageWindows:
    """The forward of a stage with the backward of another one."""
    for number in (forward, backward):
        if not 0 <= number < len(stages):
            raise Error(f"there is no stage {number}; give one from 0 to {len(stages) - 1}")
    lists = {**stages[backward].lists, "forward": stages[forward].lists["forward"]}
    return StageWindows(lists, _slowdowns("", stages))


def without_weight(pair: StageWindows) -> StageWindows:
    """A pair whose backward is an I."""
    return StageWindows({**pair.lists, "weight": []}, pair.slowdown)
