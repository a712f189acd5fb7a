"""LoRAs on a loaded transformer: what acts, what is refused, and that nothing remains."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from reelbook.models.text_to_video import LoRA
from reelbook_service.engines.protocol import Report
from reelbook_service.weights.config import LoRAError
from reelbook_service.weights.pipelines.engine import WeightsEngine
from reelbook_service.weights.pipelines.loras import use_loras
from tests.weights.ltx_runs import TEXT, ltx_row, model_of
from tests.weights.tiny import LORAS


class TinyTransformer:
    """The transformer of LTX as the engine has loaded it, and what it computes."""

    def __init__(self, weights: Path, dtype: str = "float32", **changes: Any) -> None:
        engine = WeightsEngine({TEXT: ltx_row(weights, dtype=dtype, **changes)}, "cpu")
        engine.load(TEXT, Report())
        self._dtype, self._loaded = getattr(torch, dtype), model_of(engine)
        self.model = self._loaded.transformer

    def use(self, *loras: LoRA) -> None:
        """Let these LoRAs act."""
        use_loras(self._loaded.pipe, self._loaded.row, loras)

    def bits(self) -> bytes:
        """Every bit of what it computes from fixed noise: enough to see whether LoRAs act."""
        generator = torch.Generator().manual_seed(1)
        noise = torch.randn(1, 12, 16, generator=generator).to(self._dtype)
        words = torch.randn(1, 7, 32, generator=generator).to(self._dtype)
        with torch.inference_mode():
            result: Any = self.model(
                hidden_states=noise, encoder_hidden_states=words, timestep=torch.tensor([500.0]).to(self._dtype), num_frames=3,
                height=2, width=2, encoder_attention_mask=torch.ones(1, 7).to(self._dtype), return_dict=False,
            )[0]  # fmt: skip
        return result.float().numpy().tobytes()  # type: ignore[no-any-return]  # torch has no types here.


@pytest.fixture(scope="module")
def folder(weights: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the weights, to which a test may add LoRAs."""
    return Path(shutil.copytree(weights, tmp_path_factory.mktemp("loras") / "weights"))


@pytest.fixture(scope="module")
def loaded(folder: Path) -> TinyTransformer:
    """One loaded transformer, as a worker has it through many runs."""
    return TinyTransformer(folder)


@pytest.fixture(scope="module")
def plain(folder: Path) -> bytes:
    """What the transformer computes that never had a LoRA."""
    return TinyTransformer(folder).bits()


def with_loras(loaded: TinyTransformer, *loras: LoRA) -> bytes:
    loaded.use(*loras)
    return loaded.bits()


def test_a_lora_acts_by_its_scale(loaded: TinyTransformer, plain: bytes) -> None:
    """Scale 0 is the plain model bit for bit, and the same file twice adds up."""
    full = with_loras(loaded, LoRA(path="paper"))
    half = with_loras(loaded, LoRA(path="paper", scale=0.5))

    assert len({plain, full, half}) == 3
    assert with_loras(loaded, LoRA(path="paper", scale=0)) == plain
    assert with_loras(loaded, LoRA(path="paper.safetensors", scale=0.5), LoRA(path="paper", scale=0.5)) == full
    assert with_loras(loaded) == plain
    assert not any("lora" in name for name in loaded.model.state_dict())


def test_a_folder_of_several_needs_a_weight_name(loaded: TinyTransformer) -> None:
    """With or without the ending; several LoRAs act together, in any order the same."""
    one, two = LoRA(path="pair", weight_name="one"), LoRA(path="pair", weight_name="two.safetensors", scale=2)
    both = with_loras(loaded, one, two)

    assert len({both, with_loras(loaded, one), with_loras(loaded, two)}) == 3
    assert with_loras(loaded, two, one) == both


REFUSALS = {
    "bomb": "bomb.safetensors is not a whole safetensors file.",
    "cut-off": "cut-off.safetensors is not a whole safetensors file.",
    "other-model": "other-model.safetensors does not fit these weights",
    "deeper-model": "and there is a place for 12 of them",
    "dora": "and there is a place for",
    "alphas": "does not fit these weights: Invalid LoRA checkpoint",
    "half": "it has 23 tensors, and there is a place for 24 of them",
    "https://example.org/x.safetensors": "never an address or another path.",
}


@pytest.fixture(scope="module")
def bad_loras(folder: Path) -> None:
    """Further LoRAs that must be refused."""
    loras = folder / LORAS
    state = load_file(loras / "paper.safetensors")
    save_file(
        {key: value for key, value in state.items() if "blocks.0.attn1.to_q.lora_A" not in key},
        loras / "half.safetensors",
    )
    alphas = {key.replace(".lora_A.weight", ".alpha"): torch.tensor(2.0) for key in state if "lora_A" in key}
    save_file({**state, **alphas}, loras / "alphas.safetensors")


@pytest.mark.usefixtures("bad_loras")
@pytest.mark.parametrize("path", REFUSALS, ids=lambda path: path[:30])
def test_a_bad_lora_is_refused_and_leaves_nothing(
    loaded: TinyTransformer, plain: bytes, folder: Path, path: str
) -> None:
    """Beside a good one, too: the plain model computes the same bits afterwards, and no pickle ran."""
    with pytest.raises(LoRAError) as caught:
        loaded.use(LoRA(path="paper"), LoRA(path=path))

    assert REFUSALS[path] in str(caught.value)
    assert loaded.bits() == plain
    assert not list(folder.parent.rglob("EXPLODED"))
