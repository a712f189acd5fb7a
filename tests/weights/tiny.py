"""Tiny random weights in the layout of the real repositories, made in a few seconds and the same each time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from diffusers import (
    AutoencoderKLLTXVideo,
    AutoencoderKLWan,
    FlowMatchEulerDiscreteScheduler,
    LTXVideoTransformer3DModel,
    UniPCMultistepScheduler,
    WanTransformer3DModel,
)
from diffusers.pipelines.ltx.modeling_latent_upsampler import LTXLatentUpsamplerModel
from safetensors.torch import save_file
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer
from transformers import T5Config, T5EncoderModel, UMT5Config, UMT5EncoderModel, ViTConfig, ViTForImageClassification

CHANNELS = 16
SENTENCES = [
    "a paper boat on a rainy street",
    "a red balloon floats over the city at night",
    "slowly closer | camera pans left",
    "worst quality, inconsistent motion, blurry, jittery, distorted",
    "the quick brown fox jumps over the lazy dog 0123456789",
]
ENCODER = {
    "d_model": 32, "d_ff": 64, "d_kv": 8, "num_heads": 4, "num_layers": 2, "feed_forward_proj": "gated-gelu", "pad_token_id": 0,
    "eos_token_id": 1, "decoder_start_token_id": 0,
}  # fmt: skip
LTX, UPSAMPLER, WAN, CHECK, LORAS = (
    "ltx-tiny-distilled", "ltx-upsampler-tiny", "wan-ti2v-tiny", "picture-check-tiny", "loras",
)  # fmt: skip


def make_weights(root: Path) -> None:
    """Write all folders: both families, both layouts of the upsampler, an image classifier, and LoRAs good and bad."""
    torch.manual_seed(0)
    root.mkdir(parents=True, exist_ok=True)
    _make_ltx(root)
    _make_loras(root)
    _make_wan(root / WAN)
    classifier = ViTConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, image_size=32, patch_size=8,
        id2label={0: "normal", 1: "nsfw"}, label2id={"normal": 0, "nsfw": 1},
    )  # fmt: skip
    ViTForImageClassification(classifier).save_pretrained(root / CHECK)


def _make_ltx(root: Path) -> None:
    ltx = root / LTX
    vocabulary = _make_tokenizer(ltx / "tokenizer")
    encoder = T5EncoderModel(T5Config(vocab_size=vocabulary, tie_word_embeddings=False, **ENCODER))
    encoder.save_pretrained(ltx / "text_encoder", max_shard_size="40KB")
    transformer = LTXVideoTransformer3DModel(
        in_channels=CHANNELS, out_channels=CHANNELS, num_attention_heads=4, attention_head_dim=16, cross_attention_dim=64,
        num_layers=2, caption_channels=32,
    )  # fmt: skip
    transformer.save_pretrained(ltx / "transformer", max_shard_size="300KB")
    vae = AutoencoderKLLTXVideo(
        latent_channels=CHANNELS, block_out_channels=(8, 16, 16, 32, 32), down_block_types=("LTXVideo095DownBlock3D",) * 4,
        decoder_block_out_channels=(8, 16, 32), layers_per_block=(1,) * 5, decoder_layers_per_block=(1,) * 4,
        spatio_temporal_scaling=(True,) * 4, decoder_spatio_temporal_scaling=(True,) * 3, decoder_inject_noise=(False,) * 4,
        downsample_type=("spatial", "temporal", "spatiotemporal", "spatiotemporal"), upsample_residual=(True,) * 3,
        upsample_factor=(2, 2, 2), timestep_conditioning=True, spatial_compression_ratio=32, temporal_compression_ratio=8,
    )  # fmt: skip
    vae.latents_mean.copy_(torch.randn(CHANNELS) * 0.1)
    vae.latents_std.copy_(torch.rand(CHANNELS) + 0.5)
    vae.save_pretrained(ltx / "vae")
    FlowMatchEulerDiscreteScheduler().save_pretrained(ltx / "scheduler")
    _write(ltx / "model_index.json", {
        "_class_name": "LTXConditionPipeline", "_diffusers_version": "0.35.0.dev0",
        "scheduler": ["diffusers", "FlowMatchEulerDiscreteScheduler"], "text_encoder": ["transformers", "T5EncoderModel"],
        "tokenizer": ["transformers", "T5Tokenizer"], "transformer": ["diffusers", "LTXVideoTransformer3DModel"],
        "vae": ["diffusers", "AutoencoderKLLTXVideo"],
    })  # fmt: skip
    upsampler = LTXLatentUpsamplerModel(in_channels=CHANNELS, mid_channels=32, num_blocks_per_stage=1)
    upsampler.save_pretrained(root / UPSAMPLER / "latent_upsampler")
    vae.save_pretrained(root / UPSAMPLER / "vae")
    parts = {"latent_upsampler": ["ltx", "LTXLatentUpsamplerModel"], "vae": ["diffusers", "AutoencoderKLLTXVideo"]}
    _write(root / UPSAMPLER / "model_index.json", {"_class_name": "LTXLatentUpsamplePipeline", **parts})


def _make_loras(root: Path) -> None:
    """The two namings in use, a folder with two, and ones that must be refused."""
    folder = root / LORAS
    (folder / "pair").mkdir(parents=True)
    transformer = LTXVideoTransformer3DModel.from_pretrained(root / LTX / "transformer")
    layers = [
        name
        for name, part in transformer.named_modules()
        if isinstance(part, torch.nn.Linear) and name.split(".")[-1] in ("to_q", "to_k", "to_v")
    ]

    def lora(seed: int, prefix: str = "transformer.", width: int = 64) -> dict[str, Any]:
        generator, tensors = torch.Generator().manual_seed(seed), {}
        for name in layers:
            tensors[f"{prefix}{name}.lora_A.weight"] = torch.randn(4, width, generator=generator) * 0.3
            tensors[f"{prefix}{name}.lora_B.weight"] = torch.randn(64, 4, generator=generator) * 0.3
        return tensors

    save_file(lora(5), folder / "paper.safetensors")
    save_file(lora(5, "diffusion_model."), folder / "paper-other-naming.safetensors")
    save_file(lora(6), folder / "pair" / "one.safetensors")
    save_file(lora(7), folder / "pair" / "two.safetensors")
    save_file(lora(8, width=48), folder / "other-model.safetensors")
    deeper = {name.replace("blocks.1", "blocks.40"): value for name, value in lora(9).items()}
    save_file(deeper, folder / "deeper-model.safetensors")
    scaled = {name.replace("lora_A.weight", "dora_scale"): torch.ones(1) for name in lora(9) if "lora_A" in name}
    save_file({**lora(9), **scaled}, folder / "dora.safetensors")
    (folder / "cut-off.safetensors").write_bytes((folder / "paper.safetensors").read_bytes()[:-100])
    torch.save({"a": Bomb(root / "EXPLODED")}, folder / "bomb.bin")
    (folder / "bomb.safetensors").write_bytes((folder / "bomb.bin").read_bytes())


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> Any:
        return (exec, (f"open({str(self._path)!r}, 'w').close()",))


def _make_wan(wan: Path, channels: int = 48) -> None:
    vocabulary = _make_tokenizer(wan / "tokenizer")
    UMT5EncoderModel(UMT5Config(vocab_size=vocabulary, **ENCODER)).save_pretrained(wan / "text_encoder")
    AutoencoderKLWan(
        base_dim=3, z_dim=channels, in_channels=12, out_channels=12, is_residual=True, patch_size=2, latents_mean=[0.0] * channels,
        latents_std=[1.0] * channels, dim_mult=[1, 1, 1, 1], num_res_blocks=1, scale_factor_spatial=16, scale_factor_temporal=4,
        temperal_downsample=[False, True, True],
    ).save_pretrained(wan / "vae")  # fmt: skip
    WanTransformer3DModel(
        patch_size=(1, 2, 2), num_attention_heads=2, attention_head_dim=12, in_channels=channels, out_channels=channels, text_dim=32,
        freq_dim=256, ffn_dim=32, num_layers=2, cross_attn_norm=True, qk_norm="rms_norm_across_heads", rope_max_seq_len=64,
    ).save_pretrained(wan / "transformer", max_shard_size="40KB")  # fmt: skip
    scheduler = UniPCMultistepScheduler(prediction_type="flow_prediction", use_flow_sigmas=True, flow_shift=5.0)
    scheduler.save_pretrained(wan / "scheduler")
    _write(wan / "model_index.json", {
        "_class_name": "WanImageToVideoPipeline", "_diffusers_version": "0.35.0.dev0", "expand_timesteps": True, "boundary_ratio": None,
        "image_encoder": [None, None], "image_processor": [None, None], "scheduler": ["diffusers", "UniPCMultistepScheduler"],
        "text_encoder": ["transformers", "UMT5EncoderModel"], "tokenizer": ["transformers", "T5TokenizerFast"],
        "transformer": ["diffusers", "WanTransformer3DModel"], "transformer_2": [None, None], "vae": ["diffusers", "AutoencoderKLWan"],
    })  # fmt: skip


def _make_tokenizer(folder: Path) -> int:
    """`spiece.model` and the three JSON files beside it, without a `tokenizer.json`, as the real repositories have them."""
    folder.mkdir(parents=True)
    SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES * 8), model_prefix=str(folder / "spiece"), vocab_size=180, pad_id=0, eos_id=1, unk_id=2, bos_id=-1,
        model_type="unigram", hard_vocab_limit=False, minloglevel=2, num_threads=1,
    )  # fmt: skip
    (folder / "spiece.vocab").unlink()
    size = int(SentencePieceProcessor(model_file=str(folder / "spiece.model")).vocab_size())
    extra = [f"<extra_id_{number}>" for number in range(100)]
    ids = {token: size + 99 - number for number, token in enumerate(extra)}
    flags = {"normalized": False, "single_word": False, "special": True}
    added = {
        str(number): {"content": token, "lstrip": False, "rstrip": False, **flags}
        for number, token in enumerate(["<pad>", "</s>", "<unk>"])
    }
    added |= {str(number): {"content": token, "lstrip": True, "rstrip": True, **flags} for token, number in ids.items()}
    special = {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    _write(folder / "added_tokens.json", ids)
    _write(folder / "special_tokens_map.json", {"additional_special_tokens": extra, **special})
    _write(folder / "tokenizer_config.json", {
        "add_prefix_space": True, "added_tokens_decoder": added, "additional_special_tokens": extra,
        "clean_up_tokenization_spaces": True, "extra_ids": 100, "legacy": True, "model_max_length": 128, "sp_model_kwargs": {},
        "tokenizer_class": "T5Tokenizer", **special,
    })  # fmt: skip
    return size + 100


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")
