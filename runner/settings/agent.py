"""An agent at the arm."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from runner.settings.section import Section


class AgentSettings(Section):
    """An agent at the arm, a model or a program that comes over MCP: how it is asked, and what it may use up."""

    by: Literal["auto", "claude", "scripted"] = Field(
        "auto", description="who does the task; auto: claude where there is a key, else the script of the standard job"
    )
    model: str = Field("claude-sonnet-5-5", min_length=1, description="the model that is asked")
    base_url: str = Field(
        "", description="address of the Messages API; empty: ANTHROPIC_BASE_URL, else Anthropic's own"
    )
    key_variable: str = Field("ANTHROPIC_API_KEY", min_length=1, description="environment variable that holds the key")
    effort: Literal["", "low", "medium", "high", "xhigh", "max"] = Field(
        "", description="how hard the model thinks; empty: its own default"
    )
    max_tokens: int = Field(4000, ge=256, le=20_000, description="most that one answer of the model may have")
    pictures: bool = Field(True, description="whether the model is shown what the camera sees")
    time_s: float = Field(
        900.0, gt=0, description="limit of a sitting, by the arm's clock or ours, whichever is farther"
    )
    budget_usd: float = Field(1.0, ge=0, description="limit of what the model's answers may cost in a sitting")
    turns: int = Field(60, ge=1, description="limit of answers of the model in a sitting")
    calls: int = Field(150, ge=1, description="limit of calls of tools in a sitting")
    motions: int = Field(80, ge=0, description="limit of moves of the arm in a sitting; coming to rest is not counted")
    picks: int = Field(4, ge=0, description="limit of tries at the block in a sitting")
    lease_s: float = Field(60.0, gt=0, description="mcp: the arm is free again this long after its holder's last call")
    lease_most_s: float = Field(
        900.0, gt=0, description="mcp: and this long after it was taken, whatever the holder does"
    )
