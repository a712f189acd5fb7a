"""`rb.connect`, and functions of the current client: `rb.run`, `rb.start`, `rb.attach`, `rb.estimate`, `rb.model`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..client import check_input
from ..current import session
from ..models.base import Input
from ..models.catalog import Estimate
from ..runs.run import Run

connect = session.connect


def run(request: Input, *, fresh: bool = False, take: int | None = None) -> Run:
    """Run a model and wait for its media; a result in the library is reused at no cost.

    Example::

        run = rb.run(boat)
        run.video.save("boat.mp4")
    """
    check_input(request)  # Before the embedded service is started.
    return session.client().run(request, fresh=fresh, take=take)


def start(request: Input, *, fresh: bool = False, take: int | None = None) -> Run:
    """Start a run and return as soon as the service has accepted it.

    Example::

        later = rb.start(boat.revised(seed=8))
        later.wait(timeout=60)
    """
    check_input(request)
    return session.client().start(request, fresh=fresh, take=take)


def attach(request_id: str, *, model: str | None = None) -> Run:
    """Follow a run that was started earlier or on another machine, by the service's id for it.

    Example::

        run = rb.run(boat)
        rb.attach(run.request_id, model=run.endpoint_id).wait()
    """
    return session.client().attach(request_id, model=model)


def cancel_queued() -> str:
    """Cancel the runs in the queue of the current client's service, for instance after interrupting a sweep.

    Runs already in progress continue, as do active sweeps and other notebooks. The sentence says what came of it.

    Example::

        rb.cancel_queued()
    """
    return session.client().cancel_queued()


def estimate(request: Input) -> Estimate:
    """The price of a run. Asking costs nothing.

    Example::

        price = rb.estimate(boat)
        price.credits, price.source
    """
    check_input(request)
    return session.client().estimate(request)


def model(endpoint_id: str | Mapping[str, Any]) -> type[Any]:
    """The input class of any model, from its id at the service or from an OpenAPI description as a dict.

    Example::

        Resize = rb.model("svc/smart-resize")
        Resize(image_url="boat.png", target_sizes=["1080x1080"])
    """
    if isinstance(endpoint_id, Mapping):
        from ..models.described import describe

        return describe(endpoint_id)
    return session.client().model(endpoint_id)
