"""The agent as people use it: `agent = groundling.load("normal")`.

agent.act(observation)                    # an action for a Gymnasium observation, single or batched
agent.answer(image, "What is in the north?")
agent.explain(image, "Go to the apple.")  # attention, maps, gates, action probabilities, answer scores
agent.teach("durian", examples)           # a new agent that knows one more word
agent.save("mine.safetensors")
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, overload

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from groundling.agent import Model, View
from groundling.agent.checkpoint import Checkpoint, load, save
from groundling.agent.model import InterpreterModel
from groundling.errors import Cancelled, InputError, cut, nearest, quote
from groundling.imports import is_imported, names_code
from groundling.learn.config import TrainConfig
from groundling.learn.few_shot import Example, learn_word, with_more_words
from groundling.read_json import MAX_PATH, reason
from groundling.rollout import sample_actions
from groundling.teacher.lexicon import Lexicon
from groundling.teacher.make_teacher import make_teacher
from groundling.teacher.splits import JOINT, Split
from groundling.teacher.teacher import Teacher
from groundling.world.catalog import CELL_PIXELS, FIRST_ICON

WEIGHTS = Path(str(resources.files("groundling"))) / "weights"
Explanation = dict[str, NDArray[np.float32]]
"""The named arrays of `Model.explain`."""


@dataclass(frozen=True)
class TrainedAgent:
    """A trained model with its lexicon and the config of its training."""

    checkpoint: Checkpoint
    config: TrainConfig
    taught: Mapping[str, NDArray[np.uint8]] = field(default_factory=dict, repr=False)
    """What each word named that was taught to this agent: pictures [E, side, side, 3]. Not saved with the agent."""

    @property
    def model(self) -> Model:
        """The PyTorch module."""
        return self.checkpoint.model

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the lexicon; word k is token k."""
        return self.checkpoint.words

    @cached_property
    def lexicon(self) -> Lexicon:
        """The words and their tokens."""
        return Lexicon.of_words(self.words, self.config.grammar().language)

    @cached_property
    def split(self) -> Split:
        """What training held out."""
        return Split.of(self.checkpoint.split)

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return next(self.model.parameters()).device

    @property
    def teachable(self) -> bool:
        """Whether it can learn new words: its model has an interpreter and an answer head."""
        return isinstance(self.model, InterpreterModel) and self.model.has_answer_head

    @torch.no_grad()
    def act(self, observation: dict[str, Any], greedy: bool = True, rng: np.random.Generator | None = None) -> Any:
        """The action for an observation of `groundling/Nav-v0` or `groundling/NavQA-v0`, single or batched.

        For Nav-v0: the move, an int or an array [B]. For NavQA-v0 (the observation has a question): the move and the
        token of the answer, an array [2] or [B, 2]. With `greedy=False` moves are sampled from the policy by `rng`.
        """
        if "command" not in observation or not observation.keys() & {"image", "cells"}:
            raise InputError(f"observation must have `command` and `image` or `cells`, got {', '.join(observation)}")
        view, single = self._view(observation)
        commands = self._token_tensor("command", observation, view, single)
        questions = self._token_tensor("question", observation, view, single) if "question" in observation else None
        output = self.model(view, commands, questions)
        logits = output.action_logits
        actions = logits.argmax(1).cpu().numpy() if greedy else sample_actions(logits, rng or np.random.default_rng())
        if questions is not None:
            if output.answer_scores is None:
                answers = np.full(len(actions), self.lexicon.pad)
            else:
                answers = output.answer_scores.argmax(1).cpu().numpy()
            actions = np.stack([actions, answers], 1)
        if not single:
            return actions
        return int(actions[0]) if questions is None else actions[0]

    @overload
    def answer(self, image: ArrayLike | Tensor, question: str) -> str: ...
    @overload
    def answer(self, image: ArrayLike | Tensor, question: list[str]) -> list[str]: ...
    @overload
    def answer(self, image: ArrayLike | Tensor, question: Any) -> str | list[str]: ...
    @torch.no_grad()
    def answer(self, image: ArrayLike | Tensor, question: Any) -> str | list[str]:
        """The answer to a question about an image [H, W, 3], as a word; or a list for images [B, H, W, 3].

        A question is text or a sequence of tokens; a batch has one for each image.
        """
        if not self.model.has_answer_head:
            raise InputError(f"agent must have an answer head to answer, got method {self.model.config.method!r}")
        images, single = self._images(image)
        questions = self._sentences(question, len(images), single)
        view = View.of_images(torch.from_numpy(images).to(self.device))
        scores = self.model.answer(self.model.perceive(view), self.model.tokens(questions)).scores
        answers = [self.words[k] for k in scores.argmax(1).tolist()]
        return answers[0] if single else answers

    @overload
    def explain(self, image: ArrayLike | Tensor, sentence: str) -> Explanation: ...
    @overload
    def explain(self, image: ArrayLike | Tensor, sentence: list[str]) -> list[Explanation]: ...
    @overload
    def explain(self, image: ArrayLike | Tensor, sentence: Any) -> Explanation | list[Explanation]: ...
    def explain(self, image: ArrayLike | Tensor, sentence: Any) -> Explanation | list[Explanation]:
        """The intermediate values for an image [H, W, 3] and a sentence, or a list of them for images [B, H, W, 3].

        A sentence is text or a sequence of tokens; a batch has one for each image.
        """
        images, single = self._images(image)
        explained = self.model.explain_batch(list(images), self._sentences(sentence, len(images), single))
        return explained[0] if single else explained

    def teach(
        self,
        word: str,
        examples: Sequence[Example | tuple[Any, str, str]],
        cancelled: Callable[[], bool] | None = None,
    ) -> "TrainedAgent":
        """A new agent that knows `word`, learned from examples (image, question, answer); this one is unchanged.

        The word is one of the agent's lexicon or a new one, and the answer of every example. Teaching raises Cancelled
        if `cancelled` returns true.
        """
        if not examples:
            raise InputError(f"examples of {word!r} must be at least one, got none")
        for _, _, answer in examples:
            if answer != word:
                raise InputError(f"answer of every example must be the word {word!r}, got {answer!r}")
        model = self.model
        if not self.teachable or not isinstance(model, InterpreterModel):
            raise InputError(f"agent must be of method 'ours' to learn a word, got {model.config.method!r}")
        words = self.words if word in self.words else Lexicon.of_words((*self.words, word), self.lexicon.language).words
        model = copy.deepcopy(model) if words == self.words else with_more_words(model, len(words))
        checkpoint = replace(self.checkpoint, model=model, words=words)
        if cancelled is not None and cancelled():
            raise Cancelled
        catalog = self.config.catalog()
        novel = set(self.split.held_out_words) if self.split.kind == "novel" else set()
        words_of = dict(zip(catalog.classes, self.lexicon.class_words(catalog.classes), strict=True))
        known = [name for name in catalog.classes if words_of[name] not in novel and words_of[name] != word]
        pictures = catalog.only(known).pictures[CELL_PIXELS]
        taught = [cells for name, cells in self.taught.items() if name != word]
        memory = np.concatenate([pictures[FIRST_ICON:], *taught])
        images = []
        for image, _, _ in examples:
            array, single = self._images(image)
            if not single:
                raise InputError(f"image of an example must be of shape [H, W, 3], got {array.shape}")
            images.append(array[0])
        questions = [replace(self, checkpoint=checkpoint)._tokens(question) for _, question, _ in examples]
        known_objects = [words.index(words_of[name]) for name in known]
        named = learn_word(
            model, words.index(word), known_objects, pictures[:FIRST_ICON], memory, np.stack(images), questions
        )
        return replace(self, checkpoint=checkpoint, taught={**self.taught, word: named})

    def save(self, path: str | Path, half: bool = False) -> None:
        """Write the agent to a file that `groundling.load` reads; `half` stores it in half precision."""
        save(path, self.checkpoint, half)

    def resized(
        self,
        size: int | None = None,
        objects: tuple[int, int] | None = None,
        walls: tuple[int, int] | None = None,
    ) -> "TrainedAgent":
        """The same agent in a world with maps of another size; see `WorldConfig.resized`."""
        world = self.config.world.resized(size, objects, walls)
        if world.size != self.config.world.size and not self.model.any_size:
            raise InputError(
                f"size must be {self.config.world.size}, that of the maps of training, for an agent of method "
                f"{self.model.config.method!r}, got {size}; only models with an interpreter and the planner "
                "value_iteration work on other sizes"
            )
        return replace(self, config=replace(self.config, world=world))

    def held_out(self, split: Split) -> bool:
        """Whether training held out everything that a split tests."""
        return set(split.held_out) <= set(self.split.held_out)

    def teacher(self, kind: str | None = None, holdout: float | None = None, phase: str = "test") -> Teacher:
        """A teacher of this agent's world, by default for the test sentences of its training split.

        Sampling is the natural distribution at full difficulty, whatever training used.
        """
        config = self.config
        same = kind in (None, config.split) and holdout in (None, config.holdout)
        if same or (config.split == JOINT and kind in ("zs1", "zs2")):
            return config.teacher(phase, tested=kind or "zs2")
        chosen, percent = kind or config.split, config.holdout if holdout is None else holdout
        grammar = config.grammar()
        return make_teacher(
            config.world, chosen, percent, config.split_seed, phase, grammar.catalog, language=grammar.language
        )

    def _view(self, observation: dict[str, Any]) -> tuple[View, bool]:
        """The view of an observation, and whether it is a single one."""
        if "cells" not in observation:
            images, single = self._images(observation["image"])
            return View.of_images(torch.from_numpy(images).to(self.device)), single
        cells = np.asarray(observation["cells"])
        count = self.config.catalog().cells
        if cells.ndim not in (2, 3) or cells.dtype.kind not in "iu" or (cells < 0).any() or (cells >= count).any():
            raise InputError(f"cells must be ids from 0 to {count - 1} of shape [side, side] or [B, side, side]")
        pictures = torch.from_numpy(self.config.catalog().pictures[CELL_PIXELS]).to(self.device)
        batch = cells[None] if cells.ndim == 2 else cells
        return View.of_cells(torch.from_numpy(batch).to(self.device), pictures), cells.ndim == 2

    @staticmethod
    def _images(image: ArrayLike | Tensor) -> tuple[NDArray[np.uint8], bool]:
        """Images [B, H, W, 3], and whether a single one [H, W, 3] was given."""
        array = image.cpu().numpy() if isinstance(image, Tensor) else np.asarray(image)
        if array.ndim not in (3, 4) or array.shape[-1] != 3 or array.dtype != np.uint8:
            raise InputError(
                f"image must be uint8 of shape [H, W, 3] or [B, H, W, 3], got {array.dtype} of shape {array.shape}"
            )
        return (array[None], True) if array.ndim == 3 else (array, False)

    def _sentences(self, given: Any, count: int, single: bool) -> list[list[int]]:
        """The tokens of one sentence per image."""
        sentences = [given] if single else list(given)
        if not single and (isinstance(given, str) or len(sentences) != count):
            raise InputError(f"sentences must be one for each of the {count} images, got {given!r}")
        return [self._tokens(sentence) for sentence in sentences]

    def _tokens(self, sentence: Any) -> list[int]:
        """The tokens of a sentence, without padding."""
        array = np.asarray(self.lexicon.encode(sentence) if isinstance(sentence, str) else sentence)
        if array.size and not self._is_tokens(array, 1):
            raise InputError(
                f"sentence must be text or a sequence of tokens from 0 to {self.lexicon.pad}, got {sentence!r}"
            )
        tokens = array[array != self.lexicon.pad].tolist()
        if not tokens:
            raise InputError(f"sentence must have at least one word, got {sentence!r}")
        return list(tokens)

    def _token_tensor(self, name: str, observation: dict[str, Any], view: View, single: bool) -> Tensor:
        """[B, L]: a sentence for each image of an observation; a row of padding is no sentence.

        The environment pads with the size of its own lexicon, which is a word of an agent that was taught more words.
        So everything after the final mark of a sentence is padding.
        """
        array = np.asarray(observation[name])
        batch = array[None] if single else array
        if not self._is_tokens(batch, 2) or len(batch) != len(view.cells):
            shape = "[L]" if single else f"[{len(view.cells)}, L]"
            raise InputError(
                f"{name} must be tokens from 0 to {self.lexicon.pad} of shape {shape}, got {array.dtype} of shape "
                f"{array.shape}"
            )
        marks = np.isin(batch, [self.lexicon.token["."], self.lexicon.token["?"]])
        in_sentence = marks[:, ::-1].cumsum(axis=1)[:, ::-1] > 0
        return torch.from_numpy(np.where(in_sentence, batch, self.lexicon.pad)).long().to(self.device)

    def _is_tokens(self, array: NDArray[Any], ndim: int) -> bool:
        """Whether an array of this number of axes holds tokens, padding included."""
        is_integer = array.ndim == ndim and array.dtype.kind in "iu"
        return is_integer and bool(((array >= 0) & (array <= self.lexicon.pad)).all())


