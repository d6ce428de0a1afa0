"""Every call of the API, on a real server; the client checks each answer against the schema."""

from typing import Any

import httpx
import pytest


def code(response: httpx.Response) -> str:
    found: str = response.json()["error"]["code"]
    return found


def step(client: httpx.Client, session: str, action: object, **more: object) -> httpx.Response:
    return client.post(f"/v1/sessions/{session}/step", json={"action": action, **more})


# -- control ----------------------------------------------------------------------------------------


def test_health(client: httpx.Client) -> None:
    assert client.get("/healthz").json() == {"status": "alive"}
    assert client.get("/readyz").json() == {"status": "ready"}


def test_metrics(client: httpx.Client, open_one: Any) -> None:
    session = open_one()["id"]
    step(client, session, "a")
    lines = client.get("/metrics").text.splitlines()
    assert 'envhub_replicas{env="echo",state="total"} 8.0' in lines
    assert any(line.startswith('envhub_steps_total{env="echo"}') for line in lines)


def test_the_environments(client: httpx.Client) -> None:
    listed = client.get("/v1/envs").json()["envs"]
    assert [env["name"] for env in listed] == ["echo", "frozenlake", "painter"]
    lake = client.get("/v1/envs/frozenlake").json()
    assert lake == next(env for env in listed if env["name"] == "frozenlake")
    assert lake["splits"]["test"]["tasks"] == 100
    assert lake["limits"]["max_episode_steps"] == 10
    assert lake["replicas"] == {"total": 4, "free": 4, "queued": 0}
    painter = client.get("/v1/envs/painter").json()
    assert painter["action"]["space"] == {
        "type": "Box",
        "low": [-1, -1],
        "high": [1, 1],
        "shape": [2],
        "dtype": "float32",
    }
    assert painter["observation"]["space"]["high"] == ["inf", "inf"]
    assert painter["data"] == {"name": "colours", "digest": "sha256:00"}
    assert code(client.get("/v1/envs/ecco")) == "unknown_env"


def test_tasks_in_pages(client: httpx.Client) -> None:
    first = client.get("/v1/envs/frozenlake/tasks", params={"split": "test", "limit": 3}).json()
    assert (first["total"], first["offset"], len(first["tasks"])) == (100, 0, 3)
    second = client.get("/v1/envs/frozenlake/tasks", params={"split": "test", "offset": 1, "limit": 1})
    assert second.json()["tasks"] == first["tasks"][1:2]
    assert client.get("/v1/envs/frozenlake/tasks").json()["split"] == "train"
    past = client.get("/v1/envs/frozenlake/tasks", params={"offset": 2**50}).json()
    assert past["tasks"] == []
    assert client.get("/v1/envs/frozenlake/tasks", params={"limit": 0}).json()["tasks"] == []


@pytest.mark.parametrize(
    "query",
    ["offset=-1", "limit=1001", "limit=x", f"offset={2**70}", "offset=" + "9" * 5000, "limit=", "offset=1.5"],
)
def test_a_page_that_cannot_be(client: httpx.Client, query: str) -> None:
    answer = client.get(f"/v1/envs/frozenlake/tasks?{query}")
    assert (answer.status_code, code(answer)) == (400, "malformed_request")
    assert query.partition("=")[0] in answer.json()["error"]["message"]


def test_a_split_that_is_not(client: httpx.Client) -> None:
    assert code(client.get("/v1/envs/frozenlake/tasks?split=dev")) == "unknown_task"
    assert code(client.get("/v1/envs/echo/tasks")) == "unknown_task"
    assert code(client.get("/v1/envs/nope/tasks")) == "unknown_env"


# -- sessions ---------------------------------------------------------------------------------------


def test_an_episode(client: httpx.Client, open_one: Any) -> None:
    opened = open_one(seeds=[3], labels={"run": "a"}, idle_timeout_s=50)
    session = opened["id"]
    assert (opened["seed"], opened["observation"], opened["step_index"]) == (3, "", 0)
    assert opened["idle_timeout_s"] == 50
    first = step(client, session, "hällo \U0001f600", step_index=0)
    assert first.json() == {
        "observation": "hällo \U0001f600",
        "reward": 0.0,
        "terminated": False,
        "truncated": False,
        "info": {},
        "step_index": 0,
    }
    assert step(client, session, "hällo \U0001f600", step_index=0).content == first.content
    state = client.get(f"/v1/sessions/{session}").json()
    assert (state["status"], state["step_index"], state["labels"]) == ("running", 1, {"run": "a"})
    assert [one["id"] for one in client.get("/v1/sessions").json()["sessions"]] == [session]
    assert client.post(f"/v1/sessions/{session}/keepalive").json()["expires_at"] > opened["expires_at"]
    record = client.get(f"/v1/sessions/{session}/trajectory").json()
    assert [one["action"] for one in record["steps"]] == ["hällo \U0001f600"]
    drawn = client.get(f"/v1/sessions/{session}/render")
    assert drawn.text == "hällo \U0001f600"
    reset = client.post(f"/v1/sessions/{session}/reset", json={"seed": 9}).json()
    assert (reset["seed"], reset["step_index"]) == (9, 0)
    assert client.post(f"/v1/sessions/{session}/reset").json()["episode_id"] != reset["episode_id"]
    for _ in range(2):
        assert client.delete(f"/v1/sessions/{session}").status_code == 204
    assert client.delete("/v1/sessions/s-never").status_code == 204
    for gone in ("", "/trajectory", "/render"):
        answer = client.get(f"/v1/sessions/{session}{gone}")
        assert (answer.status_code, code(answer)) == (410, "session_closed")
    assert code(step(client, session, "a")) == "session_closed"
    assert code(client.post(f"/v1/sessions/{session}/reset")) == "session_closed"


