"""What the page about run files shows is what is installed."""

import re
from pathlib import Path

from mimetic.config import load_run_file, run_config

PAGE = Path(__file__).resolve().parents[2] / "docs" / "run-files.md"


def test_the_file_on_the_page_shows_every_key_with_its_default(tmp_path: Path) -> None:
    """Checked against the plugins in the box: what the page shows is what they mean by nothing."""
    shown = re.search(r"^```yaml title=\"cartpole.yaml\"\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert shown
    (tmp_path / "cartpole.yaml").write_text(shown[1])

    shortest = {
        "name": "cartpole",
        "env": {"id": "CartPole-v1"},
        "demonstrations": {"name": "npz", "path": "rollouts.npz"},
        "algorithm": {"name": "bc", "n_epochs": 20},
        "evaluation": {},
    }

    config = load_run_file(tmp_path / "cartpole.yaml").config

    assert config == run_config(shortest, base_dir=tmp_path)
    assert config.evaluation is not None
    assert set(re.findall(r"^(?:  )?(\w+):", shown[1], re.MULTILINE)) >= {
        *type(config).model_fields,
        *type(config.evaluation).model_fields,
    }
