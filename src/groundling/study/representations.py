"""The representations of an agent (the paper's appendix A), extracted into small arrays for the figures.

examples.json  word attention of questions, and six sentences step by step on their maps
masks.npz      distances between the channel masks of questions, grouped by answer
contexts.npz   context vectors of words, projected to two dimensions
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE

from groundling import seeds
from groundling.agent.model import InterpreterModel
from groundling.atomic_write import atomic_write
from groundling.errors import InputError
from groundling.evaluation.evaluator import of_one_type
from groundling.learn.trained_agent import TrainedAgent
from groundling.study.pictures import explain_sentence
from groundling.teacher.language import Language
from groundling.teacher.language_file import COLOR, DIRECTION, OBJECT, RELATION
from groundling.teacher.teacher import Teacher
from groundling.teacher.types import SentenceBatch
from groundling.world.rendering import map_cells, on_map

BATCH = 2000
STEP_BY_STEP = (
    ("nav_col_obj", "command"),
    ("nav_nr_obj", "command"),
    ("nav_bw_obj", "command"),
    ("rec_loc_obj2obj", "question"),
    ("rec_bw_obj2col", "question"),
    ("rec_col_obj2loc", "question"),
)
"""Sentence types of the six examples."""


def topic_words(language: Language) -> tuple[tuple[str, ...], ...]:
    """The words of the topics: colors, objects, spatial relations. `orange`, a color and an object, is a color."""
    classes = language.word_classes
    colors = classes.get(COLOR, ())
    objects = tuple(word for word in classes[OBJECT] if word not in colors)
    return colors, objects, (*classes.get(RELATION, ()), *classes[DIRECTION])


def topic(word: str, language: Language) -> int:
    """The index of a word's topic, or the number of topics for none of them."""
    topics = topic_words(language)
    return next((k for k, words in enumerate(topics) if word in words), len(topics))


def extract(agent: TrainedAgent, out: Path, questions: int = 10_000, positions: int = 20_000) -> dict[str, float]:
    """Write all arrays to a folder; return the mean distance of masks within topics and across topics."""
    model = agent.model
    if not isinstance(model, InterpreterModel) or not model.has_answer_head:
        raise InputError(f"agent must be of method 'ours', which has an interpreter, got {model.config.method!r}")
    teacher = agent.teacher("normal")
    out.mkdir(parents=True, exist_ok=True)
    distances = mask_distances(model, teacher, questions)
    np.savez_compressed(out / "masks.npz", allow_pickle=False, **distances)
    np.savez_compressed(out / "contexts.npz", allow_pickle=False, **word_contexts(model, teacher, positions))
    examples = {"attention": attention_examples(model, teacher), "steps": step_examples(model, teacher)}
    atomic_write(out / "examples.json", (json.dumps(examples) + "\n").encode())
    return topic_distances(distances["distance"], distances["topic"])


@torch.no_grad()
def mask_distances(model: InterpreterModel, teacher: Teacher, questions: int) -> dict[str, NDArray[Any]]:
    """Mean distance between the masks x_feat of questions with one answer and with another: [groups, groups]"""
    asked = _collect(teacher, questions, "question")
    known = asked.answer != teacher.lexicon.token[teacher.language.nothing]
    tokens, answers = asked.tokens[known], asked.answer[known]
    colors, objects, _ = topic_words(teacher.language)
    words = [*colors, *objects, *teacher.language.word_classes[DIRECTION]]
    groups = [np.flatnonzero(answers == teacher.lexicon.token[word]) for word in words]
    missing = [word for word, group in zip(words, groups, strict=True) if len(group) < 2]
    if missing:
        raise InputError(
            f"questions must be enough to have each answer twice, got {questions}, too few for {', '.join(missing)}"
        )
    masks = model.read(torch.from_numpy(tokens).long()).x_feat
    distance = np.zeros((len(words), len(words)), np.float32)
    for i, group in enumerate(groups):
        to_all = torch.cdist(masks[group], masks).numpy()
        for j, other in enumerate(groups):
            pairs = to_all[:, other]
            distance[i, j] = pairs.sum() / (
                pairs.size - (len(group) if i == j else 0)
            )  # without pairs of a mask with itself
    return {
        "word": np.array(words),
        "topic": np.array([topic(w, teacher.language) for w in words], np.uint8),
        "distance": distance,
    }


