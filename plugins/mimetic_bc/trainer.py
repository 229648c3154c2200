"""How does behavioural cloning train? One loop over batches; it reads from top to bottom in the order things happen."""

import copy
import math
from collections.abc import Generator, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from stable_baselines3.common.policies import ActorCriticPolicy

from mimetic.algorithms import Batch, Batches, Form, Report, make_batches
from mimetic.errors import ConfigError, DataError
from mimetic.hookspecs import AlgorithmContext
from mimetic.losses import WeightedTerm
from mimetic_bc.config import BCConfig
from mimetic_bc.engines import Engine, Job, choose_engine, choose_precision, facts_of, in_words
from mimetic_bc.iteration import marked_last
from mimetic_bc.optimizers import LearningRateSchedule, OptimizerChoice, learning_rate_factor
from mimetic_bc.progress import progress_bar
from mimetic_bc.session import RandomStream, TrainingSession
from mimetic_bc.values import report_values


def build(config: BCConfig, context: AlgorithmContext) -> "BCTrainer":
    """Build the trainer of a run file."""
    job = Job(
        policy=context.policy,
        terms=context.losses,
        optimizer=OptimizerChoice.from_config(config.optimizer),
        device=context.device,
        batch_size=config.batch_size,
        minibatch_size=config.minibatch_size or config.batch_size,
        max_grad_norm=config.max_grad_norm,
        autocast=choose_precision(config.precision, context.policy, context.device),
        replays=config.cuda_graphs,
    )
    engine, reason = choose_engine(config.engine, job)
    facts = facts_of(engine, reason, job)
    context.logger.info(in_words(facts))
    batches = make_batches(
        context.demonstrations,
        batch_size=config.batch_size,
        device=context.device,
        seed=context.seed,
        drop_last=config.drop_last,
        form=Form(precision_of(context.policy), engine.prepare),
    )
    plan = Plan(
        n_epochs=config.n_epochs,
        n_batches=config.n_batches,
        log_interval=config.log_interval,
        lr_schedule=config.lr_schedule,
    )
    return BCTrainer(job, engine, batches, plan, RandomStream(context.seed, context.device), facts=facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How long to train, and when to report."""

    n_epochs: int | None  # exactly one of these two is given
    n_batches: int | None
    log_interval: int = 500
    lr_schedule: LearningRateSchedule = "constant"
    first_pass: int = 0  # passes over the data that earlier trainings made: shuffling goes on from there
    measure_epoch_ends: bool = True  # the last batch of a pass is measured too
    report_every_batch: bool = False
    show_progress: bool = True


@dataclass(slots=True)
class Position:
    """How far a training is."""

    epoch: int = 0  # full passes that are done
    batch: int = 0  # batches of the current pass that are done
    step: int = 0  # optimiser steps that are done
    samples: int = 0  # rows that were seen


class BCTrainer:
    """Trains one policy on one set of demonstrations; see :class:`mimetic.algorithms.Trainer`."""

    def __init__(
        self,
        job: Job,
        engine: Engine,
        batches: Batches,
        plan: Plan,
        stream: RandomStream,
        *,
        n_threads: int | None = None,
        facts: Mapping[str, str] | None = None,
    ) -> None:
        """Get ready. The engine may have trained before; its optimiser goes on.

        ``n_threads`` are torch's while it steps; None leaves them alone, as where a run sets them.

        Raises:
            ConfigError: something follows a schedule, and nobody knows how many steps there will be.
        """
        self._terms: tuple[WeightedTerm, ...] = job.terms
        self._policy = job.policy
        self._clips = job.max_grad_norm is not None
        self._engine = engine
        self._batches = batches
        self._plan = plan
        self._stream = stream
        self._n_threads = n_threads
        self.facts: Mapping[str, str] = dict(facts or {})
        self.position = Position()
        self._base_lr = float(engine.optimizer.param_groups[0]["lr"])
        self.n_steps = _count_steps(plan, batches)
        if self.n_steps is None:
            _refuse_schedules(plan, job.terms)
        self._last_step = self.n_steps - 1 if self.n_steps is not None and self.n_steps > 1 else math.inf

    @property
    def policy(self) -> ActorCriticPolicy:
        """The policy that is trained."""
        return self._policy

    def train(self) -> Generator[Report, None, None]:
        """Train to the end; report at log points, ends of passes and the last batch."""
        if self._is_done():
            return
        with (
            progress_bar(self.n_steps, self.position.step, show=self._plan.show_progress) as bar,
            TrainingSession(self._policy, self._stream, self._engine, self._n_threads) as session,
        ):
            while not self._is_done():
                for batch, is_last in marked_last(self._rest_of_pass()):
                    report = self._step(batch, is_last)
                    bar.advance()
                    if report is not None:
                        bar.show(report)
                        with session.outside():
                            yield report
                    if self._is_done():
                        break

    def state_dict(self) -> dict[str, Any]:
        """Copy weights, optimiser, position and random stream."""
        state = {
            "format": 1,
            "policy": self._policy.state_dict(),
            "engine": {self._engine.name: self._engine.state_dict()},
            "position": asdict(self.position),
            "stream": self._stream.states,
        }
        return copy.deepcopy(state)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Put a state back that ``state_dict`` gave, on any device.

        Raises:
            DataError: another engine wrote it.
        """
        state = copy.deepcopy(dict(state))
        if self._engine.name not in state["engine"]:
            raise DataError(
                f"the state is of engine {', '.join(state['engine'])}; this training runs on {self._engine.name}"
            )
        self._policy.load_state_dict(state["policy"])
        self._engine.load_state_dict(state["engine"][self._engine.name])
        self.position = Position(**state["position"])
        self._stream.states = list(state["stream"])

    # --- one step -------------------------------------------------------------------------------------------------

    def _step(self, batch: Batch, is_last: bool) -> Report | None:
        """Take the step of one batch, move on, and report it if it is time."""
        plan, position = self._plan, self.position
        step, epoch, progress = position.step, position.epoch, self._progress()
        is_due = step % plan.log_interval == 0
        ends = self._ends_with(is_last)
        measure = is_due or (plan.measure_epoch_ends and (is_last or ends))
        measured = self._engine.step(batch, progress=progress, lr=self._lr(progress), measure=measure)
        self._move_on(batch.acts.shape[0], is_last)
        if not (is_due or is_last or ends or plan.report_every_batch):
            return None
        values: dict[str, float | None] = {}
        if measured is not None:
            values = {"batch_size": len(batch.acts), "bc/epoch": epoch, "bc/batch": step}
            values |= {"bc/samples_so_far": position.samples, "bc/lr": self._engine.optimizer.param_groups[0]["lr"]}
            values |= report_values(measured, self._terms, progress)
            self._refuse_divergence(values)
        return Report(step=step, epoch=position.epoch, samples=position.samples, values=values, epoch_ended=is_last)

    def _move_on(self, n_rows: int, is_last: bool) -> None:
        position = self.position
        position.step += 1
        position.samples += n_rows
        position.epoch += is_last
        position.batch = 0 if is_last else position.batch + 1

    def _rest_of_pass(self) -> Iterator[Batch]:
        """Yield what is left of the current pass.

        Raises:
            DataError: nothing is.
        """
        position = self.position
        is_empty = True
        for batch in self._batches.epoch(self._plan.first_pass + position.epoch, start=position.batch):
            is_empty = False
            yield batch
        if is_empty:
            raise DataError(
                f"demonstrations: epoch {position.epoch} has no batch number {position.batch}; are these other data?"
            )

    def _is_done(self) -> bool:
        plan, position = self._plan, self.position
        if plan.n_batches is not None:
            return position.step >= plan.n_batches
        assert plan.n_epochs is not None
        return position.epoch >= plan.n_epochs

    def _ends_with(self, is_last: bool) -> bool:
        """Whether the current step is the last one; ``is_last`` says that it ends its pass."""
        plan, position = self._plan, self.position
        if plan.n_batches is not None:
            return position.step + 1 >= plan.n_batches
        assert plan.n_epochs is not None
        return is_last and position.epoch + 1 >= plan.n_epochs

    def _progress(self) -> float:
        """0 at the first step, 1 at the last."""
        return self.position.step / self._last_step

    def _lr(self, progress: float) -> float | None:
        """Give the learning rate of a step; None where it is left alone."""
        schedule = self._plan.lr_schedule
        return None if schedule == "constant" else self._base_lr * learning_rate_factor(schedule, progress)

    def _refuse_divergence(self, values: Mapping[str, float | None]) -> None:
        """Stop a training that cannot recover."""
        loss = values["bc/loss"]
        if loss is not None and math.isfinite(loss):
            return
        parts = ", ".join(f"{term.name} {values[f'bc/terms/{term.name}']}" for term in self._terms)
        advice = "" if self._clips else " or a max_grad_norm"
        raise ConfigError(
            f"the objective is {loss} at step {values['bc/batch']:.0f} ({parts}); "
            f"a smaller learning rate{advice} may help"
        )


def precision_of(policy: ActorCriticPolicy) -> torch.dtype:
    """Return the dtype that fractions of the demonstrations should have."""
    return torch.float64 if any(p.dtype == torch.float64 for p in policy.parameters()) else torch.float32


def _count_steps(plan: Plan, batches: Batches) -> int | None:
    """Count the optimiser steps of a training; None when the data do not say."""
    if plan.n_batches is not None:
        return plan.n_batches
    assert plan.n_epochs is not None
    return None if batches.n_batches is None else plan.n_epochs * batches.n_batches


def _refuse_schedules(plan: Plan, terms: tuple[WeightedTerm, ...]) -> None:
    scheduled = [f"the weight of {term.name}" for term in terms if callable(term.weight)]
    if plan.lr_schedule != "constant":
        scheduled.append("lr_schedule")
    if scheduled:
        raise ConfigError(
            f"{' and '.join(scheduled)}: a schedule needs the number of steps, and these demonstrations do not tell "
            "how many rows a pass has; give n_batches in place of n_epochs"
        )
