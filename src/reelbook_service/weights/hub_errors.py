"""The errors of the hub's library as sentences: its own message, then what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from reelbook.util.printable import printable

from .fetch_targets import Target
from .weights_row import BadWeights


@contextmanager
def hub_errors(target: Target) -> Iterator[None]:
    """Turn whatever the hub's library raises in the block into `BadWeights`."""
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError

    try:
        yield
    except GatedRepoError as error:
        advice = "Its owners ask for consent: give it on the page of the repository, then log in with `hf auth login` or set HF_TOKEN."
        raise BadWeights(_sentence(error, target, advice)) from None
    except RepositoryNotFoundError as error:
        advice = "Check its name; if it is private, log in with `hf auth login` or set HF_TOKEN."
        raise BadWeights(_sentence(error, target, advice)) from None
    except RevisionNotFoundError as error:
        raise BadWeights(
            _sentence(error, target, "The repository has no such commit: copy it from its History.")
        ) from None
    except (HfHubHTTPError, OSError, ValueError, RuntimeError) as error:
        raise BadWeights(_sentence(error, target, "What has arrived stays: run the command again.")) from None
    except Exception as error:
        # The HTTP library's own classes: its name differs between versions of the hub's library.
        if "http" not in type(error).__module__:
            raise
        raise BadWeights(_sentence(error, target, "What has arrived stays: run the command again.")) from None


def _sentence(error: Exception, target: Target, advice: str) -> str:
    lines = [line.strip() for line in printable(str(error)).splitlines() if line.strip()]
    return f"{target.repository}: {' '.join(lines)[:600] or type(error).__name__} {advice}"
