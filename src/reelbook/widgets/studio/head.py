"""The head of a studio: the choice of a model, the account, and the cost so far."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import traitlets

from ...display.formatting import format_credits, join_with_dots, shorten
from ...errors import ReelbookError, UncertainRun
from ...models.catalog import CATALOG, find_endpoint
from ...util.printable import format_count
from ..forms.base_widget import ScriptWidget
from ..forms.run_cards import PressedRun
from ..forms.schema import get_sheet

if TYPE_CHECKING:
    from ...current import Session
    from ...models.base import Input
    from .sweeps import SweepCost

MAX_ID_LENGTH = 300
CREDITS = {"credits_available": "left", "credits_reserved": "reserved for runs in progress"}

log = logging.getLogger("reelbook")


class StudioPart(ScriptWidget):
    """Base class of the head and the gallery."""

    part = traitlets.Unicode().tag(sync=True)
    """`head` or `gallery`."""
    thread_label = "studio"

    def __init__(self, part: str, **traits: Any) -> None:
        self.lock = threading.RLock()
        super().__init__("studio", part=part, **traits)


class Head(StudioPart):
    """The choice of a model, and the account, which is read in the background."""

    models: Any = traitlets.List().tag(sync=True)
    """The models to choose from: the catalog, and others opened here."""
    chosen = traitlets.Unicode().tag(sync=True)
    """The id of the model whose form is displayed."""
    carried = traitlets.Unicode().tag(sync=True)
    """The sentence that names the fields copied from the previous form."""
    account = traitlets.Dict().tag(sync=True)
    """The service and the credits, as text."""
    cost = traitlets.Unicode().tag(sync=True)
    """The cost of all runs of this studio, as text."""
    twin = traitlets.Unicode().tag(sync=True)
    """The mark of the static picture beside it, which the studio hides where it is displayed."""

    kept = traitlets.Int(0).tag(sync=True)
    """The number of results in the static picture."""

    def __init__(self, session: Session, choose: Callable[[str], object], *, twin: str) -> None:
        self._session: Session | None = session
        self._reading = threading.Lock()
        super().__init__(
            "head", models=[_model_json(row.input) for row in CATALOG], twin=twin, account=_describe_service(session)
        )
        self._choose_model = choose
        self.handlers = {
            "here": lambda content, _: self.refresh_account(),
            "refresh": lambda content, _: self.refresh_account(),
            "choose": self._choose,
        }

    def add_model(self, kind: type[Input]) -> None:
        """Add a model to the choice."""
        with self.lock:
            if all(model["id"] != kind.endpoint_id for model in self.models):
                self.models = [*self.models, _model_json(kind)]

    def refresh_account(self) -> None:
        """Read the account in the background, if connected."""
        if not self.is_closed:
            self.in_background("account", self._read)

    def close(self) -> None:
        """Close it."""
        self._session = None
        super().close()

    def _read(self) -> None:
        # One after the other, so that what was read last is what is shown.
        with self._reading:
            session = self._session
            found = None if session is None else _read_account(session)
            with self.lock:
                if found is not None and not self.is_closed:
                    self.account = found
                    # Also without a change: it answers the press of a button.
                    self.send({"asked": True})

    def _choose(self, content: dict[str, Any], _: list[memoryview]) -> None:
        model = str(content.get("model") or "").strip()[:MAX_ID_LENGTH]
        if not model:
            self.send({"refused": "Type the id of a model, such as svc/smart-resize."})
            return

        def choose() -> None:
            try:
                self._choose_model(model)
            except Exception as error:
                if not isinstance(error, ReelbookError):
                    log.debug("a model could not be opened", exc_info=True)
                self.send({"refused": f"{str(error) or type(error).__name__} The form stays as it was."})
            else:
                self.send({"opened": model})

        self.in_background("choose", choose)


def _model_json(kind: type[Input]) -> dict[str, Any]:
    """A model as JSON for the choice: its title, its purpose and its lowest price."""
    row = find_endpoint(kind.endpoint_id)
    title = shorten(get_sheet(kind)["title"], 80)
    price = "" if row is None else f"from {row.base_credits} credits"
    return {"id": kind.endpoint_id, "title": title, "purpose": "" if row is None else row.purpose, "price": price}


def _describe_service(session: Session) -> dict[str, Any]:
    if session.current is None:
        return {"service": "Not connected yet", "credits": f"the first run connects to {session.next_service_name()}"}
    return {"service": _format_service(session), "credits": "", "offers": ""}


def _read_account(session: Session) -> dict[str, Any]:
    """The service, the credits left and the features; does not connect for it."""
    if (client := session.current) is None:
        return _describe_service(session)
    try:
        account = client.account()
        offers = ", ".join(sorted(client.features()))
    except Exception as error:
        if not isinstance(error, ReelbookError):
            log.debug("the account could not be asked", exc_info=True)
        return {**_describe_service(session), "trouble": f"The account could not be asked: {shorten(error, 300)}"}
    return {
        "service": _format_service(session),
        "credits": format_credits_left(account),
        "offers": shorten(offers, 300),
    }


def _format_service(session: Session) -> str:
    return "Embedded service on this machine" if session.is_embedded else shorten(session.service_name(), 120)


def format_credits_left(account: Mapping[str, Any]) -> str:
    """The credits left on an account, as text.

    >>> format_credits_left({"credits_available": 999_894, "credits_reserved": 53})
    '999,894 credits left, 53 reserved for runs in progress'
    """
    known = [(account.get(name), words) for name, words in CREDITS.items()]
    parts = [
        (amount, words) for amount, words in known if isinstance(amount, (int, float)) and (amount or words == "left")
    ]
    if not parts:
        return "credits unknown"
    (amount, words), *others = parts
    return ", ".join([f"{amount:,} credits {words}", *(f"{more:,} {label}" for more, label in others)])


def format_carried(names: list[str], title: str) -> str:
    """The sentence that names the fields copied from another form.

    >>> format_carried(["prompt", "seed"], "Text to video")
    'Kept from Text to video: prompt, seed.'
    """
    return f"Kept from {title}: {', '.join(names)}." if names else ""


def format_cost(entries: Sequence[PressedRun], sweeps: Sequence[SweepCost] = ()) -> str:
    """The cost of all runs, in one line.

    >>> format_cost([])
    'This session: nothing run yet'
    """
    total, runs, free, unknown, active, about = 0, 0, 0, 0, 0, False
    for entry in entries:
        run = entry.run if entry.paid_run is None else entry.paid_run
        if run is None:
            active += entry.is_sending
            unknown += isinstance(entry.error, UncertainRun)
        elif not entry.is_over:
            active += 1
        elif run.from_library:
            free += 1
        elif run.credits is None:
            unknown += 1
        else:
            total, runs, about = total + run.credits, runs + 1, about or run.credits_source == "estimated"
    for sweep in sweeps:
        total, runs, active = total + sweep.credits, runs + sweep.runs, active + sweep.under_way
    if not (runs or free or unknown or active):
        return "This session: nothing run yet"
    spent = format_credits(total, "estimated" if about and total else None)
    return "This session: " + join_with_dots(
        f"{spent} in {format_count(runs, 'run')}",
        f"{free} from the library at no cost" if free else "",
        f"{unknown} of unknown cost" if unknown else "",
        f"{active} under way" if active else "",
    )
