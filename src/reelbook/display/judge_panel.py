"""The panel in which somebody judges clips without knowing their settings: markup that a script fills while there is a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from .theme import render, render_script, render_style

STYLES, SCRIPT = ("clock.css", "judge.css"), "judge.js"
PAIRS, STARS, KEEP = "pairs", "stars", "keep"
RUN_AGAIN = (
    "Run the cell to judge. The ranking is not in this output while clips are judged, so that it influences nobody."
)

JUDGE_ON = "Run the cell again to judge on."


@dataclass(frozen=True, slots=True)
class AnswerChoice:
    """One possible answer: its value, its key, its words, what it is called in full, and whether its button is large."""

    value: str
    key: str
    words: str
    name: str
    is_large: bool = True


SKIP = AnswerChoice("skip", "S", "Skip", "Skip, without an answer", is_large=False)
ANSWERS = {
    PAIRS: (
        AnswerChoice("left", "A", "A", "A is the answer"),
        AnswerChoice("tie", "T", "Tie", "Tie"),
        AnswerChoice("right", "B", "B", "B is the answer"),
        AnswerChoice("bad", "X", "Both bad", "Both bad", is_large=False),
        SKIP,
    ),
    STARS: (
        *(AnswerChoice(str(count), str(count), f"{count} ★", f"{count} of 5 stars") for count in range(1, 6)),
        SKIP,
    ),
    KEEP: (AnswerChoice("keep", "K", "Keep", "Keep"), AnswerChoice("reject", "R", "Reject", "Reject"), SKIP),
}
"""The answers of each kind of question, in the order of their buttons."""


def judge_bundle(
    question: str, kind: str, *, key: str, group: str, summary: str = "", ranking: Markup | None = None
) -> dict[str, Any]:
    """The MIME bundle of a panel, whose script makes it live where a kernel answers to the key.

    With a ranking, the panel shows that until somebody judges on. `group` names what is judged and by whom, so that
    answers which were not saved outlive the kernel.

    >>> page = judge_bundle("Which is <i>?", "pairs", key="k", group="g")["text/html"]
    >>> "Which is &lt;i&gt;?" in page, "data-rb-answer=\\"left\\"" in page
    (True, True)
    """
    answers = ANSWERS[kind]
    keys = "A or B the better one · T tie · X both bad · S skip"
    if kind != PAIRS:
        keys = " · ".join(f"{answer.key} {answer.name.lower()}" for answer in answers)
    root = render(
        "judge.html",
        kind=kind,
        link=key,
        group=group,
        question=question,
        shortcuts=" ".join([*(answer.key for answer in answers), "U Backspace Space ArrowLeft ArrowRight Home End L"]),
        summary=summary,
        note=JUDGE_ON if ranking else RUN_AGAIN,
        ranking=ranking,
        letters=("A", "B") if kind == PAIRS else ("",),
        answers=answers,
        help=f" · {keys} · U or Backspace undo",
    )
    html = str(render_style(*STYLES) + root + render_script(SCRIPT))
    return {"text/plain": f"{question} {summary}".strip(), "text/html": html}
