"""The client SDK of EnvHub: environments on a hub, used like local Gymnasium environments.

    import envhub_sdk

    hub = envhub_sdk.Hub("http://127.0.0.1:8000")
    env = hub.make("webshop")
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step("search[red shoes]")

Importing it also registers `gymnasium.make("envhub/webshop")` and its like.
"""

from envhub_sdk import spaces
from envhub_sdk._async_env import AsyncEnv
from envhub_sdk._async_hub import AsyncHub
from envhub_sdk._env import Env
from envhub_sdk._exceptions import (
    AnswerLost,
    AnswerTimeout,
    ApiError,
    BatchError,
    BodyTooLarge,
    Busy,
    CallNotImplemented,
    ConnectFailed,
    EnvHubError,
    EnvironmentFailed,
    EpisodeFailed,
    EpisodeLost,
    EpisodeOver,
    Forbidden,
    HubClosed,
    InternalError,
    InvalidAction,
    InvalidOptions,
    MalformedRequest,
    MethodNotAllowed,
    NoEpisode,
    NoFreeReplica,
    NotFound,
    NotJson,
    NotReady,
    QueueFull,
    QuotaExceeded,
    ReplayDiverged,
    RequestTimeout,
    SessionClosed,
    SessionExpired,
    SessionGone,
    SessionLost,
    StepIndexConflict,
    StepTimeout,
    TransportError,
    Unauthorized,
    UnexpectedAnswer,
    UnknownEnv,
    UnknownSession,
    UnknownSnapshot,
    UnknownTask,
)
from envhub_sdk._hub import Hub
from envhub_sdk._registration import register_envs
from envhub_sdk._rollout import rollout
from envhub_sdk._snapshot import Snapshot
from envhub_sdk._trajectory import EpisodeError, Timings, Trajectory
from envhub_sdk._vector import VectorEnv
from envhub_sdk._wire import EnvInfo, SessionState
from envhub_sdk.spaces import UnicodeText

__all__ = [
    "AnswerLost",
    "AnswerTimeout",
    "ApiError",
    "AsyncEnv",
    "AsyncHub",
    "BatchError",
    "BodyTooLarge",
    "Busy",
    "CallNotImplemented",
    "ConnectFailed",
    "Env",
    "EnvHubError",
    "EnvInfo",
    "EnvironmentFailed",
    "EpisodeError",
    "EpisodeFailed",
    "EpisodeLost",
    "EpisodeOver",
    "Forbidden",
    "Hub",
    "HubClosed",
    "InternalError",
    "InvalidAction",
    "InvalidOptions",
    "MalformedRequest",
    "MethodNotAllowed",
    "NoEpisode",
    "NoFreeReplica",
    "NotFound",
    "NotJson",
    "NotReady",
    "QueueFull",
    "QuotaExceeded",
    "ReplayDiverged",
    "RequestTimeout",
    "SessionClosed",
    "SessionExpired",
    "SessionGone",
    "SessionLost",
    "SessionState",
    "Snapshot",
    "StepIndexConflict",
    "StepTimeout",
    "Timings",
    "Trajectory",
    "TransportError",
    "Unauthorized",
    "UnexpectedAnswer",
    "UnicodeText",
    "UnknownEnv",
    "UnknownSession",
    "UnknownSnapshot",
    "UnknownTask",
    "VectorEnv",
    "register_envs",
    "rollout",
    "spaces",
]

for _name in __all__:
    if isinstance(globals()[_name], type) or callable(globals()[_name]):
        globals()[_name].__module__ = __name__  # what users import is what tracebacks show
