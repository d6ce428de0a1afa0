"""Where the files of a spec's locks lie."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from envhub.build._errors import LockMissing
from envhub.spec import Spec


@dataclass(frozen=True, slots=True)
class SpecFiles:
    """The files that say what a spec's environment is made of, whether they are there or not.

    Attributes:
        folder: The spec's folder.
    """

    folder: Path

    @classmethod
    def of(cls, spec: Spec) -> SpecFiles:
        """Return the files of a spec.

        Raises:
            LockMissing: The spec has no folder of its own.
        """
        if spec.path is None:
            raise LockMissing(
                f"{spec.name}: it has no folder, so it can have no locks; it runs in the hub's own "
                "interpreter (--isolation host)"
            )
        return cls(spec.path)

    @property
    def environment(self) -> Path:
        """What is asked for from conda channels."""
        return self.folder / "environment.yml"

    @property
    def requirements(self) -> Path:
        """What is asked for from PyPI; it need not be there."""
        return self.folder / "requirements.in"

    @property
    def virtual_packages(self) -> Path:
        """What the machine itself provides, as far as the solver may rely on it."""
        return self.folder / "virtual-packages.yml"

    @property
    def conda_lock(self) -> Path:
        """The conda packages, locked: conda-lock's own format, version 1."""
        return self.folder / "conda-lock.yml"

    @property
    def requirements_lock(self) -> Path:
        """The PyPI packages, locked: `name==version` with hashes. Needed where `requirements.in` is there."""
        return self.folder / "requirements.lock"

    @property
    def setup(self) -> Path:
        """The setup steps; it need not be there."""
        return self.folder / "setup" / "setup.toml"

    @property
    def provenance(self) -> Path:
        """How and from what the locks were made."""
        return self.folder / "PROVENANCE.md"
