"""Export of a model to ONNX, for use without PyTorch or this package."""

from pathlib import Path

import torch

from groundling.agent.model import InterpreterModel
from groundling.agent.reference import ReferenceModel
from groundling.agent.types import Output
from groundling.agent.view import CELL_PIXELS
from groundling.errors import InputError


def export_onnx(model: torch.nn.Module, path: str | Path, words: int = 13) -> None:
    """Write `images [B, H, W, 3] uint8, commands, questions [B, words] -> the parts of an Output`"""
    if not isinstance(model, InterpreterModel) or not model.has_answer_head:
        raise InputError(f"model to export must be of method 'ours', got {type(model).__name__}")
    pixels = model.spec.view * CELL_PIXELS
    images = torch.zeros(2, pixels, pixels, 3, dtype=torch.uint8)
    sentences = torch.zeros(2, words, dtype=torch.int64)
    batch = torch.export.Dim("batch", min=1)
    torch.onnx.export(
        ReferenceModel(model).eval(),
        (images, sentences, sentences.clone()),
        str(path),
        input_names=["images", "commands", "questions"],
        output_names=[name for name in Output._fields if name != "extra"],
        dynamic_shapes=({0: batch}, {0: batch}, {0: batch}),
        dynamo=True,
        external_data=False,
        verbose=False,
    )
