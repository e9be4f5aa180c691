"""Batches."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from runner.settings.section import Range, Section


class BatchSettings(Section):
    """Batches: how starts are drawn, how the scene is put back, when to rest, whom to call."""

    session: int = Field(5, ge=1, description="starts in a row with the box in one place; in the twin one world")
    round: int = Field(20, ge=1, description="trials between two updates of the corrections")
    workers: int = Field(0, ge=0, le=256, description="processes of a twin batch; 0: one a core")
    ray_address: str = Field("", description="of the cluster for --engine ray; none: one of this machine's own")
    block_x_min_m: float = Field(0.05, description="starts: block at x from here")
    block_r_m: Range = Field((0.15, 0.29), description="starts: distance of the block from the base axis")
    box_x_max_m: float = Field(-0.05, description="starts: the twin's box at x up to here")
    box_r_m: Range = Field((0.17, 0.26), description="starts: the twin's box; farther out the arm can't empty it")
    gap_m: float = Field(0.05, ge=0.01, description="starts: least gap between block and box, so that jaws fit in")
    fault_share: float = Field(
        0.0, ge=0, le=1, description="the twin: in so large a share of the trials one of its faults begins, whichever"
    )
    reset: Literal["arm", "teleport"] = Field(
        "arm", description="who puts the block to the next start; teleport: in the twin, for speed only"
    )
    reset_attempts: int = Field(3, ge=1, le=10, description="tries of the arm, then a person is called")
    start_tolerance_mm: float = Field(15.0, gt=0, description="a block this near its planned start lies there")
    start_tolerance_deg: float = Field(20.0, gt=0, description="and turned by no more than this")
    person: Literal["none", "twin"] = Field(
        "twin", description="who comes when called: twin: in the twin, the block is put back, and the log says so"
    )
    person_after_s: float = Field(0.0, ge=0, description="so long after the call the twin's person comes")
    call_command: tuple[str, ...] = Field((), description="run to call a person; what and why comes as last argument")
    call_desktop: bool = Field(True, description="call by notify-send where there is a desktop")
    call_url: str = Field("", description="call by POST to this address, as JSON")
    faults_in_a_row: int = Field(3, ge=1, description="so many crashed trials in a row pause the batch")
    invalid_in_a_row: int = Field(3, ge=1, description="so many invalid starts in a row pause the batch")
    keep_pictures: Literal["all", "telling"] = Field(
        "all",
        description="telling: of a completed trial only the first look, the judged and the tip's; of a reset the last",
    )
    keep_all_of_every: int = Field(10, ge=1, description="with telling: every so many-th start keeps all pictures")
    reconnect_s: float = Field(300.0, ge=0, description="how long to try to reach a lost arm or camera again")
    min_free_mb: int = Field(500, ge=0, description="with less disk free than this the batch pauses")

    @field_validator("call_url")
    @classmethod
    def _is_a_web_address(cls, url: str) -> str:
        if url and not url.startswith(("http://", "https://")):
            raise ValueError("it begins with http:// or https://")
        return url
