"""TRL trains a tiny model through `environment_factory`: GRPO with tool calls, built and run without a download."""

import os
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import pytest
import torch
import trl
from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
from trl import GRPOConfig, GRPOTrainer

from groundling.adapters.trl_environment import PROMPT, environment_factory, rows
from groundling.teacher.teacher import Teacher
from groundling.world.shortest_path import best_actions
from groundling.world.simulation import ACTIONS

CALLS = [
    f'<tool_call>\n{{"name": "move", "arguments": {{"direction": "{action}"}}}}\n</tool_call>' for action in ACTIONS
]
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
WARM_UP = 60
"""Updates in which the model learns to call the tool, with a random move."""


def tokenizer() -> Any:
    """Bytes, and one token for each call of the tool, so that a tiny model can call it."""
    bytes_ = sorted(pre_tokenizers.ByteLevel.alphabet())
    raw = Tokenizer(models.BPE(vocab={token: k for k, token in enumerate([*SPECIAL, *bytes_])}, merges=[]))
    raw.pre_tokenizer, raw.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    raw.add_special_tokens(SPECIAL)
    raw.add_tokens(CALLS)
    made = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    made.chat_template = (Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja").read_text("utf-8")
    return made


def tiny_model(words: Any) -> Any:
    """A random transformer of one layer, after some updates towards one random call of the tool."""
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=len(words), hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=8192,
    )  # fmt: skip
    model = Qwen2ForCausalLM(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    prompt = words.apply_chat_template(PROMPT, add_generation_prompt=True, tokenize=True, return_dict=False)
    calls = [words.encode(call) for call in CALLS]
    assert [len(call) for call in calls] == [1] * len(ACTIONS)
    batch = torch.tensor([[*prompt, *call, words.eos_token_id] for call in calls])
    labels = batch.clone()
    labels[:, : len(prompt)] = -100
    for _ in range(WARM_UP):
        optimizer.zero_grad()
        model(input_ids=batch, labels=labels).loss.backward()
        optimizer.step()
    return model


def near_rows(count: int) -> list[dict[str, Any]]:
    """Episodes whose target is next to the agent: one of four moves succeeds."""
    teacher = Teacher()
    near = [row for row in rows(40 * count) if best_actions(teacher.begin(0, [row["index"]]).state)[1][0] == 1]
    return near[:count]


@pytest.mark.filterwarnings("ignore")
def test_grpo_calls_tools_is_rewarded_and_updates_the_model(tmp_path: Path) -> None:
    words = tokenizer()
    model = tiny_model(words)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    dataset = near_rows(16)
    assert len(dataset) == 16
    config = GRPOConfig(
        output_dir=str(tmp_path),
        per_device_train_batch_size=16,
        num_generations=8,
        max_completion_length=16,
        max_tool_calling_iterations=1,
        max_steps=4,
        learning_rate=1e-3,
        use_cpu=True,
        bf16=False,
        report_to=[],
        logging_steps=1,
        save_strategy="no",
        seed=0,
    )
    trainer = GRPOTrainer(
        model=model,
        args=config,
        processing_class=words,
        train_dataset=Dataset.from_list(dataset),
        environment_factory=environment_factory(),
    )
    trainer.train()
    logs = [log for log in trainer.state.log_history if "reward" in log]
    assert len(logs) == 4
    assert all(log["tools/failure_frequency"] == 0 for log in logs)
    assert sum(log["tools/call_frequency"] for log in logs) > 2
    rewards = [log["rewards/GroundlingEnvironment/mean"] for log in logs]
    assert all(0 <= reward <= 1 for reward in rewards)
    assert 0 < sum(rewards) < 4
    assert any(log["grad_norm"] > 0 for log in logs)
    assert any(not torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))
