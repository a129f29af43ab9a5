"""How long to wait before a request is sent again, as the official SDK does it."""

import email.utils
import math
import random
import time
from typing import Any, Final

AT_ONCE: Final = 0.0
SOME_TIME: Final = -1.0
"""A wait whose length nobody has said."""
FIRST_SECONDS: Final = 0.5
MOST_SECONDS: Final = 8.0


def wait_of(response: Any) -> float | None:
    """Return how long a server asks to wait after an error; None where waiting does not help."""
    said = response.headers.get("x-should-retry")
    status = response.status_code
    passing = status in (408, 409, 429) or status >= 500
    if said == "false" or not (passing or said == "true"):
        return None
    asked = _asked(response.headers)
    return SOME_TIME if asked is None else asked


def _asked(headers: Any) -> float | None:
    """Return the seconds in ``retry-after-ms`` or ``retry-after``; None without any."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000.0
    seconds = _number(headers.get("retry-after"))
    if seconds is not None:
        return seconds
    date = email.utils.parsedate_tz(headers.get("retry-after") or "")
    return None if date is None else max(0.001, email.utils.mktime_tz(date) - time.time())


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value > 0 else None


def backoff(wait: float, retried: int) -> float:
    """Return how long to wait, in seconds: as asked, or longer each time with some chance in it."""
    if wait != SOME_TIME:
        return wait
    longest: float = min(FIRST_SECONDS * 2 ** (retried - 1), MOST_SECONDS)
    return longest * (1.0 - 0.25 * random.random())
