# SPDX-License-Identifier: Apache-2.0
"""Names of JSON and CSV keys before 1.0. Until then, output of the command has them in addition to the new ones; docs/renamed.md lists
them. In the JSON of schedules the library does the same (lib/format/json.c)."""
from typing import Any, Dict, Mapping

FORMER = {"overshoot": "excess",         # of candidates
          "link": "edge",                # of a device's idle time, by cause
          "links": "edges",              # of what check tells of transfers
          "link_rounds": "edge_rounds"}  # of slots


def with_former(row: Mapping[str, Any]) -> Dict[str, Any]:
    """A row in which each former key follows the new one."""
    return {name: value for key, value in row.items() for name in (key, FORMER.get(key)) if name is not None}
