"""Behavioural cloning as a Python object, with the reference's names, arguments and defaults."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.utils import get_device
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor

from mimetic.algorithms import Batch, Batches, DemonstrationAlgorithm, Form, Report, make_batches
from mimetic.errors import ConfigError, DataError, Fault, SpaceError
from mimetic.hookspecs import PolicyContext
from mimetic.logs import HierarchicalLogger
from mimetic.losses import WeightedTerm
from mimetic.policies import build_policy
from mimetic.seeding import derive_seed
from mimetic.spaces import space_difference
from mimetic.storage import open_policy
from mimetic.types import Demonstrations, Trajectory, TransitionsMinimal, as_demonstrations, check_demonstrations
from mimetic_bc.bc_logger import BCLogger
from mimetic_bc.durations import check_batch_sizes, check_count, check_duration
from mimetic_bc.engines import Job, choose_engine, choose_precision, facts_of, in_words
from mimetic_bc.metrics import BCTrainingMetrics
from mimetic_bc.optimizers import OptimizerChoice, refuse_weight_decay
from mimetic_bc.rollouts import RolloutStatsComputer
from mimetic_bc.session import RandomStream
from mimetic_bc.terms import half_squared_norm, negative_entropy, negative_log_likelihood
from mimetic_bc.trainer import BCTrainer, Plan, precision_of

AnyDemonstrations = (
    Demonstrations
    | TransitionsMinimal
    | Iterable[Trajectory]
    | Iterable[Mapping[str, Any]]
    | tuple[np.ndarray, np.ndarray]
)
"""What BC learns from: trajectories, transitions, a pair ``(obs, acts)``, or an iterable of batches."""

DEFAULT_POLICY = "mlp"
"""The policy component that is trained when none is given."""


class BC(DemonstrationAlgorithm):
    """Behavioural cloning: learns to act like the demonstrators by supervised learning on their actions.

    It minimises ``-mean log pi(a|s) - ent_weight * mean entropy + l2_weight * 1/2 sum w^2``.
    """

    def __init__(
        self,
        *,
        observation_space: gym.Space[Any],
        action_space: gym.Space[Any],
        rng: np.random.Generator,
        policy: ActorCriticPolicy | str | None = None,
        demonstrations: AnyDemonstrations | None = None,
        batch_size: int = 32,
        minibatch_size: int | None = None,
        optimizer_cls: type[torch.optim.Optimizer] = torch.optim.Adam,
        optimizer_kwargs: Mapping[str, Any] | None = None,
        ent_weight: float = 1e-3,
        l2_weight: float = 0.0,
        device: str | torch.device = "auto",
        custom_logger: HierarchicalLogger | None = None,
        engine: str = "auto",
        precision: str = "auto",
        cuda_graphs: bool = True,
        threads: int | None = 1,
    ) -> None:
        """Build the algorithm; demonstrations are checked here, not in the middle of training.

        Args:
            observation_space: the environment's observations.
            action_space: the environment's actions.
            rng: the source of all randomness: initial weights, shuffling, rollouts. Equal seeds give equal bytes.
            policy: an ActorCriticPolicy with these spaces, or a SPEC such as ``"mlp:net_arch=[64,64]"`` or the path
                of a policy file. None: the component ``mlp`` with its defaults.
            demonstrations: see :meth:`set_demonstrations`.
            batch_size: transitions an optimiser step learns from.
            minibatch_size: transitions a gradient is computed from at once, a factor of ``batch_size``; gradients add
                up to those of the whole batch. None: ``batch_size``.
            optimizer_cls: a torch optimiser.
            optimizer_kwargs: its keyword arguments; ``lr`` is welcome, ``weight_decay`` is not.
            ent_weight: how much entropy is rewarded.
            l2_weight: how much large weights cost.
            device: where to train; "auto" takes a GPU when there is one.
            custom_logger: where to log to. None makes one in a temporary folder when it is first used.
            engine: what computes the steps: "auto", "autograd" or "mlp".
            precision: what forward passes are calculated in: "full", the precision of the weights, "bfloat16", or
                "auto", which takes bfloat16 for policies with convolutions on a GPU that has it.
            cuda_graphs: on a GPU, record the passes of a step once and replay them, where the policy allows it.
            threads: torch's threads while steps are taken, put back afterwards. One is fastest for small networks, and
                more change the last bits. None: as many as torch has.

        Raises:
            ConfigError: a number is out of range, or ``weight_decay`` is given: use ``l2_weight``.
            SpaceError: the policy's spaces are others, or are not supported.
            DataError: the demonstrations do not fit.
        """
        self.batch_size, self.minibatch_size = check_batch_sizes(batch_size, minibatch_size)
        self._n_threads = None if threads is None else check_count("threads", threads)
        optimizer_kwargs = dict(optimizer_kwargs or {})
        refuse_weight_decay(optimizer_kwargs)
        self.observation_space = observation_space
        self.action_space = action_space
        self.rng = _checked_rng(rng)
        self._seed = int(rng.integers(2**31))
        self._device = _find_device(device)
        self._policy = self._make_policy(policy)
        self._batches: Batches | None = None
        self._stream = RandomStream(self._seed, self._device)
        self._n_passes = 0  # over the data, in all trainings
        self._n_steps = 0  # that the logger has counted
        terms = (
            WeightedTerm("nll", 1.0, negative_log_likelihood),
            WeightedTerm("entropy", float(ent_weight), negative_entropy),
            WeightedTerm("l2", float(l2_weight), half_squared_norm),
        )
        optimizer = OptimizerChoice(optimizer_cls, optimizer_kwargs)
        self._job = Job(
            policy=self._policy,
            terms=terms,
            optimizer=optimizer,
            device=self._device,
            batch_size=self.batch_size,
            minibatch_size=self.minibatch_size,
            autocast=choose_precision(precision, self._policy, self._device),
            replays=cuda_graphs,
        )
        self._engine_name = engine
        self._engine, self._engine_reason = choose_engine(engine, self._job)
        self._engine_was_logged = False
        super().__init__(demonstrations=demonstrations, custom_logger=custom_logger, allow_variable_horizon=True)

    @property
    def policy(self) -> ActorCriticPolicy:
        """The policy that imitates the demonstrations."""
        return self._policy

    @property
    def optimizer(self) -> torch.optim.Optimizer:
        """The optimiser; it goes on from one :meth:`train` to the next."""
        return self._engine.optimizer

    def set_demonstrations(self, demonstrations: AnyDemonstrations) -> None:
        """Replace the demonstrations, as interactive algorithms do.

        Args:
            demonstrations: trajectories, transitions, a pair ``(obs, acts)`` of equal length, or an iterable of
                batches (a torch DataLoader, a list): mappings with ``obs`` and ``acts``, arrays or tensors. Batches
                keep their order, and their rows are cut into batches of ``batch_size``. An iterator is read at once.

        Raises:
            DataError: names what does not fit, by trajectory and step.
        """
        checked = check_demonstrations(as_demonstrations(demonstrations), self.observation_space, self.action_space)
        self._batches = make_batches(
            checked,
            batch_size=self.batch_size,
            device=self._device,
            seed=self._seed,
            form=Form(precision_of(self._policy), self._prepare),
        )

    def train(
        self,
        *,
        n_epochs: int | None = None,
        n_batches: int | None = None,
        on_epoch_end: Callable[[], None] | None = None,
        on_batch_end: Callable[[], None] | None = None,
        log_interval: int = 500,
        log_rollouts_venv: VecEnv | None = None,
        log_rollouts_n_episodes: int = 5,
        progress_bar: bool = True,
        reset_tensorboard: bool = False,
    ) -> None:
        """Train for some passes over the demonstrations, or for some optimiser steps.

        Args:
            n_epochs: full passes; give exactly one of this and ``n_batches``. 0 trains nothing.
            n_batches: optimiser steps.
            on_epoch_end: called without arguments after every full pass, also when training ends exactly there.
            on_batch_end: called without arguments after every optimiser step.
            log_interval: optimiser steps between two records; the first step has one.
            log_rollouts_venv: environments in which the policy acts, stochastically, at each log point.
            log_rollouts_n_episodes: at least so many episodes at each; zero or less: none.
            progress_bar: show a bar on standard error, if that is a terminal.
            reset_tensorboard: count the logger's steps from 0 again; otherwise they go on from the last training.

        Raises:
            ConfigError: not exactly one duration, or a number out of range.
            DataError: there are no demonstrations.
        """
        check_duration(n_epochs, n_batches)
        log_interval = check_count("log_interval", log_interval)
        compute_rollout_stats = RolloutStatsComputer(self._checked_venv(log_rollouts_venv), log_rollouts_n_episodes)
        plan = Plan(
            n_epochs=n_epochs,
            n_batches=n_batches,
            log_interval=log_interval,
            first_pass=self._n_passes,
            measure_epoch_ends=False,
            report_every_batch=on_batch_end is not None,
            show_progress=progress_bar,
        )
        trainer = self._trainer(plan)
        if reset_tensorboard:
            self._n_steps = 0
        log = BCLogger(self.logger, first_step=self._n_steps)
        with closing(trainer.train()) as reports:
            for report in reports:
                if report.values:
                    self._log(log, report, compute_rollout_stats)
                if on_batch_end is not None:
                    on_batch_end()
                if report.epoch_ended and on_epoch_end is not None:
                    on_epoch_end()
        self._n_passes += trainer.position.epoch + bool(trainer.position.batch)
        self._n_steps += trainer.position.step

    # --- parts of training ----------------------------------------------------------------------------------------

    def _trainer(self, plan: Plan) -> BCTrainer:
        if self._batches is None:
            raise DataError("demonstrations: there are none; give them to the constructor or to set_demonstrations()")
        if self._n_passes == 0 and self._engine.declines(self._job) is not None:
            # The policy was changed since the constructor, frozen in part, say. No step was taken: nothing is lost.
            self._engine, self._engine_reason = choose_engine(self._engine_name, self._job)
        if not self._engine_was_logged:
            told = in_words(facts_of(self._engine, self._engine_reason, self._job))
            self.logger.info(f"{told}; torch threads {self._n_threads or torch.get_num_threads()}")
            self._engine_was_logged = True
        return BCTrainer(self._job, self._engine, self._batches, plan, self._stream, n_threads=self._n_threads)

    def _prepare(self, obs: Any, acts: Tensor) -> Batch:
        """Map rows to what the engine wants."""
        return self._engine.prepare(obs, acts)

    def _log(self, log: BCLogger, report: Report, compute_rollout_stats: RolloutStatsComputer) -> None:
        log.logger = self.logger  # it may have been replaced since the last record
        log.log_epoch(report.epoch - report.epoch_ended)
        log.log_batch(
            report.step,
            int(report.values["batch_size"] or 0),
            report.samples,
            BCTrainingMetrics.from_values(report.values),
            compute_rollout_stats(self._policy, self.rng),
        )

    def _checked_venv(self, venv: VecEnv | None) -> VecEnv | None:
        if venv is not None:
            self._refuse_other_spaces("log_rollouts_venv", venv)
        return venv

    # --- the policy -----------------------------------------------------------------------------------------------

    def _make_policy(self, policy: ActorCriticPolicy | str | None) -> ActorCriticPolicy:
        seed = derive_seed(self._seed, "policy")
        if policy is None:
            context = PolicyContext(
                observation_space=self.observation_space,
                action_space=self.action_space,
                device=self._device,
                seed=seed,
                base_dir=Path.cwd(),
            )
            policy = build_policy(DEFAULT_POLICY, context)
        elif isinstance(policy, str):
            policy = open_policy(
                policy,
                observation_space=self.observation_space,
                action_space=self.action_space,
                device=self._device,
                seed=seed,
            )
        if not isinstance(policy, ActorCriticPolicy):
            raise ConfigError(
                Fault(f"is a {type(policy).__name__}; BC trains an ActorCriticPolicy or what a SPEC names", "policy")
            )
        self._refuse_other_spaces("policy", policy)
        return policy.to(self._device)

    def _refuse_other_spaces(self, name: str, other: Any) -> None:
        for role in ("observation_space", "action_space"):
            mine, theirs = getattr(self, role), getattr(other, role)
            difference = space_difference(mine, theirs)
            if difference is not None:
                raise SpaceError(f"{name}: its {role} is {theirs}, and BC was given {mine} ({difference})")

    def _is_misled_by_lengths(self) -> bool:
        """The loss of behavioural cloning does not know where episodes end."""
        return False


def _checked_rng(rng: object) -> np.random.Generator:
    if not isinstance(rng, np.random.Generator):
        raise ConfigError(Fault(f"expected a np.random.Generator, e.g. np.random.default_rng(0), seen {rng!r}", "rng"))
    return rng


def _find_device(device: str | torch.device) -> torch.device:
    """Return the device; "auto" is a GPU where there is one. Asked for by name, an absent GPU is an error."""
    if device == "auto":
        return get_device("auto")
    found = torch.device(device)
    if found.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError(Fault(f"torch finds no GPU here for {str(device)!r}; 'auto' and 'cpu' always work", "device"))
    return found
