# SPDX-License-Identifier: Apache-2.0
"""Reads mappings of keys to values from JSON files, and from YAML files if PyYAML is installed."""
import json
import re
from typing import Any, Dict, List, Optional, Sequence, Tuple

from .._core._library import Error
from .._core.file_bytes import CONFIG, cannot_read, read_bytes
from .._core.shown import shown
from .._core.whole_numbers import MOST_DIGITS, whole_of
from .._core.words import nearest

MOST_ALIASED = 100_000  # values that all aliases of a YAML file may expand to
NUMBER_TAGS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
OTHER_FORM = re.compile(r"[-+]?0[0-9]*[0-9]$|.*[:_]")  # such as 010, 1:30 and 1_0 of YAML 1.1
FAMILIES = ("mem_", "host_", "offload_", "copy_", "sharding_", "unshard_", "reduce_grad_", "slow_", "stage_", "backward_")  # prefixes of groups of keys


def _unique_keys(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    values: Dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise Error(f"key {shown(key)} occurs twice")
        values[key] = value
    return values


def _instead(text: str) -> str:
    """What to do about a text that does not even begin as JSON."""
    start = text.strip()[:1]
    if not start:
        return "; the file is empty"
    return "; a file of YAML has a name that ends with .yaml" if start not in "{[\"" else ""


def other_kind(values: Any, is_model: bool = False) -> str:
    """The option that takes a file with these keys, which another option was given; or an empty text. is_model: --model was given it."""
    keys = values if isinstance(values, dict) else {}
    if not is_model and ("model_type" in keys or "hidden_size" in keys):
        return "; the file describes a model, which ppsched pick --model takes"
    if "traceEvents" in keys:
        return "; the file is a trace, from which no schedule is read; --profile of ppsched schedule takes traces of PyTorch"
    if "queues" in keys:
        return "; the file is a schedule, which ppsched check and ppsched convert take"
    return "; the file states layers, which --layers of ppsched pick takes" if "layers" in keys else ""


def read_json(path: str, text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique_keys, parse_int=whole_of)
    except json.JSONDecodeError as error:
        raise Error(f"{path}, line {error.lineno}, column {error.colno}: broken JSON: {error.msg}{_instead(text)}") from None
    except Error as error:
        raise Error(f"{path}: {error}") from None
    except (RecursionError, ValueError) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: str, error: BaseException) -> Error:
    """For values that the parser cannot read: numbers of too many digits, impossible dates, endless nesting."""
    reason = "nested too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())
    return Error(f"{path}: {reason}")


def _unique_loader(yaml: Any) -> Any:
    """PyYAML's safe loader with more checks: a key may not appear twice, aliases may not expand without limit, and numbers such as 010,
    1:30 and 1_0, which YAML 1.1 reads as 8, 90 and 10, are refused."""

    class Loader(yaml.SafeLoader):  # type: ignore[misc]  # the module may be missing
        def __init__(self, text: str) -> None:
            super().__init__(text)
            self._values, self._aliased = 0, 0  # so far: values with all aliases expanded; values from aliases only
            self._sizes: Dict[int, int] = {}    # values in a node, by the node's id()

        def compose_node(self, parent: Any, index: Any) -> Any:
            event, before = self.peek_event(), self._values
            is_alias = isinstance(event, yaml.AliasEvent)
            node = super().compose_node(parent, index)
            if is_alias and id(node) not in self._sizes:
                raise yaml.composer.ComposerError(None, None, f"*{shown(event.anchor)[1:-1]} contains itself", event.start_mark)
            self._values += self._sizes[id(node)] if is_alias else 1
            self._aliased += self._sizes[id(node)] if is_alias else 0
            if self._aliased > MOST_ALIASED:
                raise yaml.composer.ComposerError(None, None, f"aliases expand to more than {MOST_ALIASED} values", event.start_mark)
            if not is_alias:
                self._sizes[id(node)] = self._values - before
            return node

        def construct_object(self, node: Any, deep: bool = False) -> Any:
            if isinstance(node, yaml.ScalarNode) and node.tag == NUMBER_TAGS[0] and len(node.value) > MOST_DIGITS:
                raise yaml.constructor.ConstructorError(None, None, f"the integer {node.value[:20]}... is too large", node.start_mark)
            value = super().construct_object(node, deep)
            if isinstance(node, yaml.ScalarNode) and node.tag in NUMBER_TAGS and OTHER_FORM.match(node.value):
                raise yaml.constructor.ConstructorError(None, None, f"{shown(node.value)[1:-1]} would be {shown(value)}; write the number itself, or a text "
                                                        "in quotes", node.start_mark)
            return value

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            keys = set()
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode) and key.value in keys:
                    raise yaml.constructor.ConstructorError(None, None, f"key {shown(key.value)} occurs twice", node.start_mark)
                keys.add(key.value if isinstance(key, yaml.ScalarNode) else id(key))
            return super().construct_mapping(node, deep)

    # 1e-3 is a number in JSON and YAML 1.2; PyYAML only reads 1.0e-3 as one
    number = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+$")
    Loader.add_implicit_resolver("tag:yaml.org,2002:float", number, list("-+.0123456789"))
    return Loader


