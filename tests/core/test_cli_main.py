"""The command ``mimetic``: help and version depend on nothing, every fault has its exit status."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from broken_distributions import AT_DISCOVERY, ODD, Broken, good_plugin
from mimetic.cli import SUMMARIES, built_in_commands, main
from mimetic.errors import ConfigError
from mimetic.hookspecs import CommandEntry
from mimetic.plugins import using
from mimetic.plugins.entries import BUILT_IN_COMMANDS
from mimetic.testing import fake_distribution, manager_with

COMMANDS = {
    "greet": """
        def run(argv):
            print("hello", *argv)
            return 0
    """,
    "complain": """
        from mimetic import DataError
        def run(argv):
            raise DataError("column 'x' is missing")
    """,
    "crash": "def run(argv):\n    1 / 0",
    "leave": "def run(argv):\n    raise SystemExit(5)",
    "talk": "def run(argv):\n    for i in range(100_000):\n        print(i)\n    return 0",
    "wait": """
        import sys, time
        def run(argv):
            print("ready", flush=True)
            time.sleep(30)
            return 0
    """,
}
PLUGIN = f"""
    from mimetic import CommandEntry, hookimpl

    @hookimpl
    def mimetic_commands():
        for name in {sorted(COMMANDS)}:
            yield CommandEntry(name=name, factory=f"acme_commands.{{name}}:run", summary="Does it")
"""


def acme(folder: Path) -> Path:
    """Install a plugin with a handful of commands."""
    files = {f"acme_commands/{name}.py": source for name, source in COMMANDS.items()}
    return fake_distribution(folder, "acme-mimetic", plugin=PLUGIN, files=files)


def mimetic(*words: str, path: Path | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a fresh process, with what is installed in a folder before everything else."""
    command = [sys.executable, "-m", "mimetic", *words]
    return subprocess.run(command, env=environment(path, **environ), capture_output=True, text=True, check=False)


