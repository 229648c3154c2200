"""What must a policy do?"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from stable_baselines3.common.policies import ActorCriticPolicy

from mimetic.algorithms.tensors import to_tensors
from mimetic.config import Choice
from mimetic.hookspecs import Kind, PolicyContext, PolicyEntry
from mimetic.losses import LossInputs
from mimetic.policies import Actor, as_actor, build_policy, codec_of, what_forbids_replaying
from mimetic.storage import load_policy, save_policy
from mimetic.testing.contracts.component import ComponentContract, fresh_folder, skip
from mimetic.testing.contracts.facts import (
    leaving_randomness_alone,
    refusals_told,
    require,
    unchecked_distributions,
)
from mimetic.testing.contracts.worlds import CHOICE, CPU, DIRECTION, META, VECTOR, Space, described, devices, samples
from mimetic.types import take_rows

N_ROWS = 6
Pair = tuple[Space, Space]


class PolicyContract(ComponentContract):
    """The facts of a policy; inherit from it and set ``name``. Training is asked only of one that is trainable."""

    kind: ClassVar[Kind] = "policy"

    observation_spaces: ClassVar[tuple[Space, ...]] = (VECTOR,)
    """What it can see."""

    action_spaces: ClassVar[tuple[Space, ...]] = (CHOICE, DIRECTION)
    """What it can do; each is tried with each of ``observation_spaces``."""

    n_steps_to_learn: ClassVar[int] = 30
    """Steps of Adam, with rate 0.001 on one batch, after which it must fit the batch better than before."""

    seeded: ClassVar[bool] = True
    """Whether its draws come from the seeds of the episodes; False for one that wraps somebody else's code."""

    # --- acting ---------------------------------------------------------------------------------------------------

    def test_its_actions_are_members_of_the_action_space(self, tmp_path: Path) -> None:
        """For one environment and for several, the likeliest action and a drawn one."""
        for pair in self._pairs():
            policy = self.policy(pair, tmp_path)
            for n, deterministic in product((1, 2, 5), (True, False)):
                acts = self._act(policy, pair, n, deterministic)
                told = f"{self._title(pair)} gave {acts!r} for {n} environments"
                require(len(acts) == n, f"{told}; expected {n} actions")
                require(all(pair[1].contains(act) for act in acts), f"{told}; expected members of {pair[1]}")

    def test_the_likeliest_action_is_the_same_twice(self, tmp_path: Path) -> None:
        """A deterministic evaluation can be repeated."""
        for pair in self._pairs():
            policy = self.policy(pair, tmp_path)
            if not self._actor(policy, pair, 1, True).seeded:
                continue
            first, second = (self._act(policy, pair, N_ROWS, True) for _ in range(2))
            require(np.array_equal(first, second), f"{self._title(pair)} gave {first} and then {second} for one input")

    def test_the_seed_of_an_episode_decides_what_is_drawn_in_it(self, tmp_path: Path) -> None:
        """An episode is the same again wherever, and beside whatever, it is played."""
        if not self.seeded:
            raise skip("seeded is False")
        for pair in self._pairs():
            policy = self.policy(pair, tmp_path)
            first, second = (self._act(policy, pair, 3, False) for _ in range(2))
            require(
                np.array_equal(first, second),
                f"{self._title(pair)} drew {first} and then {second} from equal seeds; draw from the streams that "
                "`begin_episode` names, or say `seeded = False` on the actor",
            )

    def test_acting_draws_nothing_from_generators_that_others_share(self, tmp_path: Path) -> None:
        """Evaluating or filming a policy must not change what is learned afterwards."""
        if not self.seeded:
            raise skip("seeded is False")
        for pair in self._pairs():
            policy = self.policy(pair, tmp_path)
            with leaving_randomness_alone(f"{self._title(pair)}: acting"):
                self._act(policy, pair, 2, False)

    def test_acting_leaves_training_mode_as_it_is(self, tmp_path: Path) -> None:
        """A policy may be evaluated in the middle of its training."""
        for pair in self._pairs():
            policy = self._with_weights(pair, tmp_path)
            for training in (True, False):
                policy.train(training)
                self._act(policy, pair, 2, True)
                self._require_mode(policy, training, pair, "acting")

    # --- being built ------------------------------------------------------------------------------------------------

    def test_the_seed_of_its_context_decides_what_it_is(self, tmp_path: Path) -> None:
        """And nothing else does, nor is anything else moved by building it."""
        for pair in self._pairs():
            with leaving_randomness_alone(f"{self._title(pair)}: building it"):
                first = self.policy(pair, tmp_path)
            second = self.policy(pair, tmp_path)
            title = f"{self._title(pair)} built twice from one seed"
            require(type(first) is type(second), f"{title} gave a {type(first)} and a {type(second)}")
            if isinstance(first, torch.nn.Module):
                different = _differences(first, second)
                require(not different, f"{title} differs in {', '.join(different)}")
            if self.seeded:
                one, other = (self._act(policy, pair, 3, False) for policy in (first, second))
                require(np.array_equal(one, other), f"{title} acts differently: {one} and {other}")

    def test_it_is_where_its_context_says(self, tmp_path: Path) -> None:
        """Everything that a batch meets is on one device."""
        for pair, device in product(self._pairs(), devices()):
            state = _state(self._with_weights(pair, tmp_path, device))
            elsewhere = [f"{name} on {value.device}" for name, value in state.items() if value.device != device]
            require(not elsewhere, f"{self._title(pair)} was built for {device} and has {', '.join(elsewhere)}")

    # --- being trained ----------------------------------------------------------------------------------------------

    def test_it_gives_a_log_probability_for_each_row(self, tmp_path: Path) -> None:
        """One a row, whatever the shape of actions: a shape that broadcasts would train something else."""
        for pair in self._pairs():
            policy = self._trainable(pair, tmp_path)
            for n in (1, N_ROWS):
                values, log_prob, entropy = policy.evaluate_actions(*_batch(policy, n))
                title = f"{self._title(pair)}: evaluate_actions for {n} rows"
                for what, given in {"log-probabilities": log_prob, "entropies": entropy}.items():
                    if given is not None:
                        require(given.shape == (n,), f"{title} gave {what} of shape {tuple(given.shape)}, not ({n},)")
                        require(given.is_floating_point(), f"{title} gave {what} of {given.dtype}; expected floats")
                        require(bool(given.isfinite().all()), f"{title} gave {what} that are not finite: {given}")
                require(values.numel() == n, f"{title} gave values of shape {tuple(values.shape)}, not {n} numbers")
                require(log_prob.requires_grad, f"{title} gave log-probabilities that are detached from its weights")

    def test_a_row_does_not_depend_on_the_rows_beside_it(self, tmp_path: Path) -> None:
        """In evaluation mode: what a policy does must not depend on who else is asked at the same time."""
        for pair in self._pairs():
            policy = self._trainable(pair, tmp_path)
            policy.set_training_mode(False)
            obs, acts = _batch(policy, N_ROWS)
            with torch.no_grad():
                together = policy.evaluate_actions(obs, acts)[1]
                rows = [slice(row, row + 1) for row in range(N_ROWS)]
                alone = torch.cat([policy.evaluate_actions(take_rows(obs, row), acts[row])[1] for row in rows])
            require(
                bool(torch.allclose(together, alone, rtol=1e-3, atol=1e-4)),
                f"{self._title(pair)} finds {together} for a batch and {alone} for its rows one by one",
            )

    def test_evaluating_actions_leaves_training_mode_as_it_is(self, tmp_path: Path) -> None:
        """Training sets it once, and counts on it."""
        for pair in self._pairs():
            policy = self._trainable(pair, tmp_path)
            for training in (True, False):
                policy.set_training_mode(training)
                policy.evaluate_actions(*_batch(policy, 2))
                self._require_mode(policy, training, pair, "evaluate_actions")

    def test_training_fits_it_to_a_batch(self, tmp_path: Path) -> None:
        """Its gradients lead somewhere."""
        for pair in self._pairs():
            policy = self._trainable(pair, tmp_path)
            policy.set_training_mode(True)
            batch = _batch(policy, 4 * N_ROWS)
            optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
            losses = []
            with torch.random.fork_rng(devices=[]):
                torch.default_generator.manual_seed(0)
                for _ in range(self.n_steps_to_learn):
                    optimizer.zero_grad()
                    loss = -LossInputs(policy, *batch).log_prob.mean()
                    torch.autograd.backward(loss)
                    optimizer.step()
                    losses.append(loss.item())
            require(
                losses[-1] < losses[0],
                f"{self._title(pair)} pays {losses[0]:.4f} nats for a batch before {len(losses)} steps of Adam on it, "
                f"and {losses[-1]:.4f} after; expected less",
            )

    def test_what_says_that_it_is_replayable_reads_no_number_back(self, tmp_path: Path) -> None:
        """Tried with torch's meta device, whose tensors have no numbers to read."""
        for pair in self._pairs():
            policy = self._trainable(pair, tmp_path)
            forbidden = what_forbids_replaying(policy)
            if forbidden is not None:
                raise skip(forbidden)
            obs, acts = _batch(policy, N_ROWS)
            policy.to(META).set_training_mode(True)
            inputs = LossInputs(policy, to_tensors(obs, META), acts.to(META))
            with unchecked_distributions():
                try:
                    torch.autograd.backward(inputs.log_prob.mean())
                except Exception as error:
                    raise AssertionError(
                        f"{self._title(pair)} says that it is replayable, and a pass does more than calculate: {error}"
                    ) from error

    # --- being saved ------------------------------------------------------------------------------------------------

    def test_saved_and_loaded_it_is_the_same(self, tmp_path: Path) -> None:
        """Every weight bit for bit, and every action."""
        for pair in self._pairs():
            policy = self._with_weights(pair, tmp_path)
            path = fresh_folder(tmp_path) / "policy.safetensors"
            with refusals_told(f"{self._title(pair)} cannot be saved and loaded"):
                save_policy(policy, path)
                loaded = load_policy(path, "cpu")
            different = _differences(policy, loaded)
            require(not different, f"{self._title(pair)}, saved and loaded, differs in {', '.join(different)}")
            one, other = (self._act(each, pair, 20, True) for each in (policy, loaded))
            require(np.array_equal(one, other), f"{self._title(pair)}, saved and loaded, acts as {other}, not as {one}")

    # --- what they build on -----------------------------------------------------------------------------------------

    def policy(self, pair: Pair, tmp_path: Path, device: torch.device = CPU) -> Any:
        """Build the policy for a pair of spaces, as a run does."""
        context = PolicyContext(
            observation_space=pair[0], action_space=pair[1], device=device, seed=7, base_dir=tmp_path
        )
        choice = Choice("policy", self.name, self.config(tmp_path))
        with refusals_told(f"{self._title(pair)} cannot be built"):
            return build_policy(choice, context)

    def attempt(self, tmp_path: Path) -> None:
        """Build it once."""
        self.policy(next(self._pairs()), tmp_path)

    def _pairs(self) -> Iterator[Pair]:
        self.component()
        yield from product(self.observation_spaces, self.action_spaces)

    def _with_weights(self, pair: Pair, tmp_path: Path, device: torch.device = CPU) -> torch.nn.Module:
        policy = self.policy(pair, tmp_path, device)
        if not isinstance(policy, torch.nn.Module):
            raise skip(f"policy {self.name!r} has no weights")
        return policy

    def _trainable(self, pair: Pair, tmp_path: Path) -> ActorCriticPolicy:
        entry = self.component().entry
        if isinstance(entry, PolicyEntry) and not entry.trainable:
            raise skip(f"policy {self.name!r} says that it is not trainable")
        policy = self.policy(pair, tmp_path)
        if not isinstance(policy, ActorCriticPolicy):
            raise AssertionError(
                f"{self._title(pair)} is a {type(policy).__name__}; expected a subclass of stable-baselines3's "
                "ActorCriticPolicy, such as mimetic.policies.MimeticPolicy, or trainable=False in its entry"
            )
        return policy

    def _actor(self, policy: Any, pair: Pair, n_envs: int, deterministic: bool) -> Actor:
        return as_actor(
            policy,
            observation_space=pair[0],
            action_space=pair[1],
            n_envs=n_envs,
            deterministic=deterministic,
            exact=True,
            seed=3,
        )

    def _act(self, policy: Any, pair: Pair, n: int, deterministic: bool) -> np.ndarray:
        """Return the actions of n environments at the beginning of their episodes."""
        actor = self._actor(policy, pair, n, deterministic)
        for env_index in range(n):
            actor.begin_episode(env_index, 100 + env_index)
        acts, _ = actor(samples(pair[0], n), None, np.ones(n, bool))
        return acts

    def _require_mode(self, policy: torch.nn.Module, training: bool, pair: Pair, doing: str) -> None:
        before, after = ("training", "evaluation") if training else ("evaluation", "training")
        require(policy.training == training, f"{self._title(pair)}: {doing} turned {before} mode into {after} mode")

    def _title(self, pair: Pair) -> str:
        return f"policy {self.name!r} {described(pair)}"


def _batch(policy: ActorCriticPolicy, n: int) -> tuple[Any, torch.Tensor]:
    codec_of(policy)  # refuses a space that the policy does not know
    obs = to_tensors(samples(policy.observation_space, n), CPU)
    acts: torch.Tensor = to_tensors(samples(policy.action_space, n, seed=1), CPU)
    return obs, acts


def _state(policy: torch.nn.Module) -> dict[str, torch.Tensor]:
    state: dict[str, torch.Tensor] = policy.state_dict()
    return state


def _differences(first: torch.nn.Module, second: torch.nn.Module) -> list[str]:
    one, other = _state(first), _state(second)
    return sorted(
        name
        for name in {*one, *other}
        if name not in one or name not in other or not torch.equal(one[name], other[name])
    )
