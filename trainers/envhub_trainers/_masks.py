"""OpenRLHF with samples that have no loss.

A masked sample has no sampled tokens, and OpenRLHF 0.11.2 divides by their number: the measured KL of a
step with one is NaN; where all samples of a micro-batch are masked it stops with a ZeroDivisionError; and
where all of an optimizer step are the loss is NaN and with it, after that step, every weight of the model.
`adapt` makes the mean of nothing 0, as the modules concerned are imported, in the program that starts a run
and in each of Ray's workers. A mean of something stays what it is.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from envhub_trainers.cpu._imports import Change, install

__all__ = ["AFTER", "adapt"]

NEXT_TO_NOTHING = 1e-9
"""Tokens: a weight with which a number counts for nothing beside another."""


def adapt() -> None:
    """Change what needs changing, as it is imported from now on. Ray calls it in each of its workers."""
    install(AFTER, {})


def means_of_nothing(module: ModuleType) -> None:
    """`masked_mean`, which measures and normalises, divides by the number of tokens in the mask."""

    def masked_mean(tensor: Any, mask: Any, dim: int | None = None) -> Any:
        if mask is None:
            return tensor.mean(dim=dim)
        return (tensor * mask).sum(dim=dim) / mask.sum(dim=dim).clamp(min=1)

    module.masked_mean = masked_mean  # type: ignore[attr-defined]


def losses_of_nothing(module: ModuleType) -> None:
    """The loss of an optimizer step is divided by what these count: tokens and samples."""
    for name in ("_optimizer_step_loss_norm", "get_loss_batch_info"):
        setattr(module, name, _at_least_one(getattr(module, name)))


def _at_least_one(count: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    def counted(*args: Any, **options: Any) -> dict[str, Any]:
        counts = count(*args, **options)
        for name in ("batch_num_tokens", "global_batch_size"):
            counts[name] = counts[name].masked_fill(counts[name] == 0, 1.0)
        return counts

    return counted


def status_of_nothing(module: Any) -> None:
    """The numbers of a micro-batch are averaged by its tokens, also when there are none."""
    step = module.ActorPPOTrainer.training_step

    def training_step(self: Any, *args: Any, **options: Any) -> dict[str, Any]:
        status: dict[str, Any] = step(self, *args, **options)
        status["num_action_tokens"] = status["num_action_tokens"] or NEXT_TO_NOTHING
        return status

    module.ActorPPOTrainer.training_step = training_step


def advantages_of_nothing(module: Any) -> None:
    """Advantages are normalised over all sampled tokens; without any they are NaN, which no mask removes."""
    compute = module.RemoteExperienceMaker.compute_advantages_and_returns

    def compute_advantages_and_returns(self: Any, experiences: Any) -> Any:
        computed = compute(self, experiences)
        for experience in computed:
            experience.advantages = experience.advantages.masked_fill(experience.action_mask == 0, 0.0)
        return computed

    module.RemoteExperienceMaker.compute_advantages_and_returns = compute_advantages_and_returns


AFTER: dict[str, list[Change]] = {
    "openrlhf.models.utils": [means_of_nothing],
    "openrlhf.utils.loss_utils": [losses_of_nothing],
    "openrlhf.trainer.ppo_utils.experience_maker": [advantages_of_nothing],
    "openrlhf.trainer.ray.ppo_actor": [status_of_nothing],
}
"""What to change, by the module that it is in."""
