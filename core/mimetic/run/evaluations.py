"""When is the policy evaluated during a run, and where do the numbers go?"""

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

from stable_baselines3.common.policies import ActorCriticPolicy

from mimetic.config import EnvConfig, EvaluationConfig, RunConfig
from mimetic.errors import ConfigError, Fault, TargetExistsError
from mimetic.evaluate import EvaluationResult, evaluate
from mimetic.logs import HierarchicalLogger
from mimetic.plugins import registry
from mimetic.run.result import RunInfo

LOGGED = ("return_mean", "return_std", "return_min", "return_max", "env_return_mean", "len_mean", "is_success")
"""The statistics that are logged, as ``evaluation/return_mean`` and so on; ``evaluation.json`` has all."""


def check_evaluation(config: RunConfig) -> None:
    """Refuse before anything is learned what the evaluation at the end would stumble over.

    Raises:
        ConfigError: an evaluation is asked for, and no environment is named.
        TargetExistsError: its episodes would be saved over a file that exists.
        MimeticError: what is to be put around the environment cannot be built, or cannot make a step.
    """
    settings = config.evaluation
    if settings is None:
        return
    if config.env is None:
        raise ConfigError(Fault("is missing: the policy is to be evaluated, so name the environment", "env"))
    if settings.save_rollouts is not None and settings.save_rollouts.exists():
        raise TargetExistsError(
            Fault(f"{settings.save_rollouts} exists, and is not written over", "evaluation.save_rollouts")
        )
    if settings.videos or settings.reward or settings.explore or settings.wrappers or settings.vectorization != "sb3":
        _rehearse(config.env, settings)


def _rehearse(env: EnvConfig, settings: EvaluationConfig) -> None:
    """Make one step with random actions, films and all, into a folder that is thrown away."""
    one_step = {"n_episodes": 1, "n_timesteps": None, "n_envs": 1, "max_steps": 1, "processes": False}
    nothing_kept = {"render": False, "save_rollouts": None}
    with TemporaryDirectory(prefix="mimetic-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the episode is cut after its first step, which is no news
        evaluate(None, env, settings.model_copy(update=one_step | nothing_kept), out=Path(folder))


class Evaluations:
    """The evaluations of one run. They change nothing that is learned."""

    def __init__(self, run: RunInfo, policy: ActorCriticPolicy, logger: HierarchicalLogger) -> None:
        """Evaluate ``policy`` as the run file says, and log to ``logger``."""
        self._run = run
        self._policy = policy
        self._logger = logger
        self._newest: EvaluationResult | None = None
        self._newest_step = -1

    def after_epoch(self, epoch: int, step: int) -> None:
        """Evaluate after ``epoch`` epochs and ``step`` optimiser steps, when it is time; nothing is filmed or saved.

        Raises:
            KeyboardInterrupt: Ctrl-C ended it.
        """
        settings = self._run.config.evaluation
        if settings is None or settings.every_n_epochs is None or epoch % settings.every_n_epochs:
            return
        if self._evaluate(_in_passing(settings), epoch, step, final=False).interrupted:
            raise KeyboardInterrupt

    def at_the_end(self, epoch: int, step: int) -> EvaluationResult | None:
        """Evaluate the final policy, film and save what the run file asks for; None when it asks for no evaluation.

        After Ctrl-C the result holds the episodes that were complete, and says that it was interrupted.
        """
        settings = self._run.config.evaluation
        if settings is None:
            return None
        if self._newest is not None and self._newest_step == step and settings == _in_passing(settings):
            return self._newest  # just done, by the same settings
        return self._evaluate(settings, epoch, step, final=True)

    def _evaluate(self, settings: EvaluationConfig, epoch: int, step: int, *, final: bool) -> EvaluationResult:
        assert self._run.config.env is not None, "check_evaluation() saw to it"
        out = self._run.dir if final else None
        result = evaluate(self._policy, self._run.config.env, settings, out=out, progress=final)
        if result.interrupted:
            return result
        if step != self._newest_step:
            self._tell(result, epoch, step)
        self._newest, self._newest_step = result, step
        return result

    def _tell(self, result: EvaluationResult, epoch: int, step: int) -> None:
        for key in LOGGED:
            if key in result.statistics:
                self._logger.record(f"evaluation/{key}", result.statistics[key])
        self._logger.epoch = epoch
        self._logger.dump(step)
        registry().notify("mimetic_evaluated", run=self._run, epoch=epoch, result=result)


def _in_passing(settings: EvaluationConfig) -> EvaluationConfig:
    return settings.model_copy(update={"videos": None, "save_rollouts": None})
