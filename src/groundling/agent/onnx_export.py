"""A trained agent as an ONNX file, for use without PyTorch or this package."""

from pathlib import Path

import torch

from groundling.agent.model import Agent, Output
from groundling.agent.reference import ReferenceModel
from groundling.errors import InputError


def export_onnx(agent: torch.nn.Module, path: str | Path, words: int = 13) -> None:
    """Write `images [B, H, W, 3] uint8, commands, questions [B, words] -> the parts of an Output`"""
    if not isinstance(agent, Agent) or not agent.answers:
        raise InputError(f"export: {type(agent).__name__} cannot be exported, only the agent of method `ours` can")
    config = agent.config
    pixels = config.view * config.cell
    images = torch.zeros(2, pixels, pixels, 3, dtype=torch.uint8)
    sentences = torch.zeros(2, words, dtype=torch.int64)
    batch = torch.export.Dim("batch", min=1)
    torch.onnx.export(
        ReferenceModel(agent).eval(),
        (images, sentences, sentences.clone()),
        str(path),
        input_names=["images", "commands", "questions"],
        output_names=list(Output._fields),
        dynamic_shapes=({0: batch}, {0: batch}, {0: batch}),
        dynamo=True,
        external_data=False,
        verbose=False,
    )
