"""What holds for all tests."""

import gc

# A suite of twelve thousand tests keeps many objects: to look through all of them as often as a
# small programme does takes a sixteenth of its time.
gc.set_threshold(50_000, 20, 20)
