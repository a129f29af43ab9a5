"""Weather files: EPW and TMY3, read exactly and laid along a horizon."""

from engiagent.io.weather.files import Weather, read_weather
from engiagent.io.weather.horizon import series_over, write_series

__all__ = ["Weather", "read_weather", "series_over", "write_series"]
