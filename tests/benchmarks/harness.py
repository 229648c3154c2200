"""How is something measured so that two programs can be compared on a machine with other things to do?

By CPU clock, in processes of their own, in turns: each round asks every contestant once, in another order. What is
reported is the median over the rounds and the quartiles; a ratio is formed within a round, and its median reported.
"""

from __future__ import annotations

import json
import os
import platform
import pty
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PEER_PYTHON = ROOT / ".venv-peer" / "bin" / "python"

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
"""Everything is measured on one thread, whoever computes."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the person who starts the benchmarks chose."""

    quick: bool = False  # fewer, shorter rounds: to see that everything runs
    peer: Path | None = None  # the Python of the reference library's environment; None: leave it out

    @property
    def rounds(self) -> int:
        """How often each contestant is asked."""
        return 3 if self.quick else 9

    @property
    def seconds(self) -> float:
        """How long one answer takes, about."""
        return 0.15 if self.quick else 0.5


@dataclass(frozen=True, slots=True)
class Samples:
    """What was measured in each round."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median."""
        return statistics.median(self.values)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The first and the third quartile."""
        if len(self.values) < 2:
            return self.median, self.median
        low, _, high = statistics.quantiles(self.values, n=4, method="inclusive")
        return low, high

    def over(self, other: Samples) -> Samples:
        """Divide round by round."""
        return Samples(tuple(a / b for a, b in zip(self.values, other.values, strict=True)))

    def scaled(self, factor: float) -> Samples:
        """Multiply each by ``factor``."""
        return Samples(tuple(factor * value for value in self.values))

    def inverse(self, factor: float = 1.0) -> Samples:
        """Divide ``factor`` by each: seconds from rates, say."""
        return Samples(tuple(factor / value for value in self.values))

    def show(self, digits: int = 3) -> str:
        """Write the median and the quartiles."""
        low, high = self.quartiles
        return f"{rounded(self.median, digits)} ({rounded(low, digits)} to {rounded(high, digits)})"


@dataclass(slots=True)
class Table:
    """One table of results."""

    name: str  # of the section in docs/performance.md, and in the JSON file
    title: str
    columns: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    data: list[dict[str, Any]] = field(default_factory=list)  # the numbers behind the rows

    def markdown(self) -> str:
        """Write it as Markdown."""
        lines = ["| " + " | ".join(self.columns) + " |", "|---" * len(self.columns) + "|"]
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        return "\n".join([*lines, *(f"\n{note}" for note in self.notes)])


def beside_reference(measured: Mapping[str, Samples], labels: Iterable[str]) -> list[str]:
    """Write rates as cells: that of the reference as it is, each other as a multiple of it, and empty where none is."""
    reference = measured.get("reference")
    cells = []
    for label in labels:
        samples = measured.get(label)
        if samples is None:
            cells.append("")
        elif label == "reference" or reference is None:
            cells.append(samples.show())
        else:
            cells.append(f"x{samples.over(reference).show()}: {rounded(samples.median)}/s")
    return cells


def rounded(number: float, digits: int = 3) -> str:
    """Write a number with so many significant digits, and no exponent."""
    if number == 0:
        return "0"
    text = f"{float(f'{number:.{digits}g}'):,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


# --- contestants in processes of their own --------------------------------------------------------------------------


class Worker:
    """A Python that answers how long ``n`` units of a case take a contestant. See ``worker.py``.

    Its standard error is a terminal, so that progress bars are on.
    """

    def __init__(self, python: Path | str, module: str) -> None:
        """Start ``python`` on one of the modules beside this file."""
        requests, mine = os.pipe()
        theirs, answers = os.pipe()
        self._terminal, terminal = pty.openpty()
        command = [str(python), str(HERE / "worker.py"), module, str(requests), str(answers)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=terminal,
            pass_fds=(requests, answers),
            env={**os.environ, **ONE_THREAD, "PYTHONWARNINGS": "ignore", "COLUMNS": "80"},
            cwd=tempfile.gettempdir(),
        )
        for descriptor in (requests, answers, terminal):
            os.close(descriptor)
        self._requests, self._answers = os.fdopen(mine, "w"), os.fdopen(theirs)
        self._said = bytearray()
        threading.Thread(target=self._listen, daemon=True).start()

    def measure(self, contestant: str, case: Mapping[str, Any], n: int) -> float:
        """Return the CPU seconds of ``n`` units, on a GPU the seconds."""
        self._requests.write(json.dumps({"contestant": contestant, "case": case, "n": n}) + "\n")
        self._requests.flush()
        line = self._answers.readline()
        if not line:
            raise RuntimeError(f"{contestant} died:\n{self._said.decode(errors='replace')[-4000:]}")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{contestant}: {answer['error']}")
        return float(answer["seconds"])

    def asks(self, contestant: str, case: Mapping[str, Any]) -> Callable[[int], float]:
        """Return the function that measures so many units of a case."""
        return lambda n: self.measure(contestant, case, n)

    def close(self) -> None:
        """End the process."""
        self._requests.close()
        self._process.wait(timeout=60)
        self._answers.close()

    def _listen(self) -> None:
        """Read what it says, so that it never waits for a reader; keep the end."""
        while True:
            try:
                text = os.read(self._terminal, 65536)
            except OSError:
                return
            if not text:
                return
            self._said += text
            del self._said[:-65536]


@contextmanager
def workers(modules: Mapping[str, Path | str | None]) -> Iterator[dict[str, Worker]]:
    """Start a worker for each module whose Python is there."""
    started = {module: Worker(python, module) for module, python in modules.items() if python is not None}
    try:
        yield started
    finally:
        for worker in started.values():
            worker.close()


def rates(
    contestants: Mapping[str, Callable[[int], float]],
    settings: Settings,
    *,
    least: int = 1,
    patience: Mapping[str, float] | None = None,
) -> dict[str, Samples]:
    """Measure units per CPU second of each contestant, a function that says how long ``n`` units took, in turns.

    The number of units of an answer is chosen so that these take ``settings.seconds``, or so many times as long as
    ``patience`` says for a contestant; what comes before the first unit is part of what is measured.
    """
    sizes: dict[str, int] = {}
    for name, measure in contestants.items():
        measure(least)
        before, n = measure(least), max(least, 4)
        while (took := measure(n) - before) < settings.seconds / 4:
            n *= 4
        seconds = settings.seconds * (patience or {}).get(name, 1.0)
        sizes[name] = max(least, round(n * seconds / took))
    collected: dict[str, list[float]] = {name: [] for name in contestants}
    names = list(contestants)
    for number in range(settings.rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            collected[name].append(sizes[name] / contestants[name](sizes[name]))
    return {name: Samples(tuple(values)) for name, values in collected.items()}


def child_cpu_seconds(
    command: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> float:
    """Run a command to its end and return the CPU seconds it took, its children's included."""
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, **ONE_THREAD, **(env or {})},
        cwd=cwd,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-4000:]}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


