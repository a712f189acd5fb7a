"""The panel in which somebody judges clips without knowing their settings: markup that a script fills while there is a kernel."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from .theme import render_script, render_style

STYLES, SCRIPT = ("clock.css", "judge.css"), "judge.js"
PAIRS, STARS, KEEP = "pairs", "stars", "keep"
RUN_AGAIN = (
    "Run the cell to judge. The ranking is not in this output while clips are judged, so that it influences nobody."
)

_ROOT = Markup(
    '<div class="rb rb-judge mathjax_ignore tex2jax_ignore" data-rb-judge="{kind}" data-key="{key}" data-group="{group}" '
    'data-lm-suppress-shortcuts="true" role="group" tabindex="0" aria-label="Judge: {question}" aria-keyshortcuts="{shortcuts}">'
    '<div class="rb-judge-head"><p class="rb-judge-question"><bdi>{question}</bdi></p></div>'
    '<p class="rb-judge-note" data-rb-judge-note>{summary}{note}</p>{ranking}<template data-rb-judge-parts>{rater}{live}</template></div>'
)
# In a template, which pages without scripts do not show.
_RATER = Markup(
    '<label class="rb-judge-rater" data-rb-judge-rater hidden>Rater <input type="text" maxlength="60" autocomplete="off" '
    'spellcheck="false" placeholder="your name"></label>'
)
_LIVE = Markup(
    '<div class="rb-judge-live rb-clock" data-rb-judge-live hidden><p class="rb-judge-prompt" data-rb-judge-prompt dir="auto"></p>'
    '<div class="rb-judge-stage">{slots}</div><div data-rb-transport></div><div class="rb-judge-answers" role="group" aria-label="Answer">{answers}</div>'
    '<div class="rb-judge-foot"><p class="rb-judge-words" role="status"></p><span class="rb-judge-tools">{tools}</span></div>'
    '<p class="rb-judge-help" data-rb-judge-help hidden>{help}</p></div>'
)
# Hidden from screen readers: the buttons name the sides.
_SLOT = Markup('<figure class="rb-judge-slot"><span class="rb-judge-letter" aria-hidden="true">{}</span></figure>')
_BUTTON = Markup('<button type="button" data-rb-answer="{}" aria-label="{}" title="{} ({})"{}>{}{}</button>')
_KEY = Markup(' <kbd aria-hidden="true">{}</kbd>')
_TOOL = Markup('<button type="button" data-rb-tool="{}" title="{}">{}{}</button>')
# Only where keys do nothing: outside of the panel they are those of the notebook, in which X cuts the cell.
_FOCUS = Markup('<span class="rb-judge-focus">Click here to use the keys</span>')
_PLAYER_HELP = "Space plays · ← → one frame · Shift ← → ten · Home End · L loop · [ ] range"


class AnswerChoice:
    """One possible answer: its value, its key, its words, and whether it is among the large buttons."""

    def __init__(self, value: str, key: str, words: str, name: str = "", *, is_large: bool = True) -> None:
        self.value, self.key, self.words, self.name, self.is_large = value, key, words, name or words, is_large

    @property
    def markup(self) -> Markup:
        """The button."""
        kind = Markup(" data-rb-large") if self.is_large else ""
        shortcut = "" if self.key == self.words else _KEY.format(self.key)
        return _BUTTON.format(self.value, self.name, self.name, self.key, kind, self.words, shortcut)


SKIP = AnswerChoice("skip", "S", "Skip", "Skip, without an answer", is_large=False)
ANSWERS = {
    PAIRS: (
        AnswerChoice("left", "A", "A", "A is the answer"),
        AnswerChoice("tie", "T", "Tie"),
        AnswerChoice("right", "B", "B", "B is the answer"),
        AnswerChoice("bad", "X", "Both bad", is_large=False),
        SKIP,
    ),
    STARS: (
        *(AnswerChoice(str(count), str(count), f"{count} ★", f"{count} of 5 stars") for count in range(1, 6)),
        SKIP,
    ),
    KEEP: (AnswerChoice("keep", "K", "Keep"), AnswerChoice("reject", "R", "Reject"), SKIP),
}
"""The answers of each kind of question, in the order of their buttons."""


def judge_bundle(
    question: str, kind: str, *, key: str, group: str, summary: str = "", ranking: Markup | None = None
) -> dict[str, Any]:
    """The MIME bundle of a panel; with a ranking, the panel shows that until somebody judges on."""
    return {
        "text/plain": f"{question} {summary}".strip(),
        "text/html": render_judge(question, kind, key=key, group=group, summary=summary, ranking=ranking),
    }


def render_judge(
    question: str, kind: str, *, key: str, group: str, summary: str = "", ranking: Markup | None = None
) -> str:
    """The static output with the script that turns it into a panel where a kernel answers to the key.

    `group` names what is judged and by whom, so that answers which were not saved outlive the kernel.

    >>> page = render_judge("Which is <i>?", "pairs", key="k", group="g")
    >>> "Which is &lt;i&gt;?" in page, "data-rb-answer=\\"left\\"" in page
    (True, True)
    """
    answers = ANSWERS[kind]
    letters = ("A", "B") if kind == PAIRS else ("",)
    live = _LIVE.format(
        slots=Markup("").join(map(_SLOT.format, letters)),
        answers=Markup("").join(answer.markup for answer in answers),
        tools=_FOCUS
        + _TOOL.format("undo", "Take the last answer back (U)", "Undo", _KEY.format("U"))
        + _TOOL.format("rank", "End judging for now, and show which settings lead", "Show ranking", "")
        + _TOOL.format("help", "Keys (?)", "Keys", _KEY.format("?")),
        help=" · ".join(
            [*(f"{answer.key} {answer.name.lower()}" for answer in answers), "U or Backspace undo", _PLAYER_HELP]
        )
        if kind != PAIRS
        else f"A or B the better one · T tie · X both bad · S skip · U or Backspace undo · {_PLAYER_HELP}",
    )
    root = _ROOT.format(
        kind=kind,
        key=key,
        group=group,
        question=question,
        shortcuts=" ".join([*(answer.key for answer in answers), "U Backspace Space ArrowLeft ArrowRight Home End L"]),
        rater=_RATER,
        summary=Markup("{} ").format(summary) if summary else "",
        note="" if ranking else RUN_AGAIN,
        ranking=Markup('<div data-rb-judge-ranking>{}</div>').format(ranking) if ranking else "",
        live=live,
    )  # fmt: skip
    return str(render_style(*STYLES) + root + render_script(SCRIPT))
