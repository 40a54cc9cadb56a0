"""What goes on inside an agent (the paper's appendix A), taken out once into small arrays for the figures.

inside.json    word attention of questions, and six sentences step by step on their pictures
masks.npz      distances between the channel masks of questions, grouped by their answers
contexts.npz   contexts of words in the plane
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE

from groundling.agent.model import Agent
from groundling.atomic_write import atomic_write
from groundling.errors import InputError
from groundling.evaluation.evaluator import only
from groundling.learn.trained_agent import TrainedAgent
from groundling.study.pictures import explain_sentence
from groundling.teacher.episode_sampling import SentenceBatch
from groundling.teacher.grammar import QUESTIONS
from groundling.teacher.lexicon import COLORS, DIRECTIONS, OBJECTS, RELATIONS
from groundling.teacher.teacher import Teacher
from groundling.world.rendering import map_cells, on_map

SEED = (1 << 40) + 2000
"""Of the episodes looked into."""
BATCH = 2000
TOPIC_WORDS = (COLORS, tuple(word for word in OBJECTS if word not in COLORS), RELATIONS)
"""`orange`, both a color and an object, is put with the colors."""
STEP_BY_STEP = (
    ("nav_col_obj", "command"),
    ("nav_nr_obj", "command"),
    ("nav_bw_obj", "command"),
    ("rec_loc_obj2obj", "question"),
    ("rec_bw_obj2col", "question"),
    ("rec_col_obj2loc", "question"),
)
"""Sentence types of the six examples."""


def topic(word: str) -> int:
    return next((k for k, words in enumerate(TOPIC_WORDS) if word in words), len(TOPIC_WORDS))


def extract(agent: TrainedAgent, out: Path, questions: int = 10_000, positions: int = 20_000) -> dict[str, float]:
    """Write all of it to a folder; return the mean distance of masks within a topic and across topics."""
    model = agent.model
    if not isinstance(model, Agent) or not model.answers:
        raise InputError(f"method {model.config.method!r}: there is an interpreter to look into in 'ours' alone")
    teacher = agent.teacher("normal")
    out.mkdir(parents=True, exist_ok=True)
    distances = mask_distances(model, teacher, questions)
    np.savez_compressed(out / "masks.npz", allow_pickle=False, **distances)
    np.savez_compressed(out / "contexts.npz", allow_pickle=False, **word_contexts(model, teacher, positions))
    examples = {"attention": attention_examples(model, teacher), "steps": step_examples(model, teacher)}
    atomic_write(out / "inside.json", (json.dumps(examples) + "\n").encode())
    return topic_distances(distances["distance"], distances["topic"])


@torch.no_grad()
def mask_distances(model: Agent, teacher: Teacher, questions: int) -> dict[str, NDArray[Any]]:
    """Mean distance between the masks x_feat of questions with one answer and with another: [groups, groups]"""
    asked = _sentences(teacher, questions, "question")
    known = asked.answer != teacher.lexicon.number["nothing"]
    tokens, answers = asked.tokens[known], asked.answer[known]
    words = [word for words in (TOPIC_WORDS[0], TOPIC_WORDS[1], DIRECTIONS) for word in words]
    groups = [np.flatnonzero(answers == teacher.lexicon.number[word]) for word in words]
    missing = [word for word, group in zip(words, groups, strict=True) if len(group) < 2]
    if missing:
        raise InputError(f"{questions} questions: too few to have the answers {', '.join(missing)} twice")
    masks = model.read(torch.from_numpy(tokens).long()).x_feat
    distance = np.zeros((len(words), len(words)), np.float32)
    for i, group in enumerate(groups):
        to_all = torch.cdist(masks[group], masks).numpy()
        for j, other in enumerate(groups):
            pairs = to_all[:, other]
            distance[i, j] = pairs.sum() / (pairs.size - (len(group) if i == j else 0))  # none with itself
    return {"word": np.array(words), "topic": np.array([topic(w) for w in words], np.uint8), "distance": distance}


def topic_distances(distance: NDArray[np.float32], topics: NDArray[np.uint8]) -> dict[str, float]:
    """Mean distance of groups within a topic, and across topics."""
    same = topics[:, None] == topics[None]
    return {"within": float(distance[same].mean()), "across": float(distance[~same].mean())}


@torch.no_grad()
def word_contexts(model: Agent, teacher: Teacher, positions: int) -> dict[str, NDArray[Any]]:
    """Contexts w-bar of words, half of them from questions and half from commands, by PCA and t-SNE in the plane."""
    vectors, words = [], []
    for part in ("question", "command"):
        tokens = torch.from_numpy(_sentences(teacher, positions // 2, part).tokens).long()
        heard: list[torch.Tensor] = []
        hook = model.interpreter.context.register_forward_hook(lambda _, __, output, heard=heard: heard.append(output))
        try:
            model.interpreter(model.words, tokens)
        finally:
            hook.remove()
        contexts = torch.tanh(heard[0])
        tokens = tokens[:, : contexts.shape[1]]
        real = tokens != model.config.pad
        vectors.append(contexts[real][: positions // 2].numpy())
        words.append(tokens[real][: positions // 2].numpy())
    reduced = PCA(50, random_state=0).fit_transform(np.concatenate(vectors))
    plane = TSNE(perplexity=100, learning_rate=200, max_iter=1000, init="pca", random_state=0).fit_transform(reduced)
    number = np.concatenate(words).astype(np.int16)
    topics = np.array([topic(word) for word in teacher.lexicon.words], np.uint8)
    return {"plane": plane.astype(np.float32), "word": number, "topic": topics[number]}


def attention_examples(model: Agent, teacher: Teacher) -> list[dict[str, Any]]:
    """A question of each type, and how much of the attention of all steps each word gets."""
    examples = []
    for k, type_ in enumerate(QUESTIONS):
        episode = only(teacher, type_).begin(SEED, [k])
        inside, words = explain_sentence(model, teacher, episode, 0, episode.question)
        examples.append({"words": words, "attention": _rounded(inside["word_attention"].sum(0))})
    return examples


def step_examples(model: Agent, teacher: Teacher) -> list[dict[str, Any]]:
    """Six sentences on their pictures: words, maps and gates of each step, and what follows from them."""
    examples = []
    for k, (type_, part) in enumerate(STEP_BY_STEP):
        episode = only(teacher, type_).begin(SEED, [k])
        inside, words = explain_sentence(model, teacher, episode, 0, getattr(episode, part))
        position = episode.state.size, int(episode.state.agent[0])
        example = {
            "type": type_,
            "words": words,
            "cells": map_cells(episode.state)[0].tolist(),
            "attention": _rounded(inside["word_attention"]),
            "gates": _rounded(inside["gates"]),
            "steps": [_rounded(on_map(step, *position)) for step in inside["x_loc_steps"]],
            "terrain": _rounded(on_map(inside["x_terr"], *position)),
        }
        if part == "question":
            example["answer"] = teacher.lexicon.words[int(inside["answer_scores"].argmax())]
        elif "value_map" in inside:
            example["value"] = _rounded(on_map(inside["value_map"], *position))
        examples.append(example)
    return examples


def _sentences(teacher: Teacher, count: int, part: str) -> SentenceBatch:
    """So many commands or questions of episodes as they come."""
    parts, found, start = [], 0, 0
    while found < count:
        episode = teacher.begin(SEED, np.arange(start, start + BATCH))
        sentences: SentenceBatch = getattr(episode, part)
        said = sentences.type >= 0
        parts.append(SentenceBatch(*(array[said] for array in sentences)))
        found, start = found + int(said.sum()), start + BATCH
    return SentenceBatch(*(np.concatenate(arrays)[:count] for arrays in zip(*parts, strict=True)))


def _rounded(array: NDArray[np.float32]) -> Any:
    return np.round(array.astype(np.float64), 4).tolist()
