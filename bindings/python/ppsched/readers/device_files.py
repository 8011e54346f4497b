# SPDX-License-Identifier: Apache-2.0
"""JSON files that describe a device."""
import errno
import json
import os
from typing import Any, Dict, Mapping, Tuple

from .._core._library import Error
from .._core.accelerators import EFFICIENCIES, Accelerator, CalibrationError, LinkRate, find_accelerator
from .._core.description import Transformer
from .._core.file_bytes import cannot_read
from .._core.model import Model, Training
from .._core.shown import shown
from .._core.unit_advice import amount_in, unit_meant
from .._core.words import nearest
from .json_and_yaml import other_kind
from .model_files import read_mapping_of

# Dimension of each field; rates are plain numbers, in operations per second.
MEASURES = {"memory": "memory", "memory_bandwidth": "bandwidth", "bandwidth": "bandwidth", "latency": "time", "op_time": "time",
            "host_time": "time", "host_bandwidth": "bandwidth"}
LINKS = ("inside", "between", "beyond")
# A part in torchtitan's published runs. Its power limit is 500 W, not 700 W, so its rates are 5/7 of those of h100.
PUBLISHED: Dict[str, Dict[str, Any]] = {
    "h100 96gb hbm2e 500w": {"like": "h100", "memory": "96GB", "memory_bandwidth": "2400GB/s", "matrix_rate": 706.7e12, "rate_8bit": 1413.5e12,
                             "vector_rate": 95.6e12}}
MOST = 2**20
_FILES = (".json", ".yaml", ".yml")  # endings
IN = {"memory": "B", "bandwidth": "B/s", "time": "s"}


def _number(where: str, name: str, value: Any) -> float:
    """In operations, bytes and seconds; refuses a number that is only plausible in another unit."""
    key = name.split(".")[-1]
    dimension = MEASURES.get(key)
    if isinstance(value, str) and dimension is not None:
        return amount_in(f"{where}: {name}", value, dimension)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        wanted = f"a number with a unit, such as \"{'94GB' if dimension == 'memory' else '2us' if dimension == 'time' else '400GB/s'}\"" \
            if dimension else "a plain number"
        raise Error(f"{where}: {name} is {shown(value)}; it must be {wanted}")
    unit = unit_meant(key, dimension, value) if dimension else ""
    if value > 0 and dimension and unit != IN[dimension]:
        raise Error(f"{where}: {name} is {value:g}, which would be {value:g} {IN[dimension]}; write \"{value:g}{unit}\"")
    return float(value)


def link_of(where: str, name: str, given: Any) -> LinkRate:
    if isinstance(given, LinkRate):
        return given
    if not isinstance(given, dict) or "bandwidth" not in given:
        raise Error(f"{where}: {name} must be a mapping with bandwidth and, if known, {', '.join(LinkRate._fields[1:])}")
    unknown = next((key for key in given if key not in LinkRate._fields), None)
    if unknown is not None:
        raise Error(f"{where}: {name} has no {shown(unknown)}; {nearest(unknown, LinkRate._fields) or 'it has ' + ', '.join(LinkRate._fields)}")
    return LinkRate(**{key: _number(where, f"{name}.{key}", value) for key, value in given.items()})


def _is_pair(value: object) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2 and all(
        isinstance(number, (int, float)) and not isinstance(number, bool) for number in value)


def _efficiency(where: str, name: str, given: Any) -> Any:
    """A share, or a list of (least size, share)."""
    if type(given) in (int, float):
        return float(given)
    if given in ([], ()):
        raise Error(f"{where}: {name} is an empty list; leave it out, or give a share such as 0.5")
    if not isinstance(given, (list, tuple)) or not all(map(_is_pair, given)):
        raise Error(f"{where}: {name} must be a share such as 0.5, or a list of [operations or bytes at least, share]")
    return [(float(least), float(share)) for least, share in given]