# --- the machine ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Machine:
    """What the numbers were measured on."""

    processor: str
    cores: int
    memory_gib: int
    system: str
    python: str
    versions: Mapping[str, str]
    peer_versions: Mapping[str, str]

    def sentence(self) -> str:
        """Say it in a sentence."""
        mine = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        text = (
            f"{self.processor}, {self.cores} cores, {self.memory_gib} GiB, {self.system}; Python {self.python}, {mine}"
        )
        if self.peer_versions:
            peer = ", ".join(f"{name} {number}" for name, number in self.peer_versions.items())
            text += f". The reference beside it: {peer}"
        return text + ". One thread, CPU clock."


def describe_machine(peer: Path | None) -> Machine:
    """Look at this machine and at what is installed."""
    names = ("torch", "stable-baselines3", "gymnasium", "numpy")
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Machine(
        processor=_processor(),
        cores=os.cpu_count() or 1,
        memory_gib=round(pages / 2**30),
        system=platform.system(),
        python=platform.python_version(),
        versions={name: _version(name) for name in names},
        peer_versions=_peer_versions(peer, ("imitation", *names)) if peer else {},
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"


def _peer_versions(peer: Path, names: Sequence[str]) -> dict[str, str]:
    code = "import json, sys, importlib.metadata as m; print(json.dumps({n: m.version(n) for n in sys.argv[1:]}))"
    done = subprocess.run([str(peer), "-c", code, *names], check=True, capture_output=True, text=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


def write_json(path: Path, machine: Machine, settings: Settings, tables: Sequence[Table]) -> None:
    """Write all that was measured."""
    document = {
        "machine": asdict(machine),
        "rounds": settings.rounds,
        "seconds_per_answer": settings.seconds,
        "tables": {table.name: {"title": table.title, "rows": table.data} for table in tables},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def say(text: str) -> None:
    """Tell the person who waits."""
    print(text, file=sys.stderr, flush=True)