def load_agent(
    name: str | Path,
    device: str | torch.device = "cpu",
    allow_import: bool = False,
    icons: str | None = None,
    language: str | None = None,
) -> TrainedAgent:
    """A trained agent from a checkpoint file, the folder of a run, or the name of pretrained weights.

    `allow_import`: if its model, split, maps or icons are in a module that is not imported yet, import it, which runs
    its code. `icons` are used instead of those of training; `language` is where the language file is now.
    """
    path = _checkpoint_path(name)
    checkpoint = load(path, device, allow_import)
    try:
        config = TrainConfig.of(checkpoint.provenance.get("config"))
        config = replace(config, icons=icons or config.icons, language=language or config.language)
        if not allow_import:
            _check_imports(config, icons, language)
        agent = TrainedAgent(checkpoint, config)
        if agent.lexicon.words != checkpoint.words or not isinstance(agent.split, Split):
            raise InputError("its lexicon is not that of the teacher")
        if checkpoint.model.spec.view != (view := 2 * config.world.size - 1):
            raise InputError(f"its view must be that of its world, {view} cells, got {checkpoint.model.spec.view}")
    except InputError as error:
        raise InputError(f"checkpoint {path}: {error}") from None
    if icons is None and config.catalog().hash != checkpoint.icons:
        raise InputError(
            f"checkpoint {path}: it was trained on other icons than those found now; give them with --icons"
        )
    return agent


