"""What a receiver of protocol 0.3 makes of what was posted to it: one JSON text per line of the input.

Each must be a task, as the types of the 0.3 SDK read it, with nothing in it that they do not know.
Prints the state of each, a line each.
"""

import json
import sys

from a2a.types import Task

for line in sys.stdin:
    posted = json.loads(line)
    task = Task.model_validate(posted)
    written = task.model_dump(mode="json", exclude_none=True)
    if written != posted:
        sys.exit(f"FAILED: {posted!r} is read as {written!r}")
    print(task.status.state.value)