def topic_distances(distance: NDArray[np.float32], topics: NDArray[np.uint8]) -> dict[str, float]:
    """Mean distance of groups within topics, and across topics."""
    same = topics[:, None] == topics[None]
    return {"within": float(distance[same].mean()), "across": float(distance[~same].mean())}


@torch.no_grad()
def word_contexts(model: InterpreterModel, teacher: Teacher, positions: int) -> dict[str, NDArray[Any]]:
    """Context vectors w-bar of words, half from questions and half from commands, projected by PCA and t-SNE."""
    vectors, words = [], []
    for part in ("question", "command"):
        tokens = torch.from_numpy(_collect(teacher, positions // 2, part).tokens).long()
        contexts = model.interpreter.contexts(model.words, tokens)
        tokens = tokens[:, : contexts.shape[1]]
        real = tokens != model.spec.pad
        vectors.append(contexts[real][: positions // 2].numpy())
        words.append(tokens[real][: positions // 2].numpy())
    reduced = PCA(50, random_state=0).fit_transform(np.concatenate(vectors))
    plane = TSNE(perplexity=100, learning_rate=200, max_iter=1000, init="pca", random_state=0).fit_transform(reduced)
    number = np.concatenate(words).astype(np.int16)
    topics = np.array([topic(word, teacher.language) for word in teacher.lexicon.words], np.uint8)
    return {"plane": plane.astype(np.float32), "word": number, "topic": topics[number]}


def attention_examples(model: InterpreterModel, teacher: Teacher) -> list[dict[str, Any]]:
    """A question of each type, and the attention on each word, summed over steps."""
    examples = []
    for k, type_ in enumerate(teacher.language.questions):
        episode = of_one_type(teacher, type_).begin(seeds.REPRESENTATIONS, [k])
        values, words = explain_sentence(model, teacher, episode, 0, episode.question)
        examples.append({"words": words, "attention": _rounded(values["word_attention"].sum(0))})
    return examples


def step_examples(model: InterpreterModel, teacher: Teacher) -> list[dict[str, Any]]:
    """Six sentences on their maps: words, attention and gate of each step, terrain, and value map or answer."""
    examples = []
    for k, (type_, part) in enumerate(STEP_BY_STEP):
        episode = of_one_type(teacher, type_).begin(seeds.REPRESENTATIONS, [k])
        values, words = explain_sentence(model, teacher, episode, 0, getattr(episode, part))
        on = episode.state.size, int(episode.state.agent[0])
        example = {
            "type": type_,
            "words": words,
            "cells": map_cells(episode.state)[0].tolist(),
            "attention": _rounded(values["word_attention"]),
            "gates": _rounded(values["gates"]),
            "steps": [_rounded(on_map(step, *on)) for step in values["x_loc_steps"]],
            "terrain": _rounded(on_map(values["x_terr"], *on)),
        }
        if part == "question":
            example["answer"] = teacher.lexicon.words[int(values["answer_scores"].argmax())]
        elif "value_map" in values:
            example["value"] = _rounded(on_map(values["value_map"], *on))
        examples.append(example)
    return examples


def _collect(teacher: Teacher, count: int, part: str) -> SentenceBatch:
    """`count` commands or questions from the first steps of episodes."""
    parts, found, start = [], 0, 0
    while found < count:
        episode = teacher.begin(seeds.REPRESENTATIONS, np.arange(start, start + BATCH))
        sentences: SentenceBatch = getattr(episode, part)
        present = sentences.type >= 0
        parts.append(SentenceBatch(*(array[present] for array in sentences)))
        found, start = found + int(present.sum()), start + BATCH
    return SentenceBatch(*(np.concatenate(arrays)[:count] for arrays in zip(*parts, strict=True)))


def _rounded(array: NDArray[np.float32]) -> Any:
    return np.round(array.astype(np.float64), 4).tolist()