def _check_imports(config: TrainConfig, icons: str | None, language: str | None) -> None:
    """Raise if the config of a checkpoint needs Python code that its user did not name."""
    names = {"split": config.split, "maps": config.world.maps, "icons": None if icons else config.icons}
    needed = {what: name for what, name in names.items() if name and names_code(name)}
    if is_imported(config.split):  # only a class can be meant, and a split is harmless
        needed.pop("split", None)
    is_file = "\n" not in config.language and config.language != "paper"
    if language is None and is_file:  # with rules in Python; otherwise its text is in the checkpoint
        needed["language"] = config.language
    for what, name in needed.items():
        raise InputError(
            f"its {what} {quote(name)} needs code that you did not name, and loading it runs it; if you trust it, use "
            "--allow-import or groundling.load(path, allow_import=True)"
        )


def _checkpoint_path(name: str | Path) -> Path:
    """The file of a checkpoint, given the file itself, the folder of a run, or the name of pretrained weights."""
    path = Path(name)
    try:
        if path.is_dir():
            files = [path / f"{kind}.safetensors" for kind in ("best", "last")]
            return next((file for file in files if file.is_file()), files[0])
        if path.suffix or path.exists():
            return path
    except OSError as error:  # a name that is too long, or a folder that may not be read
        raise InputError(f"checkpoint {quote(str(name), MAX_PATH)}: cannot be read ({reason(error)})") from None
    pretrained = {file.stem: file for file in sorted(WEIGHTS.glob("*.safetensors"))}
    if str(name) not in pretrained:
        raise InputError(
            f"checkpoint must be a file, a run folder or one of {', '.join(pretrained)}, got "
            f"{cut(repr(str(name)))}{nearest(str(name)[:40], pretrained)}"
        )
    return pretrained[str(name)]
