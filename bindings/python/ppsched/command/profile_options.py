# SPDX-License-Identifier: Apache-2.0
"""Options of the command line for measured times."""
import argparse
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional

from .._core._library import Error
from .._core.same_units import has_units, worded
from .._core.timeline import Timeline
from .._core.unit_texts import with_member
from .._core.units import TIMES
from .._core.windows import OF_WINDOWS
from .._core.words import counted
from .number_options import whole

if TYPE_CHECKING:
    from ..readers.comparison import Comparison
    from ..readers.profile import Profile


def add_profile_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--profile", nargs="+", metavar="FILE",
                        help="measured times: a profile file, or the PyTorch traces of all ranks. Options and the config file take precedence over "
                             "measured times")
    parser.add_argument("--statistic", metavar="X", default="mean",
                        help="which time to use if an op was measured several times: mean (default), median, or a quantile from 0 to 1")
    parser.add_argument("--time-unit", choices=tuple(TIMES), default="ms", help="unit for the times from traces (default: ms)")
    parser.add_argument("--warmup", type=whole, metavar="N", default=0, help="leave out the first N iterations of traces")


def add_measured_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--measured", nargs="+", metavar="TRACE",
                        help="compare planned times with measured times: the PyTorch traces of all ranks of a run of this schedule")


def profile_fault(values: Mapping[str, Any]) -> Optional[str]:
    """What is wrong with the options, or None."""
    is_plain = values["statistic"] == "mean" and values["time_unit"] == "ms" and values["warmup"] == 0
    if is_plain or values.get("profile") or values.get("measured") or values.get("measured_run"):
        return None
    return "--statistic, --time-unit and --warmup need --profile or --measured"


def _read(paths: List[str], values: Mapping[str, Any]) -> "Profile":
    from ..readers.profile import Profile  # takes long to load
    return Profile.read(*paths, time_unit=values["time_unit"], warmup=values["warmup"])


class Measurement:
    """The profile and the traces that the options name, if any. Without a profile, the traces are also the profile."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values, measured, profile = values, values.get("measured"), values.get("profile")
        self.traces = _read(measured, values) if measured else None
        self._compared: Optional["Comparison"] = None  # of the one timeline of a command
        self.profile = self.traces if profile is None or profile == measured else _read(profile, values)

    @property
    def name(self) -> str:
        return self.profile.name if self.profile else ""

    def _lists(self, above: Mapping[str, Any]) -> Dict[str, Any]:
        """The measured lists. They have units if those of the profile file have some, or if they are from traces and other times have
        units. With a model, whose times are seconds, times without units are in --time-unit."""
        if self.profile is None:
            return {}
        lists, units = self.profile.lists(self._values["statistic"]), self.profile.units
        if above.get("model") is not None:
            units = units if units.time is not None else units._replace(time=self._values["time_unit"])
        elif self.profile.repetitions and not has_units(above, "time"):
            return {**lists}
        return {name: worded(name, values, units) for name, values in lists.items()}

    def _beside(self, above: Mapping[str, Any]) -> Dict[str, Any]:
        """Without what windows say."""
        said = (*OF_WINDOWS, "overlapped_times") if above.get("windows") is not None else ()
        return {name: values for name, values in self._lists(above).items() if name not in said}

    def below(self, values: Dict[str, Any]) -> Dict[str, Any]:
        """Merged values, with measured ones for those that are not given. If only stages are given, there are as many devices."""
        if self.profile is None:
            return values
        self.check(values.get("num_stages", self.profile.stages))
        sizes = {"num_stages": self.profile.stages, "num_batches": self.profile.microbatches}
        if "num_stages" not in values:
            sizes["num_devices"] = self.profile.devices
        return {**{name: size for name, size in sizes.items() if size is not None}, **self._beside(values), **values}

    def check(self, stages: int) -> None:
        if self.profile is not None and self.profile.stages != stages:
            raise Error(f"{self.profile.name}: the profile has {counted(self.profile.stages, 'stage')}, the problem {stages}")

    def beside(self, timeline: Timeline, export: str, format: Optional[str]) -> str:
        """The export of a timeline, followed by the comparison if there is one."""
        if self.traces is None:
            return export
        from .comparison_report import json_row, text  # takes long to load
        if self._compared is None:
            self._compared = self._compare(timeline, self.traces)
        if format == "json":
            return with_member(export, "measured", json_row(self._compared))
        return f"{export}\n{text(self._compared)}"

    def _compare(self, timeline: Timeline, traces: "Profile") -> "Comparison":
        from ..readers.comparison import compare_run  # takes long to load
        unit = timeline.config.units.time
        if unit not in (None, traces.units.time):
            traces = _read(self._values["measured"], {**self._values, "time_unit": unit})
        return compare_run(timeline, traces)
