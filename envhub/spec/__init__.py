"""What a spec is, where specs are found, and how their settings are read.

`find` turns a reference into a `Spec`; `Spec.resolve` fills in its settings and gives the `ServedSpec` a
pool is started with.
"""

from envhub.spec._assign import (
    Assignment,
    EnvArgument,
    IsolationArgument,
    complaint_about_isolation,
    isolations_of,
    settings_of,
)
from envhub.spec._data import check_data
from envhub.spec._errors import (
    ConfigError,
    DataInvalid,
    SettingsInvalid,
    SpecError,
    SpecInvalid,
    SpecNotFound,
)
from envhub.spec._load import load
from envhub.spec._model import Artifact, Channel, ConfigKey, DataFile, Limits, ServedSpec, Spec
from envhub.spec._python import python_suits
from envhub.spec._registry import available, bundled, find, reference
from envhub.spec._runtime import HOST, Isolation, Runtime, Wanted, runtime_variables, runtime_words
from envhub.spec._table import Table
from envhub.spec._words import counted

__all__ = [
    "HOST",
    "Artifact",
    "Assignment",
    "Channel",
    "ConfigError",
    "ConfigKey",
    "DataFile",
    "DataInvalid",
    "EnvArgument",
    "Isolation",
    "IsolationArgument",
    "Limits",
    "Runtime",
    "ServedSpec",
    "SettingsInvalid",
    "Spec",
    "SpecError",
    "SpecInvalid",
    "SpecNotFound",
    "Table",
    "Wanted",
    "available",
    "bundled",
    "check_data",
    "complaint_about_isolation",
    "counted",
    "find",
    "isolations_of",
    "load",
    "python_suits",
    "reference",
    "runtime_variables",
    "runtime_words",
    "settings_of",
]