def _row(where: str, fields: Mapping[str, Any]) -> Dict[str, Any]:
    row: Dict[str, Any] = {}
    for name, value in fields.items():
        if name in LINKS:
            row[name] = link_of(where, name, value)
        elif name in EFFICIENCIES:
            row[name] = _efficiency(where, name, value)
        elif name in ("node_devices", "pod_nodes"):
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST:
                raise Error(f"{where}: {name} is {shown(value)}; it must be an integer, 1 to {MOST}")
            row[name] = value
        elif name in ("shares_ports", "lacks_bf16"):
            if not isinstance(value, bool):
                raise Error(f"{where}: {name} is {shown(value)}; it must be true or false")
            row[name] = value
        elif name == "name":
            if not isinstance(value, str):
                raise Error(f"{where}: name is {shown(value)}; it must be a text")
            row[name] = value
        else:
            row[name] = _number(where, name, value)
    return row


# --- the errors of a calibration ---

PODS, PORTS = map(Accelerator._fields.index, ("pod_nodes", "part_node_ports"))  # few devices have what comes from here on


def numbers_of(device: Accelerator) -> str:
    """All numbers of a device, as a text."""
    fields = device._replace(name="", errors=())[:PORTS]  # lacks_bf16 changes no time
    of_scale = (device.scale_slowdown,) if device.scale_slowdown else ()
    of_links = [(name, getattr(device, name)) for name in Accelerator._fields[PORTS:-1] if getattr(device, name)]
    used = fields if device.pod_nodes else (*fields[:PODS], *of_scale)
    return json.dumps((*used, *of_links))


def digest_of(device: Accelerator) -> str:
    """Of all numbers of a device. With it a file's errors are those of its constants."""
    import hashlib  # takes long to load
    return hashlib.sha256(numbers_of(device).encode()).hexdigest()[:16]


def _errors(where: str, given: Any) -> Tuple[CalibrationError, ...]:
    kinds = {"models": str, "precision": str, "layouts": int, "median": float, "p90": float}
    if not isinstance(given, list) or not all(isinstance(row, dict) and {name: type(value) for name, value in row.items()} == kinds for row in given):
        raise Error(f"{where}: errors must be a list that ppsched calibrate wrote; leave it out")
    return tuple(CalibrationError(**row) for row in given)


def _with_errors(where: str, device: Accelerator, given: Any, of: Any) -> Accelerator:
    """Where its numbers are still those of the calibration."""
    errors = _errors(where, given)
    return device._replace(errors=errors if errors and of == digest_of(device) else ())


def _known(name: str) -> Accelerator:
    if name.lower().endswith(_FILES):
        raise cannot_read(name, FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)))
    try:
        return find_accelerator(name)
    except Error as error:
        other = "" if "did you mean" in str(error) else ", or give a JSON file of another, such as {\"like\": \"h100\", \"memory\": \"24GB\"}"
        raise Error(f"{error}{other}") from None


def read_device(name: str) -> Accelerator:
    """A device that the library or a table of published runs has by this name, or one from a JSON file, which may be "like" a known one."""
    if not os.path.isfile(name):
        published = PUBLISHED.get(name.lower())
        return _known(name) if published is None else device_of_fields(name, published)
    return device_of_fields(name, read_mapping_of(name))


def device_of_fields(name: str, given: Mapping[str, Any]) -> Accelerator:
    """The device of the fields of a JSON file."""
    fields = dict(given)
    errors, of = fields.pop("errors", []), fields.pop("errors_of", None)
    try:
        base: Dict[str, Any] = find_accelerator(fields.pop("like"))._asdict() if "like" in fields else {}
    except Error as error:
        raise Error(f"{name}: like: {error}") from None
    unknown = next((key for key in fields if key not in Accelerator._fields), None)
    if unknown is not None:
        raise Error(f"{name}: a device has no {shown(unknown)}; it has like, {', '.join(Accelerator._fields)}{other_kind(given)}")
    row: Dict[str, Any] = {"name": os.path.basename(name), **base, **_row(name, fields)}
    missing = [key for key in Accelerator._fields if key not in row and key not in Accelerator._field_defaults]
    if missing:
        raise Error(f"{name}: a device needs {', '.join(missing)}; give them, or \"like\" with the name of a known device")
    device = Accelerator(**row)
    try:
        Model(Transformer(1, 1, 1, 1, 1), Training(precision=device.usual_precision), device)  # checks all numbers of the device
    except Error as error:
        raise Error(f"{name}: {error}") from None
    return _with_errors(name, device, errors, of)
