# SPDX-License-Identifier: Apache-2.0
"""Options of the command line for measured times."""
import argparse
import json
from typing import Any, Dict, List, Mapping, Optional

from ._library import Error
from .comparison import compare_run
from .comparison_report import json_row, text
from .config import Quantities
from .profile import TIME_UNITS, Profile
from .timeline import Timeline


def add_profile_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--profile", nargs="+", metavar="FILE",
                        help="measured times: a profile file, or the PyTorch traces of all ranks; all else goes over them")
    parser.add_argument("--statistic", metavar="X", default="mean",
                        help="what the samples of a stage count as: mean (default), median, or a quantile from 0 to 1")
    parser.add_argument("--time-unit", choices=tuple(TIME_UNITS), default="ms", help="unit of times from traces (default: ms)")
    parser.add_argument("--warmup", type=int, metavar="N", default=0, help="iterations at the front of traces to leave out")


def add_measured_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--measured", nargs="+", metavar="TRACE",
                        help="PyTorch traces of all ranks that ran this schedule: planned and measured times side by side")


def profile_fault(values: Mapping[str, Any]) -> Optional[str]:
    """What is wrong with the words, or None."""
    is_plain = values["statistic"] == "mean" and values["time_unit"] == "ms" and values["warmup"] == 0
    if is_plain or values.get("profile") or values.get("measured"):
        return None
    return "--statistic, --time-unit and --warmup go with --profile or --measured"


def _read(paths: List[str], values: Mapping[str, Any]) -> Profile:
    return Profile.read(*paths, time_unit=values["time_unit"], warmup=values["warmup"])


class Measurement:
    """The profile and the traces that the options name, if any. Traces are a profile too where no other is given."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values, measured, profile = values, values.get("measured"), values.get("profile")
        self.traces = _read(measured, values) if measured else None
        self.profile = self.traces if profile is None or profile == measured else _read(profile, values)

    def lists(self) -> Quantities:
        return self.profile.lists(self._values["statistic"]) if self.profile else {}

    def below(self, values: Dict[str, Any]) -> Dict[str, Any]:
        """Merged values, with what is measured where they have nothing. Stages alone stand for devices too."""
        if self.profile is None:
            return values
        self.check(values.get("num_stages", self.profile.stages))
        sizes = {"num_stages": self.profile.stages, "num_batches": self.profile.microbatches}
        if "num_stages" not in values:
            sizes["num_devices"] = self.profile.devices
        return {**{name: size for name, size in sizes.items() if size is not None}, **self.lists(), **values}

    def check(self, stages: int) -> None:
        if self.profile is not None and self.profile.stages != stages:
            raise Error(f"{self.profile.name}: the profile has {self.profile.stages} stages, the problem {stages}")

    def beside(self, timeline: Timeline, export: str, format: Optional[str]) -> str:
        """A timeline's export, with the comparison behind it if there is one."""
        if self.traces is None:
            return export
        comparison = compare_run(timeline, self.traces)
        if format == "json":
            return f'{export.rstrip()[:-1]}, "measured": {json.dumps(json_row(comparison))}}}\n'
        return f"{export}\n{text(comparison)}"
