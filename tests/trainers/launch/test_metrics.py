"""Numbers read off what OpenRLHF prints."""

from envhub_trainers import _metrics

STEP = (
    "\x1b[36m(PPOTrainer pid=20781)\x1b[0m INFO 11-29 19:24:39 ppo_trainer.py:551] ✨ Global step 2: "
    "{'kl': 0.0, 'reward': 0.375, 'vllm_kl': nan, 'rollout/reward_std': inf, 'timing/step_total': 0.33}\n"
)
EVALUATION = (
    "INFO ppo_trainer.py:598] ✨ Evaluation completed in 0:00:05, global_step 10, eval_metrics: "
    "{'eval_frozenlake_test_pass1': 0.75, 'eval_num_samples': 8.0}\n"
)
WEIGHTS = (
    "(PolicyModelActor pid=1) envhub: weights 3 in 1 engine(s), largest difference of a log-probability "
    "9.54e-07, 0.05 s\n"
)


def test_a_step_is_read_without_what_is_no_number() -> None:
    assert _metrics.from_line(STEP) == {"step": 2.0, "kl": 0.0, "reward": 0.375, "timing/step_total": 0.33}


def test_an_evaluation_and_a_transfer_of_weights_are_read() -> None:
    assert _metrics.from_line(EVALUATION) == {
        "step": 10.0,
        "eval_frozenlake_test_pass1": 0.75,
        "eval_num_samples": 8.0,
    }
    assert _metrics.from_line(WEIGHTS) == {"weights": 3.0, "weights/gap": 9.54e-07, "weights/seconds": 0.05}


def test_anything_else_is_not_a_metric() -> None:
    for line in ("", "Global step", "Global step 3: {'kl': tensor(0.1)}\n", "step 3/4: {}"):
        assert _metrics.from_line(line) is None


def test_the_pace_of_a_step_is_that_of_its_rollouts() -> None:
    step = {"step": 1.0, "sampled_tokens": 20.0, "timing/generation": 4.0}
    assert _metrics.pace(step, 64) == {"tokens_per_s": 320.0}
    assert _metrics.pace({"step": 1.0, "eval_num_samples": 8.0}, 64) == {}
