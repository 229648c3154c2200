"""What may be asked of ``mimetic eval``, and what does it mean?"""

import argparse
from typing import TYPE_CHECKING

from mimetic.cli.playing import Faults, add_amount, add_policy_and_env, add_stepping, read_playing

if TYPE_CHECKING:
    from mimetic.config import EnvConfig, EvaluationConfig


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(
        prog="mimetic eval",
        description="Evaluate a policy on exactly as many episodes as asked, each from a seed of its own. The result "
        "does not depend on --n-envs. Nothing is written unless --out, --videos or --save-rollouts is given.",
        epilog="Example: mimetic eval runs/cartpole --episodes 50 --n-envs 8 --videos one",
    )
    add = made.add_argument
    add_policy_and_env(made)
    add_amount(made)
    add("--stochastic", action="store_true", help="draw actions instead of taking the likeliest")
    add_stepping(made)
    add("--out", metavar="DIR", help="a folder for evaluation.json and videos, new or empty")
    add("--videos", choices=("one", "episodes"), help="film the counted episodes: a file per environment, or episode")
    add("--render", action="store_true", help="show the environments in a window")
    add("--render-fps", metavar="F", type=float, default=60.0, help="steps per second in it; 0: as fast as it goes")
    add("--reward", metavar="SPEC", help="a reward in place of the environment's, whose own is reported beside it")
    add("--explore", metavar="SPEC", help="take other actions now and then, e.g. epsilon-greedy:epsilon=0.1")
    add("--save-rollouts", metavar="FILE", help="save the counted episodes: FILE.safetensors, or a folder of such")
    add("--json", action="store_true", help="print one JSON document and nothing else")
    return made


def read(options: argparse.Namespace) -> "tuple[EnvConfig, EvaluationConfig]":
    """Turn the options into settings; every fault is reported, not only the first."""
    from mimetic.config import parse_choice

    faults = Faults()
    reward = options.reward and faults.of("--reward", parse_choice, options.reward, "reward")
    own = {
        "deterministic": not options.stochastic,
        "videos": options.videos,
        "render": options.render,
        "render_fps": options.render_fps,
        "save_rollouts": options.save_rollouts,
        "reward": reward or None,
    }
    return read_playing(options, own, faults)
