# SPDX-License-Identifier: Apache-2.0
"""How a page holds its data: deflated JSON in base64, with times that repeat as often as they can."""
import base64
import json
import math
import zlib
from typing import Any, Dict, List, Mapping, Optional


DIGITS = 12  # of times, which gaps and durations are summed up to; as in data.js


def _rounded(time: float) -> float:
    return float(f"{time:.{DIGITS}g}")


def deflated(text: str) -> str:
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def _times(values: Any) -> Optional[List[float]]:
    """A list of finite numbers; None where it is anything else."""
    if not isinstance(values, list):
        return None
    return values if all(isinstance(value, (int, float)) and math.isfinite(value) for value in values) else None


def _queue_with_gaps(queue: Any) -> Any:
    start, end = (_times(queue.get(name)) if isinstance(queue, Mapping) else None for name in ("start", "end"))
    if start is None or end is None or len(start) != len(end):
        return queue
    start, end = [_rounded(time) for time in start], [_rounded(time) for time in end]  # so that nothing adds up
    gaps = [begin - before for begin, before in zip(start, [0.0, *end])]
    rest = {name: value for name, value in queue.items() if name not in ("start", "end")}
    return {**rest, "gap": gaps, "duration": [stop - begin for begin, stop in zip(start, end)]}


def with_gaps(timeline: Mapping[str, Any]) -> Dict[str, Any]:
    """Instead of when ops start and end, how long after the one before each starts, and how long it takes: the same again and again."""
    schedule = timeline.get("schedule")
    if not isinstance(schedule, Mapping) or not isinstance(schedule.get("queues"), list):
        return dict(timeline)
    return {**timeline, "schedule": {**schedule, "queues": [_queue_with_gaps(queue) for queue in schedule["queues"]]}}


# --- back, for whoever reads a page ---


def inflated(packed: str) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(packed)))


def _queue_with_times(queue: Any) -> Any:
    if not isinstance(queue, Mapping) or "gap" not in queue:
        return queue
    start: List[float] = []
    end: List[float] = []
    for gap, duration in zip(queue["gap"], queue["duration"]):
        start.append(_rounded((end[-1] if end else 0.0) + gap))
        end.append(_rounded(start[-1] + duration))
    rest = {name: value for name, value in queue.items() if name not in ("gap", "duration")}
    return {**rest, "start": start, "end": end}


def page_data(page: str) -> Dict[str, Any]:
    """What report_html was given, from the page that it made: numbers with 12 digits."""
    data: Dict[str, Any] = json.loads(page.split('<script type="application/json" id="data">')[1].split("</script>")[0])
    if isinstance(data.get("candidates"), str):
        data["candidates"] = inflated(data["candidates"])
    timelines = [inflated(raw["packed"]) for raw in data.get("timelines", [])]
    for timeline in timelines:
        if isinstance(timeline.get("schedule"), Mapping) and isinstance(timeline["schedule"].get("queues"), list):
            timeline["schedule"]["queues"] = [_queue_with_times(queue) for queue in timeline["schedule"]["queues"]]
    return {**data, "timelines": timelines} if "timelines" in data else data
