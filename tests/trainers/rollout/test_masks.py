"""OpenRLHF with samples that have no loss."""

import importlib.util
import os
import warnings
from types import SimpleNamespace

import pytest

pytest.importorskip("openrlhf", reason="needs OpenRLHF: the extra train-cpu")
torch = pytest.importorskip("torch")
pytestmark = pytest.mark.train


@pytest.fixture(scope="module")
def openrlhf():
    """OpenRLHF's losses and what they are divided by, with and without our changes."""
    from envhub_trainers.cpu import ENVIRONMENT, adapt

    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, os.environ.get(name, value))
        adapt()
        from openrlhf.models import loss, utils
        from openrlhf.trainer.ppo_utils import experience_maker
        from openrlhf.utils import loss_utils
    return SimpleNamespace(loss=loss, utils=utils, loss_utils=loss_utils, maker=experience_maker)


NONE = [[0, 0, 0], [0, 0, 0]]
SOME = [[0, 1, 1], [0, 0, 0]]


def plain(module, name):
    """A function of a module as upstream has it: read again from its source, without our changes."""
    spec = importlib.util.spec_from_file_location("plain", module.__file__)
    made = importlib.util.module_from_spec(spec)
    made.__package__ = module.__package__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec.loader.exec_module(made)
    return getattr(made, name)


@pytest.mark.parametrize("dim", [None, -1])
def test_a_mean_of_nothing_is_zero_and_of_something_what_it_was(openrlhf, dim):
    values, some = torch.arange(6.0).reshape(2, 3), torch.tensor(SOME)
    mean, upstream = openrlhf.utils.masked_mean, plain(openrlhf.utils, "masked_mean")
    full = torch.ones(2, 3)
    assert torch.equal(mean(values, full, dim), upstream(values, full, dim))
    assert torch.equal(mean(values, None, dim), upstream(values, None, dim))
    assert torch.equal(torch.nan_to_num(upstream(values, some, dim)), mean(values, some, dim))
    assert not mean(values, torch.tensor(NONE), dim).any()


def loss_of(openrlhf, mask, norm):
    mask = torch.tensor(mask, dtype=torch.float32)
    new = torch.full((2, 3), -0.1, requires_grad=True)
    info = norm([mask], None, 1, 1)
    policy_loss = openrlhf.loss.PolicyLoss()
    loss, *_ = policy_loss(new, torch.full((2, 3), -0.2), torch.ones(2, 3), action_mask=mask, **info)
    loss.backward()
    return loss.item(), new.grad


def test_a_step_without_any_loss_changes_nothing_and_another_is_what_it_was(openrlhf):
    name = "_optimizer_step_loss_norm"
    ours, upstream = getattr(openrlhf.loss_utils, name), plain(openrlhf.loss_utils, name)
    loss, gradient = loss_of(openrlhf, NONE, ours)
    assert loss == 0.0 and torch.count_nonzero(gradient) == 0
    (loss, gradient), (same, like) = (loss_of(openrlhf, SOME, norm) for norm in (ours, upstream))
    assert loss == same and torch.equal(gradient, like)


def test_upstream_still_needs_it(openrlhf):
    """When this fails OpenRLHF has learned it: drop `_masks`."""
    upstream = plain(openrlhf.loss_utils, "_optimizer_step_loss_norm")
    loss, _ = loss_of(openrlhf, NONE, upstream)
    assert loss != loss
    mean = plain(openrlhf.utils, "masked_mean")(torch.zeros(2, 3), torch.tensor(NONE), -1)
    assert mean.isnan().all()


def test_the_batch_info_of_dynamic_batches_is_never_zero(openrlhf):
    info = openrlhf.loss_utils.get_loss_batch_info(SimpleNamespace(), torch.tensor(NONE))
    assert info["batch_num_tokens"] == info["global_batch_size"] == 1.0
    info = openrlhf.loss_utils.get_loss_batch_info(SimpleNamespace(), torch.tensor(SOME))
    assert (info["batch_num_tokens"], info["global_batch_size"]) == (2.0, 1.0)


@pytest.mark.parametrize("estimator", ["gae", "reinforce_baseline", "group_norm"])
def test_advantages_of_a_rollout_without_any_loss_are_zero_and_of_another_what_they_were(openrlhf, estimator):
    name = "RemoteExperienceMaker"
    ours, upstream = getattr(openrlhf.maker, name), plain(openrlhf.maker, name)
    assert not advantages(ours, estimator, NONE).any()
    both = [[0, 1, 1], [1, 0, 0]]
    some, same = (advantages(maker, estimator, both) for maker in (ours, upstream))
    mask = torch.tensor(both).bool()
    assert torch.equal(some[mask], same[mask]) and some[mask].any() and not some[~mask].any()


def advantages(maker, estimator, mask):
    """OpenRLHF's advantages of a group of two samples."""
    advantage = SimpleNamespace(estimator=estimator, gamma=1.0, lambd=1.0, no_std_norm=False)
    args = SimpleNamespace(
        algo=SimpleNamespace(advantage=advantage),
        rollout=SimpleNamespace(n_samples_per_prompt=2),
        reward=SimpleNamespace(clip_range=None),
    )
    made = maker.__new__(maker)
    made.strategy = SimpleNamespace(args=args)
    made.args, made.advantage_estimator, made.kl_ctl = args, estimator, SimpleNamespace(value=0.0)
    experience = SimpleNamespace(
        index=[0, 1],
        rewards=torch.tensor([1.0, 0.0]),
        info={},
        kl=torch.zeros(2, 3),
        values=torch.zeros(2, 3),
        action_mask=torch.tensor(mask),
    )
    (computed,) = made.compute_advantages_and_returns([experience])
    return computed.advantages


def test_a_micro_batch_without_any_loss_counts_for_nothing_in_the_averages():
    from envhub_trainers._masks import NEXT_TO_NOTHING, status_of_nothing

    class Trainer:
        def training_step(self, tokens):
            return {"num_action_tokens": tokens}

    module = SimpleNamespace(ActorPPOTrainer=Trainer)
    status_of_nothing(module)
    assert Trainer().training_step(0.0)["num_action_tokens"] == NEXT_TO_NOTHING > 0.0
    assert Trainer().training_step(7.0)["num_action_tokens"] == 7.0
