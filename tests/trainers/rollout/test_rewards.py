"""What episodes are worth."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from envhub_trainers import _rewards
from envhub_trainers._rewards import RewardFailed, Rewards, Worth
from envhub_trainers._rollout import Rollout, Turn
from envhub_trainers._settings import FormatReward, FunctionReward, ModelReward, OutcomeReward, StepPenalty


@pytest.fixture
def rollout():
    turns = [
        Turn("see", 3, 5, "bad", problem="no action"),
        Turn("see", 7, 9, "left", "left", well_formed=True, reward=0.25),
        Turn("see", 12, 13, "up", "up", well_formed=True, reward=0.5),
    ]
    return Rollout(task={"id": "t"}, turns=turns, terminated=True)


async def worth_of(part, rollout):
    return (await Rewards([part]).of(rollout, "the whole talk"))[part.called]


async def test_the_parts_have_a_value_a_turn_and_a_weighted_total(rollout):
    assert await worth_of(OutcomeReward(), rollout) == Worth([0.0, 0.25, 0.5], 0.75)
    assert await worth_of(FormatReward(weight=0.1), rollout) == Worth([-1.0, 0.0, 0.0], -0.1)
    assert await worth_of(StepPenalty(weight=0.5), rollout) == Worth([-1.0, -1.0, -1.0], -1.5)


async def test_clipping_is_before_the_weight_and_leaves_the_turns(rollout):
    part = StepPenalty(weight=0.1, clip=(-2.0, 0.0))
    assert await worth_of(part, rollout) == Worth([-1.0, -1.0, -1.0], -0.2)
    assert (await worth_of(OutcomeReward(clip=(0.9, 1.0)), rollout)).total == 0.9


async def test_all_parts_come_by_name(rollout):
    rewards = Rewards([OutcomeReward(), FormatReward(name="manners")])
    assert rewards.names == list(await rewards.of(rollout, "")) == ["outcome", "manners"]


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "mine.py").write_text(
        "def short(rollout):\n    return -len(rollout.turns)\n"
        "def each(rollout):\n    return [len(turn.text) for turn in rollout.turns]\n"
        "async def later(rollout):\n    return rollout.terminated\n"
        "def wrong(rollout):\n    return [1.0]\n"
        "def broken(rollout):\n    return 1 / 0\n"
        "def infinite(rollout):\n    return float('inf')\n"
        "def text(rollout):\n    return 'good'\n"
    )
    return lambda name: FunctionReward(call=f"{tmp_path / 'mine.py'}:{name}", name=name)


async def test_a_function_of_the_users_judges_the_rollout_or_each_turn(rollout, mine):
    assert await worth_of(mine("short"), rollout) == Worth([0.0, 0.0, -3.0], -3.0)
    assert await worth_of(mine("each"), rollout) == Worth([3.0, 4.0, 2.0], 9.0)
    assert await worth_of(mine("later"), rollout) == Worth([0.0, 0.0, 1.0], 1.0)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("wrong", "1 numbers for 3 turns"),
        ("broken", "'broken' failed: ZeroDivisionError"),
        ("infinite", "is inf"),
        ("text", "ValueError"),
    ],
)
async def test_what_is_no_number_is_a_fault(rollout, mine, name, reason):
    with pytest.raises(RewardFailed, match=reason):
        await worth_of(mine(name), rollout)


class Model:
    """A reward model behind HTTP that answers by a script: a status, or a body."""

    def __init__(self, *script):
        self.script = list(script)
        self.asked = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                model.asked.append(json.loads(body))
                answer = model.script.pop(0) if len(model.script) > 1 else model.script[0]
                self.send_response(answer if isinstance(answer, int) else 200)
                said = b"" if isinstance(answer, int) else json.dumps(answer).encode()
                self.send_header("content-length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *args):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/get_reward"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def model(monkeypatch):
    monkeypatch.setattr(_rewards, "FIRST_PAUSE_S", 0.0)
    made = []

    def make(*script):
        made.append(Model(*script))
        return made[-1]

    yield make
    for one in made:
        one.close()


async def test_a_reward_model_is_shown_the_whole_conversation(rollout, model):
    judge = model({"rewards": [0.7], "scores": [0.7]})
    assert await worth_of(ModelReward(url=judge.url), rollout) == Worth([0.0, 0.0, 0.7], 0.7)
    assert judge.asked == [{"query": ["the whole talk"], "prompts": ["see"], "labels": ['{"id": "t"}']}]


async def test_a_reward_model_that_stumbles_is_asked_again(rollout, model):
    judge = model(503, 500, {"rewards": [1]})
    assert (await worth_of(ModelReward(url=judge.url), rollout)).total == 1.0
    assert len(judge.asked) == 3


@pytest.mark.parametrize(("script", "asked"), [((500,), 3), ((404,), 1), (({"scores": [1]},), 1)])
async def test_a_reward_model_without_an_answer_is_a_fault(rollout, model, script, asked):
    judge = model(*script)
    with pytest.raises(RewardFailed, match="'model' failed"):
        await worth_of(ModelReward(url=judge.url, retries=2), rollout)
    assert len(judge.asked) == asked
