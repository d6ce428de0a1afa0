import pickle
import ssl

import httpx
import pytest

import envhub_sdk
from envhub_sdk import _exceptions, _wire


def _all_kinds(base: type[envhub_sdk.EnvHubError]) -> set[type[envhub_sdk.EnvHubError]]:
    return {base}.union(*(_all_kinds(kind) for kind in base.__subclasses__()))


def test_every_code_of_the_api_has_one_class() -> None:
    kinds = [kind for kind in _all_kinds(envhub_sdk.ApiError) if kind.code in _wire.CODES]
    assert sorted(kind.code for kind in kinds) == sorted(_wire.CODES)
    assert _exceptions.BY_CODE.keys() == _wire.CODES.keys()


def test_every_class_is_public_and_drawn_in_the_tree() -> None:
    for kind in _all_kinds(envhub_sdk.EnvHubError):
        assert kind.__name__ in envhub_sdk.__all__
        assert f"{kind.__name__}\n" in (_exceptions.__doc__ or "") or f"{kind.__name__} " in (
            _exceptions.__doc__ or ""
        )


@pytest.mark.parametrize("code", sorted(_wire.CODES))
def test_a_class_knows_its_status_and_whether_to_retry(code: str) -> None:
    kind = _exceptions.BY_CODE[code]
    assert (kind.status, kind.retryable) == _wire.CODES[code][:2]


def test_an_error_carries_what_the_hub_said() -> None:
    request = httpx.Request("GET", "http://hub.test/v1/sessions/s1/render")
    body = {"error": {"code": "session_expired", "message": "too late", "details": {"a": 1}}}
    error = _exceptions.from_response(httpx.Response(410, json=body, request=request), "s1")
    assert isinstance(error, envhub_sdk.SessionExpired) and isinstance(error, envhub_sdk.SessionGone)
    assert (str(error), error.session, error.details, error.request) == ("too late", "s1", {"a": 1}, request)


def test_an_unknown_session_has_a_way_on() -> None:
    error = _exceptions.from_body(_wire.ErrorBody("unknown_session", "no session 's1'"), session="s1")
    assert str(error) == "no session 's1' (reset() opens another)"


def test_a_certificate_nobody_trusts_is_said_and_not_tried_again() -> None:
    request = httpx.Request("GET", "https://hub.test/v1/envs")
    refused = httpx.ConnectError("certificate verify failed")
    refused.__cause__ = ssl.SSLCertVerificationError(1, "certificate verify failed")
    with pytest.raises(envhub_sdk.ConnectFailed, match="not trusted") as caught:
        with _exceptions.transport_errors(request, None):
            raise refused
    assert not caught.value.retryable


def test_a_code_from_a_newer_hub_is_kept() -> None:
    request = httpx.Request("GET", "http://hub.test/")
    body = {"error": {"code": "brand_new", "message": "m"}}
    error = _exceptions.from_response(httpx.Response(429, json=body, request=request), None)
    assert type(error) is envhub_sdk.ApiError
    assert (error.code, error.status, error.retryable) == ("brand_new", 429, True)
    assert envhub_sdk.ApiError.code == "api_error"


@pytest.mark.parametrize(("status", "retryable"), [(404, False), (502, True), (504, True)])
def test_a_page_of_a_proxy_is_an_unexpected_answer(status: int, retryable: bool) -> None:
    request = httpx.Request("GET", "http://hub.test/")
    error = _exceptions.from_response(httpx.Response(status, text="<html>", request=request), None)
    assert isinstance(error, envhub_sdk.UnexpectedAnswer)
    assert error.retryable is retryable
    assert "<html>" in str(error)


def test_errors_survive_pickling() -> None:
    error = envhub_sdk.StepTimeout("slow", session="s1", details={"limit": 10})
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is envhub_sdk.StepTimeout
    assert (str(again), again.session, again.details) == ("slow", "s1", {"limit": 10})
    batch = pickle.loads(pickle.dumps(envhub_sdk.BatchError("b", errors={2: error})))
    assert batch.errors[2].session == "s1"