def test_an_empty_body_opens_with_the_defaults(client: httpx.Client) -> None:
    assert client.post("/v1/envs/echo/sessions").json()["sessions"][0]["observation"] == ""


def test_arrays_and_pictures(client: httpx.Client, open_one: Any) -> None:
    session = open_one("painter")["id"]
    answer = step(client, session, [0.5, -0.5]).json()
    assert (answer["observation"], answer["reward"]) == (["NaN", "NaN"], 0.5)
    picture = client.get(f"/v1/sessions/{session}/render")
    assert picture.headers["content-type"] == "image/png"
    assert picture.content.startswith(b"\x89PNG")
    assert code(step(client, session, [2, 0])) == "invalid_action"
    assert code(step(client, session, "left")) == "invalid_action"
    assert step(client, session, [1, 1], step_index=1).status_code == 200


def test_points_of_episodes(client: httpx.Client, open_one: Any) -> None:
    session = open_one("frozenlake", seeds=[1])["id"]
    first = step(client, session, "left").json()
    point = client.post(f"/v1/sessions/{session}/snapshot").json()
    assert (point["step_index"], point["kind"]) == (1, "native")
    second = step(client, session, "down").json()
    there = client.post(f"/v1/sessions/{session}/restore", json={"snapshot_id": point["snapshot_id"]}).json()
    assert (there["observation"], there["step_index"]) == (first["observation"], 1)
    forks = client.post(f"/v1/sessions/{session}/fork", json={"count": 2}).json()["sessions"]
    for one in (session, *(fork["id"] for fork in forks)):
        assert step(client, one, "down").json() == second
    unknown = client.post(f"/v1/sessions/{session}/restore", json={"snapshot_id": "p-none"})
    assert (unknown.status_code, code(unknown)) == (404, "unknown_snapshot")
    for verb, body in (("snapshot", {}), ("restore", {"snapshot_id": "p-none"}), ("fork", {})):
        assert code(client.post(f"/v1/sessions/s-nobody/{verb}", json=body)) == "unknown_session"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("GET", "/trajectory"),
        ("GET", "/render"),
        ("POST", "/reset"),
        ("POST", "/keepalive"),
    ],
)
def test_a_session_that_never_was(client: httpx.Client, method: str, path: str) -> None:
    answer = client.request(method, f"/v1/sessions/s-nobody{path}")
    assert (answer.status_code, code(answer)) == (404, "unknown_session")
    assert code(step(client, "s-nobody", "a")) == "unknown_session"


# -- what can go wrong ------------------------------------------------------------------------------


def test_conflicts(client: httpx.Client, open_one: Any) -> None:
    session = open_one(reset=False)["id"]
    assert code(step(client, session, "a")) == "no_episode"
    assert code(client.get(f"/v1/sessions/{session}/trajectory")) == "no_episode"
    assert code(client.get(f"/v1/sessions/{session}/render")) == "no_episode"
    client.post(f"/v1/sessions/{session}/reset")
    answer = step(client, session, "a", step_index=5)
    assert (answer.status_code, code(answer)) == (409, "step_index_conflict")
    assert answer.json()["error"]["details"]["expected"] == 0
    assert answer.json()["error"]["details"]["received"] == 5


def test_the_end_of_an_episode(client: httpx.Client, open_one: Any) -> None:
    session = open_one("frozenlake", seeds=[1])["id"]
    for _ in range(20):
        last = step(client, session, "left")
        if last.json().get("terminated") or last.json().get("truncated"):
            break
    answer = step(client, session, "left")
    assert (answer.status_code, code(answer)) == (409, "episode_over")


def test_refused_actions_and_tasks(client: httpx.Client, open_one: Any) -> None:
    session = open_one()["id"]
    answer = step(client, session, 7)
    assert (answer.status_code, code(answer)) == (422, "invalid_action")
    assert "must be text" in answer.json()["error"]["message"]
    lake = open_one("frozenlake")["id"]
    refused = client.post(f"/v1/sessions/{lake}/reset", json={"task": "no-such-task"})
    assert (refused.status_code, code(refused)) == (404, "unknown_task")
    opening = client.post("/v1/envs/frozenlake/sessions", json={"count": 2, "tasks": ["x", "y"]})
    assert code(opening) == "unknown_task"
    assert len(client.get("/v1/sessions").json()["sessions"]) == 2


