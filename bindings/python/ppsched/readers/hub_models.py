# SPDX-License-Identifier: Apache-2.0
"""Recipes that name a model of Hugging Face, whose config.json is looked for and never downloaded."""
import os
from typing import Callable, List, Mapping, Optional

from .._core._library import Error
from .._core.shown import shown

Read = Callable[[str], Mapping[str, object]]
CONFIG = "config.json"


def _places(path: str, name: str) -> List[str]:
    """A folder of that name, from where the recipe is or from here; and in the recipe's folder one of the name's last part."""
    here = os.path.dirname(os.path.abspath(path))
    parts = [part for part in name.split("/") if part]
    last = parts[-1] if parts else name
    return [os.path.join(here, name, CONFIG), os.path.join(name, CONFIG), os.path.join(here, last, CONFIG)]


def config_of(path: str, name: object) -> str:
    """The config.json of a model that a recipe names."""
    if not isinstance(name, str) or not name:
        raise Error(f"{path}: the name of its model is {shown(name)}; give Hugging Face's config.json of the model")
    places = _places(path, name)
    found: Optional[str] = next((place for place in places if os.path.isfile(place)), None)
    if found is None:
        raise Error(f"{path}: its model is {shown(name)} of Hugging Face, whose config.json is not here; put that file at {places[-1]}, or give it instead of this file")
    return found
