"""What a notebook does with weights of its own: the embedded service, tiny weights on the CPU, and `rb.` alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import reelbook as rb
from reelbook.client import Client
from tests.support import read_charges
from tests.weights.tiny import CHECK, LORAS, LTX, UPSAMPLER

PRICE = 53
BASE = rb.TextToVideo(
    prompt="a paper boat", num_frames=9, seed=7, resolution="480p", aspect_ratio="1:1", expand_prompt=False,
    enable_safety_checker=False, first_pass_num_inference_steps=2, second_pass_num_inference_steps=2,
    second_pass_skip_initial_steps=1, loras=[rb.LoRA(path="paper")],
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("notebook")


@pytest.fixture(scope="module")
def client(folder: Path, weights: Path) -> Iterator[Client]:
    """The client of all cells: loading the weights takes most of the time here."""
    models = folder / "models.toml"
    models.write_text(
        f'[models."{BASE.endpoint_id}"]\nengine = "diffusers"\nfamily = "ltx"\nfolder = "{weights / LTX}"\n'
        f'upsampler = "{weights / UPSAMPLER}"\ndevice = "cpu"\ndtype = "float32"\ndownscale = 0.25\n'
        f'[loras]\nfolders = ["{weights / LORAS}"]\n'
    )
    with rb.connect(models=models, library=folder / "library") as client:
        yield client


@pytest.fixture(scope="module")
def clip(client: Client) -> rb.Run:
    """A run with a LoRA."""
    return client.run(BASE)


def service_folder(folder: Path) -> Path:
    """The folder of the embedded service that runs these weights; another engine has another one."""
    (found,) = (folder / "library").glob("service-*")
    return found


def charges(folder: Path, request_id: str) -> list[tuple[str, int]]:
    """What the service has written down about the credits of a run."""
    lines = read_charges(service_folder(folder))
    return [(line["kind"], line["credits"]) for line in lines if line["request_id"] == request_id]


def test_a_sweep_makes_a_clip_of_each_setting(clip: rb.Run, folder: Path, client: Client) -> None:
    """What is in the library is not made again; each is paid once, and scale 0 is not scale 1."""
    table = rb.sweep(BASE, **{"loras[0].scale": [0.0, 1.0]}).run(budget=2 * PRICE)

    assert list(table["status"]) == ["completed"] * 2
    assert len({Path(path).read_bytes() for path in table["output_video"]}) == 2
    assert clip.request_id in set(table["request_id"])
    assert [charges(folder, one) for one in table["request_id"]] == [[("reserve", PRICE), ("settle", PRICE)]] * 2
    assert client.account()["credits_reserved"] == 0


def test_refused_pictures_cost_nothing_and_are_not_kept(
    client: Client, folder: Path, weights: Path, tmp_path: Path
) -> None:
    """Also where the input turns the check off, without the permission to do so."""
    models = tmp_path / "models.toml"
    safety = f'[safety]\nfolder = "{weights / CHECK}"\nthreshold = 0\n'
    models.write_text((folder / "models.toml").read_text() + safety)

    with rb.connect(models=models, library=tmp_path / "library") as other:
        with pytest.raises(rb.RunFailed, match="refused the pictures") as refused:
            other.run(BASE.revised(loras=[], enable_safety_checker=False))
        reserved = other.account()["credits_reserved"]

    assert refused.value.error_type == "content_policy_violation"
    assert (reserved, charges(tmp_path, refused.value.request_id)) == (0, [("reserve", PRICE), ("refund", PRICE)])
    assert list(tmp_path.rglob("*.mp4")) == []


def test_a_clip_of_another_engine_is_not_taken_for_one_of_these_weights(
    client: Client, folder: Path, tmp_path: Path
) -> None:
    """The same input in the same library: the embedded engine and the weights each make their clip once."""
    boat, models = BASE.revised(loras=[]), folder / "models.toml"

    def make(**settings: Any) -> rb.Run:
        with rb.connect(library=tmp_path, **settings) as other:
            return other.run(boat)

    drawn, made, again, drawn_again = make(), make(models=models), make(models=models), make()

    assert [run.from_library for run in (drawn, made, again, drawn_again)] == [False, False, True, True]
    assert drawn.video.path.read_bytes() != made.video.path.read_bytes() == again.video.path.read_bytes()
