"""Weather files: EPW and TMY3, read exactly and laid along a horizon."""

from engiagent.weather.files import Weather, read_weather
from engiagent.weather.horizon import series_over, write_series

__all__ = ["Weather", "read_weather", "series_over", "write_series"]
