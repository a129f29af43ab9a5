"""Buildings: heat networks of any size, and the zone of ISO 13790 as one of them."""
