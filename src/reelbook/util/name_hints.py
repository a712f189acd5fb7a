"""The hints of an `AttributeError`: names that users commonly try, and what to type instead."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_FILE = "the file is `run.video` or `run.images[0]`"
_AGAIN = "rb.form(run) opens its inputs, rb.sweep(run, seed=range(4)) varies them, rb.run(run.input, fresh=True) pays for it anew"
_INPUT = "what was asked is `run.input`"
_PRICE = "`plan.credits` is the price of all rows, `plan.credits_due` of those that are not paid for yet"

NAME_HINTS: Mapping[str, Mapping[str, str]] = {
    "reelbook": {
        "account": "rb.connect().account()",
        "budget": "a budget belongs to a sweep: plan.run(budget=…); rb.connect().account() tells the credits left",
        "client": "rb.connect() gives the client",
        "costs": "rb.library().frame has the credits of every run; table.reel.cost() adds them up",
        "credits": "rb.connect().account() tells the credits left, rb.estimate(input) what a run costs",
        "display": "a run or a table at the end of a cell shows itself; in a loop use IPython's display(run)",
        "gallery": "rb.studio() has a gallery, and rb.library().frame lists every run",
        "export": "rb.library().export('folder', table), or table.reel.export('folder')",
        "find": "rb.library().find(prompt='fox')",
        "gif": "table.reel.gif('clips.gif')",
        "generate": "rb.run(rb.TextToVideo(prompt='…'))",
        "grid": "rb.sweep(input, seed=range(4)) plans a grid of runs, table.reel.grid() shows one",
        "help": "help(rb.TextToVideo) explains every field; `rb.run?` works too",
        "history": "rb.library().frame lists every run",
        "image_to_video": "rb.run(rb.ImageToVideo('…', image_url='picture.png'))",
        "images_to_video": "rb.run(rb.ImagesToVideo(['a.png', 'b.png']))",
        "load": "rb.read(path) reads a table back, rb.library() has every run",
        "models": "rb.connect().models() lists the models, rb.model('its/id') is the input class of one",
        "open": "rb.read(path) reads a table back, rb.library() has every run",
        "plan": "rb.sweep(input, seed=range(4)) makes a plan",
        "play": "a run at the end of a cell plays; in a loop use IPython's display(run)",
        "price": "rb.estimate(input)",
        "prune": "rb.library().prune(keep=table)",
        "rank": "rb.judge(table).ranking(), once something is judged",
        "rate": "rb.judge(table, kind='stars'), or without kind= in blind pairs",
        "report": "table.reel.report('report.html')",
        "resize": "rb.run(rb.SmartResize('picture.png', target_sizes=['1080x1920']))",
        "runs": "rb.library().frame lists every run",
        "save": "run.video.save('clip.mp4')",
        "settings": "rb.options",
        "sheet": "table.reel.sheet() draws the clips of a table, rb.strip(run) one over time",
        "show": "a run or a table at the end of a cell shows itself; in a loop use IPython's display(run)",
        "smart_resize": "rb.run(rb.SmartResize('picture.png', target_sizes=['1080x1920']))",
        "submit": "rb.start(input) returns as soon as the service has the run",
        "text_to_video": "rb.run(rb.TextToVideo('…'))",
        "usage": "rb.connect().account()",
        "widget": "rb.form(rb.TextToVideo) or rb.studio()",
    },
    "Run": {
        "again": _AGAIN,
        "cost": "run.credits",
        "display": "a run at the end of a cell shows itself; in a loop use IPython's display(run)",
        "download": "its files are here already: run.video.save('clip.mp4')",
        "duration": "run.video.probe.seconds is the length of the clip, run.timings how long the run took",
        "error": "run.failure",
        "file": _FILE,
        "files": "run.media",
        "frames": "run.video.frames()",
        "height": "run.video.probe",
        "image": "run.images[0]",
        "model": "run.endpoint_id",
        "open": f"a run at the end of a cell plays; {_FILE}",
        "path": "run.video.path",
        "paths": "[file.path for file in run.media]",
        "play": "a run at the end of a cell plays; in a loop use IPython's display(run)",
        "price": "run.credits",
        "prompt": f"{_INPUT}.prompt, or run.output.prompt as the service used it",
        "repeat": _AGAIN,
        "rerun": _AGAIN,
        "result": "run.output",
        "save": "run.video.save('clip.mp4')",
        "seed": "run.output.seed",
        "show": "a run at the end of a cell shows itself; in a loop use IPython's display(run)",
        "state": "run.status",
        "still": "run.video.still(0.5)",
        "url": "run.output.video.url at the service, run.video.path here",
        "width": "run.video.probe",
    },
    "LocalFile": {
        "crop": "file.clip('part.mp4', 12, 40) saves some of its frames",
        "cut": "file.clip('part.mp4', 12, 40)",
        "duration": "file.probe.seconds",
        "first_frame": "file.still(0)",
        "fps": "file.probe",
        "frame": "file.still(frame=12)",
        "last_frame": "file.still(1.0); given as a picture, a video stands for its last frame",
        "name": "file.path.name",
        "play": "a file at the end of a cell shows itself",
        "show": "a file at the end of a cell shows itself; in a loop use IPython's display(file)",
        "size": "file.probe has width and height, file.path.stat().st_size the bytes",
        "thumbnail": "file.still(0)",
        "trim": "file.clip('part.mp4', 12, 40)",
        "to_numpy": "numpy.asarray(file.still(0.5)), or for all frames: [numpy.asarray(frame) for frame in file.frames()]",
        "url": "file.source.url at the service, file.path here",
    },
    "Plan": {
        "budget": "plan.run(budget=plan.credits)",
        "cost": _PRICE,
        "display": "a plan at the end of a cell shows itself; plan.frame is its table",
        "estimate": _PRICE,
        "execute": "plan.run(budget=plan.credits)",
        "filter": "plan.where(lambda row: row.seed > 2)",
        "grid": "plan.frame is its table",
        "head": "plan[:5], or plan.frame.head()",
        "price": _PRICE,
        "repeat": "plan.repeated(3)",
        "rows": "list(plan), or plan.frame as a table",
        "sample": "rb.sampled(40, seed=(0, 99)) draws points; plan.shuffled()[:5] takes some rows",
        "save": "plan.to_toml('plan.toml')",
        "show": "a plan at the end of a cell shows itself; plan.frame is its table",
        "shuffle": "plan.shuffled(seed=0)",
        "sort": "plan.sorted_by('seed')",
        "submit": "plan.start(budget=plan.credits)",
        "table": "plan.frame",
    },
    "SweepJob": {
        "result": "job.wait() gives the table, job.frame what is there so far",
        "results": "job.wait() gives the table, job.frame what is there so far",
        "show": "job.panel",
        "status": "job.progress",
        "stop": "job.cancel()",
        "table": "job.frame",
    },
    "Reel": {
        "best": "table.reel.measure(['sharpness']).nlargest(3, 'sharpness')",
        "costs": "table.reel.cost()",
        "files": "table.reel.outputs",
        "frame": "the table itself",
        "metrics_of": "table.reel.measure()",
        "play": "`table.reel` at the end of a cell: click a poster",
        "scatter": "table.reel.plot('num_frames', 'credits', color='seed')",
        "save": "table.reel.report('report.html'), or table.to_parquet('table.parquet')",
        "show": "`table.reel` at the end of a cell shows itself",
        "video": "table.reel.file(7)",
        "videos": "table.reel.outputs lists the files",
    },
    "Library": {
        "all": "library.frame",
        "costs": "library.frame.credits.sum()",
        "delete": "library.prune()",
        "history": "library.frame",
        "latest": "library.frame.tail(1).reel.runs",
        "list": "library.frame",
        "reel": "library.frame.reel",
        "remove": "library.prune()",
        "search": "library.find(prompt='fox')",
        "table": "library.frame",
    },
    "Client": {
        "balance": "client.account()",
        "credits": "client.account()",
        "form": "rb.form(rb.TextToVideo)",
        "runs": "rb.library().frame",
        "submit": "client.start(input)",
        "sweep": "rb.sweep(input, seed=range(4)).run(budget=…)",
    },
    "Estimate": {
        "cost": "estimate.credits",
        "price": "estimate.credits",
        "total": "estimate.credits",
    },
}  # fmt: skip
"""For each class, missing names and what to type instead."""


def missing_attribute(owner: object, name: str) -> AttributeError:
    """The error for a missing attribute, with a hint on what to type instead if one is known.

    >>> class Run: pass
    >>> print(missing_attribute(Run(), "save"))
    A Run has no `save`: run.video.save('clip.mp4').
    """
    is_package = isinstance(owner, ModuleType)
    kind = owner.__name__ if isinstance(owner, ModuleType) else type(owner).__name__
    what = f"module {kind!r} has no attribute {name!r}" if is_package else f"A {kind} has no `{name}`"
    answer = NAME_HINTS.get(kind, {}).get(name)
    if answer is None and not name.startswith("_"):
        close = difflib.get_close_matches(name, dir(owner), n=1, cutoff=0.75)
        answer = f"did you mean `{close[0]}`?" if close else None
    ended = "" if answer is None else f": {answer}" if answer.endswith("?") else f": {answer}."
    return AttributeError(f"{what}{ended}" if ended else f"{what}.", name=name, obj=owner)


def with_usage(hint: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A decorator that adds an example call to the error for wrong arguments.

    Repeated interrupts of the function raise one `KeyboardInterrupt`, after any import in progress.

    >>> @with_usage("double(3)")
    ... def double(number: int) -> int:
    ...     return 2 * number
    >>> double(value=3)
    Traceback (most recent call last):
    TypeError: double() does not take these arguments (missing a required argument: 'number'). Write double(3).
    """

    def around(function: Callable[P, T]) -> Callable[P, T]:
        from .interrupts import raise_once  # Not at module level: the package imports this module first.

        signature = inspect.signature(function)

        @wraps(function)
        def call(*parts: P.args, **named: P.kwargs) -> T:
            try:
                signature.bind(*parts, **named)
            except TypeError as error:
                name = function.__name__
                raise TypeError(f"{name}() does not take these arguments ({error}). Write {hint}.") from None
            with raise_once():
                return function(*parts, **named)

        return call

    return around


class NameHints:
    """A base class with hints in its `AttributeError` and without its internal names in completion."""

    __slots__ = ()

    _internal: ClassVar[tuple[str, ...]] = ()
    """Names without an underscore that are for use within this package only."""

    if not TYPE_CHECKING:  # Type checkers keep reporting unknown names.

        def __getattr__(self, name: str) -> Any:
            raise missing_attribute(self, name)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in self._internal]


class HintingModule(ModuleType):
    """A module that users may mistake for a function; calling it raises a `TypeError` with what to type instead."""

    def __call__(self, *parts: object, **named: object) -> Any:
        name = self.__name__.rpartition(".")[2]
        raise TypeError(f"rb.{name} is a module and no function: {NAME_HINTS['reelbook'][name]}.")