def test_failures_of_an_environment_are_that_sessions_alone(client: httpx.Client, open_one: Any) -> None:
    session, other = open_one()["id"], open_one()["id"]
    failed = step(client, session, "fail")
    assert (failed.status_code, code(failed)) == (502, "environment_error")
    assert failed.json()["error"]["details"]["type"] == "EchoFault"
    assert code(step(client, session, "a")) == "episode_failed"
    assert code(client.get(f"/v1/sessions/{session}/render")) == "episode_failed"
    assert step(client, other, "a").status_code == 200
    client.post(f"/v1/sessions/{session}/reset")
    slow = step(client, session, "hang")
    assert (slow.status_code, code(slow)) == (504, "step_timeout")
    assert slow.json()["error"]["details"]["session_survives"] is True
    assert client.post(f"/v1/sessions/{session}/reset").status_code == 200


def test_a_dead_worker(client: httpx.Client, open_one: Any, wait_until: Any) -> None:
    session = open_one()["id"]
    answer = step(client, session, "exit")
    assert (answer.status_code, code(answer)) == (502, "environment_error"), "it kills every worker"
    assert code(step(client, session, "a")) == "episode_failed"
    assert client.post(f"/v1/sessions/{session}/reset").status_code == 200
    assert step(client, session, "a").status_code == 200
    wait_until(lambda: client.get("/readyz").status_code == 200)


def test_no_replica(client: httpx.Client, open_one: Any) -> None:
    client.post("/v1/envs/frozenlake/sessions", json={"count": 4})
    answer = client.post("/v1/envs/frozenlake/sessions", json={"wait_s": 0})
    assert (answer.status_code, code(answer)) == (503, "no_free_replica")
    assert int(answer.headers["retry-after"]) >= 1
    too_many = client.post("/v1/envs/frozenlake/sessions", json={"count": 5})
    assert (too_many.status_code, code(too_many)) == (422, "invalid_options")


def test_a_full_queue(make_server: Any, make_plan: Any) -> None:
    server = make_server(make_plan("echo", 1), max_queue=0)
    with server.client() as client:
        client.post("/v1/envs/echo/sessions")
        answer = client.post("/v1/envs/echo/sessions")
        assert (answer.status_code, code(answer)) == (429, "queue_full")
        assert int(answer.headers["retry-after"]) >= 1


def test_expiry(make_server: Any, wait_until: Any) -> None:
    server = make_server()
    with server.client() as client:
        session = client.post("/v1/envs/echo/sessions", json={"idle_timeout_s": 0.05}).json()["sessions"][0]
        wait_until(lambda: client.get("/v1/sessions").json()["sessions"] == [])
        answer = client.get(f"/v1/sessions/{session['id']}")
        assert (answer.status_code, code(answer)) == (410, "session_expired")
        assert server.free("echo") == 4


# -- batches ----------------------------------------------------------------------------------------


def test_batches(client: httpx.Client) -> None:
    opened = client.post("/v1/envs/echo/sessions", json={"count": 8}).json()["sessions"]
    ids = [one["id"] for one in opened]
    steps = [{"session_id": one, "action": f"to {n}", "step_index": 0} for n, one in enumerate(ids)]
    steps[3]["action"] = "fail"
    steps.append({"session_id": "s-nobody", "action": "a"})
    results = client.post("/v1/step", json={"steps": steps}).json()["results"]
    observed = [result.get("observation") or result["error"]["code"] for result in results]
    assert observed[:3] == ["to 0", "to 1", "to 2"]
    assert observed[3] == "environment_error" and observed[-1] == "unknown_session"
    resets = client.post("/v1/reset", json={"resets": [{"session_id": one, "seed": 1} for one in ids]})
    assert [one["seed"] for one in resets.json()["results"]] == [1] * 8
    closed = client.post("/v1/close", json={"session_ids": [*ids, ids[0], "s-nobody"]}).json()["results"]
    assert [one["session_id"] for one in closed] == [*ids, ids[0], "s-nobody"]
    for empty in ({"steps": []}, {"resets": []}, {"session_ids": []}):
        path = {"steps": "step", "resets": "reset", "session_ids": "close"}[next(iter(empty))]
        assert client.post(f"/v1/{path}", json=empty).json() == {"results": []}


def test_autoreset(client: httpx.Client) -> None:
    opened = client.post("/v1/envs/frozenlake/sessions", json={"seeds": [5]}).json()["sessions"][0]
    session, episode = opened["id"], opened["episode_id"]
    for index in range(20):
        item = {"session_id": session, "action": "right", "step_index": index, "episode_id": episode}
        answer = client.post("/v1/step", json={"steps": [item], "autoreset": True})
        (result,) = answer.json()["results"]
        if "reset" in result:
            break
    assert result["terminated"] or result["truncated"]
    assert result["reset"]["episode_id"] != episode
    again = client.post("/v1/step", json={"steps": [item], "autoreset": True})
    assert again.content == answer.content
