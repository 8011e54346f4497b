# SPDX-License-Identifier: Apache-2.0
"""The texts and the JSON of one schedule, with what options add to them."""
import json
from functools import cached_property
from typing import Any, Dict, List, Mapping, Optional

from .._core.exporting import Stream
from .._core.microbatch_map import order_line
from .._core.scenarios import Found
from .._core.timeline import Timeline
from .bound_telling import bound_row, bound_text
from .capture_report import capture_rows, capture_text
from .explain_report import explain_row, explain_text
from .memory_report import memory_rows, memory_text
from .microbatch_options import request_ends, throughput
from .prefill_values import chunk_tokens, chunks_text
from .scenario_options import with_scenarios
from .schedule_files import ONLY_TOLD, Output
from .slot_report import slot_rows
from .text_columns import text_columns, with_width


class ScheduleAnswer:
    """What several outputs have is computed once."""

    def __init__(self, timeline: Timeline, values: Mapping[str, Any], scenarios: Optional[Found]) -> None:
        self.timeline, self.scenarios, self._values = timeline, scenarios, values
        self._bases: Dict[int, str] = {}  # texts of the schedule by their width

    # --- what options add ---

    @cached_property
    def _bound(self) -> Optional[Dict[str, Any]]:
        return bound_row(self.timeline) if self.scenarios is None else None

    @cached_property
    def _ends(self) -> Optional[List[float]]:
        return request_ends(self.timeline)

    @cached_property
    def _throughput(self) -> Optional[float]:
        return throughput(self.timeline, self._values)

    @cached_property
    def _below(self) -> str:
        """The lines below the text of the schedule."""
        timeline, values, ends = self.timeline, self._values, self._ends
        lines = [with_scenarios(self.scenarios, "", "text")]
        if self._bound is not None:
            lines.append(bound_text(self._bound, timeline.metrics.makespan))
        if values.get("chunks_of_prompt") is not None:
            lines.append(chunks_text(values["chunks_of_prompt"], values["has_prompts"]))
        if ends is not None:
            lines.append(f"requests end at {' '.join(f'{end:g}' for end in ends)}; mean {sum(ends) / len(ends):g}\n")
        if self._throughput is not None:
            lines.append(f"throughput {self._throughput:g} requests per unit of time, if they come again and again\n")
        if values.get("explain"):
            lines.append(explain_text(timeline))
        if values.get("explain_memory"):
            lines.append(memory_text(timeline))
        if values.get("capture"):
            lines.append(capture_text(timeline.schedule, bool(values.get("blocking"))))
        return str(values["measurement"].beside(timeline, "".join(lines), "text"))

    @cached_property
    def _members(self) -> Dict[str, Any]:
        """What the JSON has after the schedule and the scenarios."""
        timeline, values = self.timeline, self._values
        members: Dict[str, Any] = dict(self._bound or {})
        if values.get("chunks_of_prompt") is not None:
            members["chunk_tokens"] = chunk_tokens(values["chunks_of_prompt"], values["has_prompts"])
        if self._ends is not None:
            members["request_ends"] = self._ends
        if self._throughput is not None:
            members["throughput"] = self._throughput
        if values.get("explain"):
            members["explain"] = explain_row(timeline)
        if values.get("explain_memory"):
            members["explain_memory"] = memory_rows(timeline)
        if values.get("capture"):
            members.update(capture_rows(timeline.schedule, bool(values.get("blocking"))))
        return {**members, **(slot_rows(timeline.schedule) if values.get("slots") else {})}

    # --- the outputs ---

    def _base(self, columns: int) -> str:
        if columns not in self._bases:
            self._bases[columns] = self.timeline.export("text", text_columns=columns, time_scale=self._values["time_scale"])
        return self._bases[columns]

    def _text(self, output: Output) -> str:
        columns, order = text_columns(self._values["text_columns"], output.path), self.timeline.config.microbatch_order
        text = self._base(columns)
        if output.is_line:
            text = text.splitlines()[0] + "\n" + (order_line(order) if order else "")
        return with_width(text, columns, output.path) + self._below

    @cached_property
    def _json(self) -> str:
        text = with_scenarios(self.scenarios, self.timeline.export("json", time_scale=self._values["time_scale"]), "json")
        if self._members:
            text = json.dumps({**json.loads(text), **self._members}) + "\n"
        return str(self._values["measurement"].beside(self.timeline, text, "json"))

    def text(self, output: Output) -> str:
        if output.format == "json":
            return self._json
        if output.format == "text":
            return self._text(output)
        return self.timeline.export(output.format, time_scale=self._values["time_scale"])

    def stream(self, output: Output) -> Optional[Stream]:
        """The text in pieces; None if it must be made as a whole, because options add to it."""
        if output.format == "text" or output.format == "json" and self._adds():
            return None
        return lambda take: self.timeline._stream(output.format, take, time_scale=self._values["time_scale"])

    def _adds(self) -> bool:
        """Whether the JSON has more than the schedule."""
        values = self._values
        return (self.scenarios is not None or any(values.get(name) for name in (*ONLY_TOLD, "slots")) or self._bound is not None
                or bool(self.timeline.config.microbatch_request) or values["options"].get("objective") == "throughput")