def read_yaml(path: str, text: str) -> Any:
    try:
        import yaml  # optional
    except ImportError:
        raise Error(f"{path}: YAML files need PyYAML (apt-get install python3-yaml, or pip install pyyaml)") from None
    try:
        return yaml.load(text, Loader=_unique_loader(yaml))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise Error(f"{path}{where}: broken YAML: {problem}") from None
    except (RecursionError, ValueError, AttributeError, LookupError, ArithmeticError, TypeError) as error:
        raise _unreadable(path, error) from None


def file_text(path: str, most: int = CONFIG) -> str:
    """The text of a UTF-8 file of at most `most` bytes; a byte order mark is dropped."""
    try:
        data = read_bytes(path, most)
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise Error(f"{path}: it is UTF-16; save it as UTF-8")
        return data.decode("utf-8-sig")
    except OSError as error:
        raise cannot_read(path, error) from None
    except UnicodeDecodeError as error:
        raise Error(f"{path}: byte {error.start} is not UTF-8; the file must be text, saved as UTF-8") from None
    except ValueError as error:  # names with NUL
        raise _unreadable(path, error) from None


def read_mapping(path: str, known: Sequence[str], text: Optional[str] = None) -> Dict[str, Any]:
    """The keys and values of a JSON or YAML file; text: the file's text, if it is read already. Raises Error with file, line and column,
    or with the nearest known key."""
    return keys_checked(path, read_values(path, text), known)


def read_values(path: str, text: Optional[str] = None) -> Dict[str, Any]:
    """Same as read_mapping, with any keys."""
    text = file_text(path) if text is None else text
    values = read_yaml(path, text) if is_yaml(path) else read_json(path, text)
    if not isinstance(values, dict):
        raise Error(f"{path}: the file must hold a mapping of keys to values")
    return values


def _listed(known: Sequence[str]) -> str:
    """Known keys in one line; keys of large groups are left out, schedule --help lists options of the same names."""
    others = ", ".join(f"{family}..." for family in FAMILIES)
    return ", ".join(key for key in known if not key.startswith(FAMILIES)) + f", and {others} as the options of schedule --help"


def keys_checked(path: str, values: Dict[str, Any], known: Sequence[str]) -> Dict[str, Any]:
    """Returns the values if all keys are known, else raises Error."""
    for key in values:
        if key not in known:
            raise Error(f"{path}: unknown key {shown(key)}{other_kind(values) or '; ' + (nearest(key, known) or 'known keys: ' + _listed(known))}")
    return values


def is_yaml(path: str) -> bool:
    return path.lower().endswith((".yaml", ".yml"))