def environment(path: Path | None, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MIMETIC_")}
    return kept | ({"PYTHONPATH": str(path)} if path else {}) | more


# --- help and version -------------------------------------------------------------------------------------------


def test_help_lists_the_built_in_commands_and_speaks_of_plugins(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0

    told = capsys.readouterr().out
    assert all(f"  {name}" in told and summary in told for name, summary in built_in_commands().items())
    assert "Installed plugins may add more commands" in told


def test_no_command_is_a_mistake_that_help_mends(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "usage: mimetic COMMAND" in capsys.readouterr().err


def test_version_is_the_distributions(capsys: pytest.CaptureFixture[str]) -> None:
    import importlib.metadata

    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"mimetic {importlib.metadata.version('mimetic')}\n"


def test_the_words_that_plugins_cannot_take_are_the_built_in_commands() -> None:
    assert tuple(SUMMARIES) == BUILT_IN_COMMANDS


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["plugins", "--help"]])
def test_help_and_version_are_silent_about_broken_plugins(words: list[str], tmp_path: Path) -> None:
    """They import no plugin module, so they cannot know."""
    done = mimetic(*words, path=fake_distribution(tmp_path, plugin="import os\nos._exit(7)"))

    assert (done.returncode, done.stderr) == (0, "")


# --- commands of plugins ----------------------------------------------------------------------------------------


def test_a_plugins_command_gets_the_words_after_its_name(tmp_path: Path) -> None:
    done = mimetic("greet", "you", "--loudly", path=acme(tmp_path))

    assert (done.returncode, done.stdout) == (0, "hello you --loudly\n")


def test_a_plugins_command_chooses_its_exit_status(tmp_path: Path) -> None:
    assert mimetic("leave", path=acme(tmp_path)).returncode == 5


def test_an_unknown_command_is_told_what_was_probably_meant(capsys: pytest.CaptureFixture[str]) -> None:
    with using(manager_with()):
        assert main(["plugin"]) == 2

    assert "no command is called 'plugin'. Did you mean 'plugins'? Built in: " in capsys.readouterr().err


def test_an_unknown_command_may_be_meant_for_a_plugin(capsys: pytest.CaptureFixture[str]) -> None:
    offered = CommandEntry(name="acme.serve", factory="a:b", summary="Serves")
    with using(manager_with(offered)):
        assert main(["acme.serv"]) == 2

    assert "Did you mean 'acme.serve'?" in capsys.readouterr().err


def test_an_unknown_option_is_told_what_was_probably_meant(capsys: pytest.CaptureFixture[str]) -> None:
    with using(manager_with()):
        assert main(["--verson"]) == 2

    assert "no option is called '--verson'. Did you mean '--version'?" in capsys.readouterr().err


# --- how a command ends -----------------------------------------------------------------------------------------


def test_an_error_of_the_users_is_one_sentence_and_status_2(tmp_path: Path) -> None:
    done = mimetic("complain", path=acme(tmp_path))

    assert (done.returncode, done.stdout, done.stderr) == (2, "", "column 'x' is missing\n")


def test_a_component_that_fails_ends_with_its_traceback_and_its_provider(tmp_path: Path) -> None:
    done = mimetic("crash", path=acme(tmp_path))

    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("command 'crash' of acme-mimetic 1.0 raised ZeroDivisionError")


def test_what_nobody_foresaw_ends_with_a_traceback_and_status_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("mimetic.cli.plugins.run", lambda argv: 1 // 0)
    with using(manager_with()):
        assert main(["plugins"]) == 1

    assert "unexpected ZeroDivisionError; the traceback above says where" in capsys.readouterr().err


def test_every_fault_of_a_file_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from mimetic.errors import Fault

    def fail(argv: list[str]) -> int:
        raise ConfigError([Fault("unknown key", "a.b", "run.yaml", 3, 1), Fault("expected a number", "c")])

    monkeypatch.setattr("mimetic.cli.plugins.run", fail)
    with using(manager_with()):
        assert main(["plugins"]) == 2

    assert capsys.readouterr().err == "run.yaml:3:1: a.b: unknown key\nc: expected a number\n"


def test_a_mistake_in_a_commands_words_is_status_2() -> None:
    done = mimetic("plugins", "--jsn")

    assert done.returncode == 2
    assert "usage: mimetic plugins" in done.stderr


def test_ctrl_c_ends_with_status_130_and_without_a_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mimetic", "wait"]
    environ = environment(acme(tmp_path))
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=20)

    assert (running.returncode, told) == (130, "mimetic: interrupted\n")


@pytest.mark.parametrize("words", [["talk"], ["plugins", "--json"], ["plugins", "--help"]])
def test_a_reader_that_goes_away_is_no_error_to_talk_about(words: list[str], tmp_path: Path) -> None:
    """``mimetic plugins | head -1`` must not end in a traceback."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "mimetic", *words]
    with os.fdopen(writing, "w") as pipe:
        done = subprocess.run(
            command, env=environment(acme(tmp_path)), stdout=pipe, stderr=subprocess.PIPE, text=True, check=False
        )

    assert done.stderr == ""
    assert done.returncode in (0, 1)


def test_a_broken_pipe_elsewhere_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(argv: list[str]) -> int:
        raise BrokenPipeError("the encoder went away")

    monkeypatch.setattr("mimetic.cli.plugins.run", fail)
    with using(manager_with()):
        assert main(["plugins"]) == 1

    assert "the encoder went away" in capsys.readouterr().err


# --- what did not load ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "broken",
    [AT_DISCOVERY[name] for name in ("import error", "SystemExit", "SyntaxError", "missing attribute")],
    ids=lambda broken: broken.reason,
)
def test_every_command_works_beside_a_broken_plugin_and_says_how_to_be_rid_of_it(
    broken: Broken, tmp_path: Path
) -> None:
    fake_distribution(broken.install(tmp_path), "good-mimetic", plugin=good_plugin("good.policy"))

    done = mimetic("plugins", "--json", path=tmp_path)
    plugins = {plugin["name"]: plugin for plugin in json.loads(done.stdout)["plugins"]}

    assert done.returncode == 0
    assert plugins["acme"]["state"] == "broken"
    assert plugins["acme"]["reason"] in done.stderr
    assert f"'acme' (acme-mimetic 1.0, entry point {broken.entry_point}) is broken" in done.stderr
    assert "pip uninstall acme-mimetic; or switch it off: MIMETIC_DISABLE_PLUGINS=acme" in done.stderr
    assert plugins["good"]["state"] == "active"
    assert plugins["bc"]["state"] == "active"


def test_training_works_beside_a_broken_plugin(tmp_path: Path) -> None:
    AT_DISCOVERY["SystemExit"].install(tmp_path)
    (tmp_path / "run.yaml").write_text("demonstrations: demo\nalgorithm: {name: bc, n_batches: 2}\nloggers: [csv]\n")

    done = mimetic("train", str(tmp_path / "run.yaml"), "--out", str(tmp_path / "out"), path=tmp_path)

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "policy.safetensors").is_file()
    assert "'acme' (acme-mimetic 1.0, entry point acme_mimetic.plugin) is broken: SystemExit: 3" in done.stderr


def test_what_a_broken_plugin_would_offer_points_to_why_it_did_not_load(tmp_path: Path) -> None:
    AT_DISCOVERY["import error"].install(tmp_path)
    (tmp_path / "run.yaml").write_text("demonstrations: demo\nalgorithm: {name: acme.bc}\n")

    done = mimetic("config", "check", str(tmp_path / "run.yaml"), path=tmp_path)

    assert done.returncode == 2
    assert "no algorithm is called 'acme.bc'. Known: bc. Plugin 'acme' (acme-mimetic 1.0" in done.stderr
    assert "is broken: ModuleNotFoundError: No module named 'not_there'" in done.stderr.splitlines()[-1]


def test_twenty_odd_broken_distributions_at_once_leave_the_rest_working(tmp_path: Path) -> None:
    """All of them installed beside one another, as on a machine where everything went wrong."""
    for number, broken in enumerate(AT_DISCOVERY.values()):
        package = f"acme{number}_mimetic"
        fake_distribution(
            tmp_path,
            f"acme{number}-mimetic",
            plugin=broken.plugin,
            entry_points={f"acme{number}": broken.entry_point.replace("acme_mimetic", package)},
        )
    acme(tmp_path / "good")

    done = mimetic("greet", path=Path(f"{tmp_path}{os.pathsep}{tmp_path / 'good'}"))

    assert (done.returncode, done.stdout) == (0, "hello\n")
    assert all(f"'acme{number}' (acme{number}-mimetic 1.0" in done.stderr for number in range(len(AT_DISCOVERY)))


def test_what_did_not_load_is_said_once(tmp_path: Path) -> None:
    done = mimetic("greet", path=fake_distribution(acme(tmp_path), "other-mimetic", plugin="import not_there"))

    assert done.stderr.count("other-mimetic 1.0") == 1


def test_nothing_is_said_when_all_is_well(tmp_path: Path) -> None:
    assert mimetic("greet", path=acme(tmp_path)).stderr == ""


def test_a_switch_is_no_warning_but_is_told(tmp_path: Path) -> None:
    """Somebody who forgot the variable in their shell must find out."""
    done = mimetic("plugins", path=acme(tmp_path), MIMETIC_PLUGINS="acme,typo")

    assert "mimetic: MIMETIC_PLUGINS names 'typo', but no installed plugin is called so" in done.stderr
    assert "plugins switched off by the environment: bc, " in done.stderr


def test_the_switch_that_is_proposed_keeps_what_is_off_already(tmp_path: Path) -> None:
    folder = fake_distribution(acme(tmp_path), "other-mimetic", plugin="import not_there")

    done = mimetic("plugins", path=folder, MIMETIC_DISABLE_PLUGINS="acme")

    assert "MIMETIC_DISABLE_PLUGINS=acme,other" in done.stderr


def test_a_broken_plugin_in_the_box_is_repaired_not_removed(tmp_path: Path) -> None:
    folder = fake_distribution(tmp_path, "mimetic", "99.0", entry_points={"acme": "mimetic_nowhere.plugin"})

    assert "pip install --force-reinstall mimetic" in mimetic("plugins", path=folder).stderr


def test_strict_mode_stops_every_command(tmp_path: Path) -> None:
    folder = fake_distribution(tmp_path, plugin="import not_there")

    done = mimetic("plugins", path=folder, MIMETIC_STRICT_PLUGINS="1")

    assert (done.returncode, done.stdout) == (2, "")
    assert "No module named 'not_there'" in done.stderr
    assert "Traceback" in done.stderr


def test_a_plugin_that_prints_does_not_spoil_a_document(tmp_path: Path) -> None:
    done = mimetic("plugins", "--json", path=ODD["printing import"].install(tmp_path))

    assert "hello from acme" in done.stderr
    assert json.loads(done.stdout)["plugins"]


def test_no_plugin_is_built_into_the_core() -> None:
    done = mimetic("plugins", "--json", MIMETIC_PLUGINS="")
    plugins = json.loads(done.stdout)["plugins"]

    assert done.returncode == 0
    assert plugins
    assert {plugin["state"] for plugin in plugins} == {"disabled"}
    assert all(plugin["components"] == [] for plugin in plugins)
