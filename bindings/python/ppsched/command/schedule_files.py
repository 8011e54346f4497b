# SPDX-License-Identifier: Apache-2.0
"""What the command schedule writes and prints: the files of -o, their formats, and the options that only some formats have."""
from typing import Any, List, Mapping, NamedTuple, Optional

from .._core.writing import FORMATS, PICTURES, ending_of
from .chakra_options import CHAKRA, chakra_fault
from .output_files import check_each_once
from .usage import UsageError

TOLD = ("text", "json")  # formats that show more than the schedule
ONLY_TOLD = ("measured", "explain", "explain_memory", "capture")  # options that add to these


class Output(NamedTuple):
    """A text of the schedule. path: None for standard output; is_line: only the line of results, which stands for a picture."""

    path: Optional[str]
    format: str
    is_line: bool = False


class Files(NamedTuple):
    """written: files other than pictures; printed: what standard output has, if anything."""

    pictures: List[str]
    written: List[Output]
    printed: Optional[Output]

    @property
    def formats(self) -> List[str]:
        """Of all texts, each once."""
        return list(dict.fromkeys(output.format for output in (*self.written, *([self.printed] if self.printed else []))))

    @property
    def prefix(self) -> Optional[str]:
        """Of the traces for simulators."""
        return next((output.path for output in self.written if output.format == CHAKRA), None)

    @property
    def format_told(self) -> str:
        """A format that shows most, for what is refused if no output has a place for it; else the names of all."""
        return next((format for format in self.formats if format in TOLD), " and ".join(self.formats))


def _format_of(path: str) -> str:
    format = FORMATS.get(ending_of(path, FORMATS) or "")
    if format is None:
        raise UsageError(f"-o {path}: unknown ending; known are {' '.join((*PICTURES, *FORMATS))}, or give --format")
    return format


def files_of(values: Mapping[str, Any]) -> Files:
    """Of merged values. The key of a config file is one file."""
    given, format = values.get("output"), values.get("format")
    paths = [given] if isinstance(given, str) else list(given or ())
    check_each_once(paths)
    is_prefix = format == CHAKRA and len(paths) == 1
    pictures = [] if is_prefix else [path for path in paths if ending_of(path, PICTURES)]
    others = [path for path in paths if path not in pictures]
    line = Output(None, "text", True) if pictures else None
    if format is None:
        return Files(pictures, [Output(path, _format_of(path)) for path in others], line if paths else Output(None, "text"))
    if len(others) > 1:
        raise UsageError(f"--format {format} writes one file, not {' and '.join('-o ' + path for path in others)}")
    written = [Output(path, format) for path in others]
    return Files(pictures, written, line if written else Output(None, format))


def check_formats(values: Mapping[str, Any], files: Files) -> None:
    """Refuses options that no output has a place for."""
    formats, told = files.formats, files.format_told
    fault = chakra_fault({**values, "output": files.prefix}, CHAKRA if CHAKRA in formats else told)
    if fault:
        raise UsageError(fault)
    for name in ONLY_TOLD:
        if values.get(name) and told not in TOLD:
            raise UsageError(f"--{name.replace('_', '-')} works only with text and json, not with {told}")
    if values.get("slots") and "json" not in formats:
        raise UsageError("--slots works only with json")
