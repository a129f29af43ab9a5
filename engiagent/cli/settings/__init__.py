"""Settings that stand for options: from a project's file, a user's, or the environment."""

from engiagent.cli.settings.effective import NO_FILES, SELECTED, Effective, effective, strangers
from engiagent.cli.settings.files import FILE, project_file, user_file
from engiagent.cli.settings.settings import PREFIX, SETTINGS, Setting

__all__ = [
    "FILE",
    "NO_FILES",
    "PREFIX",
    "SELECTED",
    "SETTINGS",
    "Effective",
    "Setting",
    "effective",
    "project_file",
    "strangers",
    "user_file",
]
