"""Answers how long things take; the other end of ``harness.Worker``. Runs in any Python: it imports the library only.

``python worker.py MODULE READ WRITE``: reads requests, one JSON object a line, from the descriptor READ, and writes
answers to WRITE. MODULE, beside this file, has ``CONTESTANTS``: functions by name that take a case and return a
function that does n units of it.
"""

import importlib
import json
import os
import sys
import time
import traceback
from typing import Any


def main() -> None:
    """Answer until the requests end."""
    module = importlib.import_module(sys.argv[1])
    requests, answers = os.fdopen(int(sys.argv[2])), os.fdopen(int(sys.argv[3]), "w")
    case: Any = None
    ready: dict[str, Any] = {}
    for line in requests:
        request = json.loads(line)
        if request["case"] != case:
            case, ready = request["case"], {}
        try:
            answer: dict[str, Any] = {"seconds": measure(module, request, ready)}
        except BaseException:
            answer = {"error": traceback.format_exc()}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def measure(module: Any, request: dict[str, Any], ready: dict[str, Any]) -> float:
    """Do the units and return the CPU seconds they took, or on a GPU the seconds; getting ready does not count."""
    name = request["contestant"]
    if name not in ready:
        ready[name] = module.CONTESTANTS[name](request["case"])
    clock, wait = (time.process_time, None)
    if request["case"].get("device") == "cuda":
        clock, wait = time.perf_counter, importlib.import_module("torch").cuda.synchronize
        wait()
    began = clock()
    done = ready[name](request["n"])
    if wait is not None:
        wait()
    took = clock() - began
    return took if done is None else took * request["n"] / done  # it may say how many units it really did


if __name__ == "__main__":
    main()
