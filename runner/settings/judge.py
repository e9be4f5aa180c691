"""Who judges, and how a model is asked."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from runner.settings.section import Section


class JudgeSettings(Section):
    """Who judges, and how a model is asked. The key itself never stands here."""

    kind: Literal["measured", "claude", "compatible", "panel", "person"] = Field(
        "measured",
        description="measured: OpenCV and the gripper's reading; claude: the Messages API; compatible: a local "
        "OpenAI-compatible server; panel: measured and a model together; person: asks at the terminal",
    )
    language: Literal["en", "ja"] = Field("en", description="language of prompts and reasons")
    model: str = Field("claude-haiku-5-5", min_length=1, description="the model that looks at the pictures")
    effort: Literal["", "low", "medium", "high", "xhigh", "max"] = Field(
        "medium", description="how hard Claude is asked to think; empty: say nothing, for servers that don't know it"
    )
    base_url: str = Field(
        "", description="http://HOST:PORT of the server, without /v1; empty: $ANTHROPIC_BASE_URL, else Anthropic's own"
    )
    key_variable: str = Field(
        "ANTHROPIC_API_KEY",
        min_length=1,
        description="environment variable that holds the key; it is never written down",
    )
    deadline_s: float = Field(
        60.0, gt=0, le=3600, description="a judgement ends within this, retries and waits included"
    )
    max_tokens: int = Field(4000, ge=256, le=20_000, description="most tokens of a reply, thinking included")
    crops: bool = Field(True, description="also send a closer look at the decisive place, before and after")
    threshold: float = Field(0.5, ge=0, le=1, description="a model's yes or no less sure than this counts as unsure")
    budget_usd: float = Field(0.50, ge=0, description="most dollars that one run may spend on judging")
    budget_calls: int = Field(40, ge=0, description="most calls to a model that one run may make")
    escalate_model: str = Field("", description="stronger model that a panel asks on disagreement; empty: none")
    panel_model: Literal["claude", "compatible"] = Field("claude", description="what a panel's model is asked through")
    repeats: int = Field(
        1, ge=1, le=7, description="how often a model is asked about a step, in other order and words; all must agree"
    )
    repeat_below: float = Field(
        1.0, ge=0, le=1, description="asked again only if the first answer is less sure than this"
    )
    reviewer: str = Field("", description="name of the person who judges; empty: $USER")
    second_look: Literal["", "measured", "claude", "compatible", "panel"] = Field(
        "measured", description="whose answer a person is shown after having judged blind; empty: nobody's"
    )

    @field_validator("base_url")
    @classmethod
    def _holds_no_secret(cls, url: str) -> str:
        if any(sign in url for sign in "@?#"):
            raise ValueError("an address of a server only: what else it holds would be written into every log")
        return url
