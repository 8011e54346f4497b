# SPDX-License-Identifier: Apache-2.0
"""The data format of a page: deflated JSON in base64. Times are stored so that they repeat often."""
import base64
import json
import math
import zlib
from typing import Any, Dict, List, Mapping, Optional


DIGITS = 12  # digits of times after gaps and durations are added up, as in data.js


def _rounded(time: float) -> float:
    return float(f"{time:.{DIGITS}g}")


def deflated(text: str) -> str:
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def _times(values: Any) -> Optional[List[float]]:
    """A list of finite numbers; None if it is anything else."""
    if not isinstance(values, list):
        return None
    return values if all(isinstance(value, (int, float)) and math.isfinite(value) for value in values) else None


def _queue_with_gaps(queue: Any) -> Any:
    start, end = (_times(queue.get(name)) if isinstance(queue, Mapping) else None for name in ("start", "end"))
    if start is None or end is None or len(start) != len(end):
        return queue
    start, end = [_rounded(time) for time in start], [_rounded(time) for time in end]  # so that errors do not add up
    gaps = [begin - before for begin, before in zip(start, [0.0, *end])]
    rest = {name: value for name, value in queue.items() if name not in ("start", "end")}
    return {**rest, "gap": gaps, "duration": [stop - begin for begin, stop in zip(start, end)]}


def with_gaps(timeline: Mapping[str, Any]) -> Dict[str, Any]:
    """Replaces starts and ends of ops by the gap before each op and its duration, which repeat often."""
    schedule = timeline.get("schedule")
    if not isinstance(schedule, Mapping) or not isinstance(schedule.get("queues"), list):
        return dict(timeline)
    return {**timeline, "schedule": {**schedule, "queues": [_queue_with_gaps(queue) for queue in schedule["queues"]]}}


# --- reading a page ---


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
    """The data from which report_html made a page, with numbers of 12 digits."""
    data: Dict[str, Any] = json.loads(page.split('<script type="application/json" id="data">')[1].split("</script>")[0])
    if isinstance(data.get("candidates"), str):
        data["candidates"] = inflated(data["candidates"])
    timelines = [inflated(raw["packed"]) for raw in data.get("timelines", [])]
    for timeline in timelines:
        if isinstance(timeline.get("schedule"), Mapping) and isinstance(timeline["schedule"].get("queues"), list):
            timeline["schedule"]["queues"] = [_queue_with_times(queue) for queue in timeline["schedule"]["queues"]]
    return {**data, "timelines": timelines} if "timelines" in data else data
