"""What this machine can do with which specs: findings, each with the command that mends it."""

from envhub.doctor._examination import examine
from envhub.doctor._finding import Finding, Status

__all__ = ["Finding", "Status", "examine"]
