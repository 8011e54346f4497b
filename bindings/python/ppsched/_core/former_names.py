# SPDX-License-Identifier: Apache-2.0
"""Keys of JSON and CSV as they were called before 1.0. What the command writes has them beside the new ones until then, so that who
reads it finds either; docs/renamed.md has them all. Of a schedule's own JSON the library does the same (lib/format/json.c)."""
from typing import Any, Dict, Mapping

FORMER = {"overshoot": "excess",         # of candidates
          "link": "edge",                # of a device's idle time, by cause
          "links": "edges",              # of what check tells of transfers
          "link_rounds": "edge_rounds"}  # of slots


def with_former(row: Mapping[str, Any]) -> Dict[str, Any]:
    """A row with each former key right behind the new one."""
    return {name: value for key, value in row.items() for name in (key, FORMER.get(key)) if name is not None}
