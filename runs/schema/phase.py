"""The phases of a trial in which a pose is looked up, by the field log's names."""

from __future__ import annotations

from typing import Literal, get_args

Phase = Literal["approach_pick", "pick", "approach_place", "place_withblock", "place_noblock"]

PHASES: tuple[str, ...] = get_args(Phase)
