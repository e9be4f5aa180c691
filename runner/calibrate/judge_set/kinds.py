"""Kinds of scenes: for each how it is laid out, and what has to be true of it once physics has settled it.

A kind proposes; the twin disposes. What came out otherwise than the kind says is thrown away and drawn again, and a
label is read off the truth alone. Kinds whose answer is no come as near to a yes as they can.
"""

from __future__ import annotations

from runner.calibrate.judge_set.pick_kinds import PICK_KINDS
from runner.calibrate.judge_set.place_kinds import PLACE_KINDS

KINDS = PLACE_KINDS + PICK_KINDS
