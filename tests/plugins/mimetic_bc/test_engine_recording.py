"""Recorded passes train as passes do. A stand-in records where no GPU is: its replay is to work again."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3.common.policies import ActorCriticCnnPolicy, ActorCriticPolicy
from torch import Tensor, nn

from cloning import OBS, TWO, policy_for, sign_demonstrations, weights_of
from mimetic.algorithms import Batch, Form, make_batches
from mimetic.errors import ComponentFailedError
from mimetic.hookspecs import PolicyContext
from mimetic.losses import LinearSchedule, LossInputs, WeightedTerm
from mimetic.plugins import registry
from mimetic.policies import FlatFeatures, MimeticPolicy
from mimetic.types import TransitionsMinimal, as_demonstrations
from mimetic_bc.engines import AutogradEngine, Job
from mimetic_bc.engines.recording import CudaRecorder, RecordedGradients, RecordingError, Work
from mimetic_bc.engines.replaying import what_forbids_replaying
from mimetic_bc.optimizers import OptimizerChoice
from mimetic_bc.session import RandomStream, TrainingSession
from mimetic_bc.terms import HuberLoss, half_squared_norm, negative_entropy, negative_log_likelihood

CPU = torch.device("cpu")
CONT = spaces.Box(-1.0, 1.0, (3,), np.float32)
IMAGES = spaces.Box(0, 255, (36, 36, 3), np.uint8)
TALL = spaces.Box(0, 255, (3, 36, 36), np.uint8)
NESTED = spaces.Dict({"a": spaces.Dict({"image": IMAGES}), "b": spaces.Box(-1, 1, (2,), np.float32)})
NLL = WeightedTerm("nll", 1.0, negative_log_likelihood)
TERMS = (
    NLL,
    WeightedTerm("entropy", 1e-3, negative_entropy),
    WeightedTerm("l2", 1e-4, half_squared_norm),
)


class Rehearsing:
    """Records by remembering the work, after rehearsals as on a GPU."""

    def __init__(self) -> None:
        self.n_recordings = 0
        self.n_replays = 0

    def record(self, work: Work) -> Work:
        self.n_recordings += 1
        for _ in range(4):
            work()
        gradients = [p.grad for p in self._parameters_of(work)]

        def replay() -> None:
            self.n_replays += 1
            work()
            for mine, parameter in zip(gradients, self._parameters_of(work), strict=True):
                if mine is not None:
                    assert parameter.grad is not None
                    mine.copy_(parameter.grad)
                parameter.grad = None

        return replay

    @staticmethod
    def _parameters_of(work: Any) -> list[nn.Parameter]:
        parameters: list[nn.Parameter] = work.__self__._parameters
        return parameters


def component(name: str, obs_space: gym.Space[Any], action_space: gym.Space[Any], **config: Any) -> ActorCriticPolicy:
    context = PolicyContext(
        observation_space=obs_space,
        action_space=action_space,
        device=CPU,
        seed=0,
        base_dir=None,  # type: ignore[arg-type]  # no component here reads a file
    )
    policy = registry().build("policy", name, config, context)
    assert isinstance(policy, ActorCriticPolicy)
    return policy


def with_dropout() -> MimeticPolicy:
    policy = policy_for(TWO, features_extractor_class=FlatFeatures)
    policy.mlp_extractor.policy_net.append(nn.Dropout())
    return policy


def with_batch_norm() -> MimeticPolicy:
    policy = policy_for(CONT, features_extractor_class=FlatFeatures)
    policy.mlp_extractor.policy_net.append(nn.BatchNorm1d(8))
    return policy


def job_of(policy: ActorCriticPolicy, **options: Any) -> Job:
    settings: dict[str, Any] = {
        "policy": policy,
        "terms": TERMS,
        "optimizer": OptimizerChoice(),
        "device": CPU,
        "batch_size": 8,
        "minibatch_size": 8,
    }
    return Job(**{**settings, **options})


def rows_for(policy: ActorCriticPolicy, n: int = 44) -> TransitionsMinimal:
    policy.observation_space.seed(0)
    policy.action_space.seed(1)
    obs, acts = ([space.sample() for _ in range(n)] for space in (policy.observation_space, policy.action_space))
    return TransitionsMinimal(_stacked(obs), np.stack(acts))


def _stacked(values: list[Any]) -> Any:
    if isinstance(values[0], dict):
        return {key: _stacked([value[key] for value in values]) for key in values[0]}
    return np.stack(values)


def train(job: Job, recorder: Any, *, measure_every: int = 3, n_epochs: int = 3) -> dict[str, bytes]:
    """Train for some passes, the last batch of each short."""
    take_steps(job, AutogradEngine(job, recorder), measure_every, n_epochs)
    return weights_of(job.policy)


def take_steps(job: Job, engine: AutogradEngine, measure_every: int = 3, n_epochs: int = 3) -> None:
    data = as_demonstrations(rows_for(job.policy))
    batches = make_batches(
        data, batch_size=job.batch_size, device=job.device, seed=0, form=Form(prepare=engine.prepare)
    )
    step = 0
    with TrainingSession(job.policy, RandomStream(0, job.device), engine) as session:
        for epoch in range(n_epochs):
            for batch in batches.epoch(epoch):
                engine.step(batch, progress=0.0, lr=None, measure=step % measure_every == 0)
                step += 1
            with session.outside():
                pass


POLICIES: dict[str, Callable[[], ActorCriticPolicy]] = {
    "flat, a choice": lambda: component("mlp", OBS, TWO),
    "flat, normalised": lambda: component("mlp", OBS, CONT, normalize_obs=True),
    "flat, squashed": lambda: component("mlp", OBS, CONT, squash_output=True),
    "flat, several choices": lambda: component("mlp", spaces.Discrete(3), spaces.MultiDiscrete([2, 3])),
    "flat, switches": lambda: component("mlp", OBS, spaces.MultiBinary(3)),
    "images": lambda: component("cnn", IMAGES, TWO),
    "nested": lambda: component("multi-input", NESTED, CONT, normalize_obs=True),
    "dropout": with_dropout,
    "batch norm": with_batch_norm,
    "of stable-baselines3": lambda: ActorCriticPolicy(OBS, CONT, lambda _: 1e-3),
    "of stable-baselines3, images": lambda: ActorCriticCnnPolicy(TALL, TWO, lambda _: 1e-3),
}


def seeded(name: str) -> ActorCriticPolicy:
    torch.manual_seed(0)
    return POLICIES[name]()


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("options", [{}, {"minibatch_size": 4}, {"max_grad_norm": 0.1}])
def test_replays_give_the_bits_of_passes(name: str, options: dict[str, Any]) -> None:
    recorder = Rehearsing()

    replayed = train(job_of(seeded(name), **options), recorder)

    assert recorder.n_recordings == 1
    assert recorder.n_replays > 10
    assert replayed == train(job_of(seeded(name), **options), None)


def test_what_is_measured_changes_nothing() -> None:
    often, never = (train(job_of(with_dropout()), Rehearsing(), measure_every=n) for n in (1, 100))

    assert often == never


def test_what_is_measured_is_measured_before_the_step() -> None:
    jobs = [job_of(policy_for(TWO, features_extractor_class=FlatFeatures)) for _ in range(2)]
    engines = [AutogradEngine(jobs[0], Rehearsing()), AutogradEngine(jobs[1])]
    obs, acts = map(torch.as_tensor, sign_demonstrations(8))

    seen = [engine.step(Batch(obs, acts), progress=0.0, lr=None, measure=True) for engine in engines]

    assert seen[0] is not None
    assert seen[1] is not None
    assert seen[0].loss.item() == seen[1].loss.item()
    assert seen[0].entropy == seen[1].entropy


@pytest.mark.parametrize(
    "change",
    [
        lambda policy: policy.value_net.requires_grad_(False),
        lambda policy: policy.action_net.register_parameter("weight", nn.Parameter(policy.action_net.weight.clone())),
        lambda policy: policy.double().float(),
    ],
)
def test_a_policy_that_was_changed_is_recorded_anew(change: Callable[[Any], Any]) -> None:
    policy = policy_for(TWO, features_extractor_class=FlatFeatures)
    recorder = Rehearsing()
    engine = AutogradEngine(job_of(policy), recorder)
    obs, acts = map(torch.as_tensor, sign_demonstrations(8))

    for turn in range(3):
        if turn == 2:
            change(policy)
        engine.begin()
        engine.step(Batch(obs, acts), progress=0.0, lr=None, measure=False)
        engine.end()

    assert recorder.n_recordings == 2


def test_a_hook_that_is_put_on_later_sees_every_pass() -> None:
    policy = policy_for(TWO, features_extractor_class=FlatFeatures)
    engine = AutogradEngine(job_of(policy), Rehearsing())
    rows = Batch(*map(torch.as_tensor, sign_demonstrations(8)))
    engine.begin()
    engine.step(rows, progress=0.0, lr=None, measure=False)
    seen = []
    policy.action_net.register_forward_hook(lambda *_: seen.append(1))

    engine.begin()
    for _ in range(3):
        engine.step(rows, progress=0.0, lr=None, measure=False)

    assert len(seen) == 3


class Failing:
    """Fails as CUDA does when a pass waits for the device while it is recorded."""

    def record(self, work: Work) -> Work:
        work()
        raise RuntimeError("CUDA error: operation not permitted when stream is capturing\nCUDA kernel errors might ...")


class Refused:
    """Fails as such an error arrives when the policy met it: told as the policy's."""

    def record(self, work: Work) -> Work:
        work()
        raise ComponentFailedError("policy 'acme.own' raised RuntimeError: operation not permitted when capturing")


class Frozen:
    """Replays nothing."""

    def record(self, work: Work) -> Work:
        work()
        return lambda: None


@pytest.mark.parametrize(
    ("recorder", "reason"),
    [
        (Failing(), "operation not permitted when stream is capturing"),
        (Refused(), "operation not permitted when capturing"),
        (Frozen(), "a replay gives other gradients than the pass that was recorded"),
    ],
)
@pytest.mark.parametrize("name", ["dropout", "batch norm", "flat, normalised"])
def test_a_training_that_cannot_be_recorded_goes_on_without(name: str, recorder: Any, reason: str) -> None:
    """As if nobody had tried: what passes count and draw is put back."""
    with pytest.warns(UserWarning, match=f"recorded.*{reason}"):
        trained = train(job_of(seeded(name)), recorder)

    assert trained == train(job_of(seeded(name)), None)


def test_a_pass_that_puts_new_tensors_in_place_of_old_ones_is_not_recorded() -> None:
    class Rebinding(nn.Module):
        seen: Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", torch.zeros(()))

        def forward(self, rows: Tensor) -> Tensor:
            self.seen = self.seen + 1.0
            return rows

    net = nn.Sequential(nn.Linear(2, 1), Rebinding())
    rows = Batch(torch.ones(4, 2), torch.zeros(4))

    def differentiate(batch: Batch) -> None:
        net(batch.obs).sum().backward()

    with pytest.raises(RecordingError, match="puts new tensors in the place"):
        RecordedGradients(Rehearsing(), differentiate, rows, net)


# --- what may be recorded -------------------------------------------------------------------------------------------


class Silent(MimeticPolicy):
    """Says nothing about replays, whatever its parent says."""


class Willing(MimeticPolicy):
    """Says that it can be replayed."""

    replayable: ClassVar[bool] = True


class OwnActivation(nn.Module):
    def forward(self, rows: Tensor) -> Tensor:
        return rows


class OwnTerm:
    """Keeps count, in Python."""

    def __call__(self, inputs: LossInputs) -> Tensor:
        return negative_log_likelihood(inputs)


class WillingTerm(OwnTerm):
    replayable = True


@pytest.mark.parametrize("name", POLICIES)
def test_shipped_policies_and_those_of_stable_baselines3_may_be(name: str) -> None:
    assert what_forbids_replaying(job_of(POLICIES[name]())) is None


def test_a_policy_and_a_term_that_say_so_may_be() -> None:
    policy = Willing(OBS, TWO, net_arch=[8])
    terms = (WeightedTerm("own", 1.0, WillingTerm()), WeightedTerm("huber", 1.0, HuberLoss()))

    assert what_forbids_replaying(job_of(policy, terms=terms)) is None


def _with(change: Callable[[Any], Any]) -> ActorCriticPolicy:
    policy = policy_for(TWO, features_extractor_class=FlatFeatures)
    change(policy)
    return policy


@pytest.mark.parametrize(
    ("policy", "terms", "reason"),
    [
        (Silent(OBS, TWO, net_arch=[8]), TERMS, "Silent does not say that it is replayable"),
        (
            MimeticPolicy(OBS, TWO, net_arch=[8], activation_fn=OwnActivation),
            TERMS,
            "OwnActivation does not say that it is replayable",
        ),
        (
            _with(lambda policy: policy.action_net.register_forward_hook(lambda *_: None)),
            TERMS,
            "a hook watches its Linear",
        ),
        (
            _with(lambda policy: setattr(policy, "evaluate_actions", policy.evaluate_actions)),
            TERMS,
            "a hook watches its MimeticPolicy, or a method was replaced",
        ),
        (
            _with(lambda policy: policy.action_net.weight.register_hook(lambda grad: grad)),
            TERMS,
            "a hook watches the gradients of its weights",
        ),
        (policy_for(TWO), (WeightedTerm("nll", LinearSchedule(1.0, 0.0), negative_log_likelihood),), "follows a sched"),
        (policy_for(TWO), (WeightedTerm("own", 1.0, OwnTerm()),), "loss term 'own' does not say"),
        (
            policy_for(TWO),
            (WeightedTerm("own", 1.0, lambda inputs: inputs.log_prob.sum()),),
            "loss term 'own' does not",
        ),
    ],
)
def test_what_may_do_more_than_arithmetic_may_not_be(
    policy: ActorCriticPolicy, terms: tuple[WeightedTerm, ...], reason: str
) -> None:
    assert reason in str(what_forbids_replaying(job_of(policy, terms=terms)))


def test_nothing_is_recorded_on_the_cpu() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        engine = AutogradEngine(job_of(policy_for(TWO)))

    assert engine.facts == {}


# --- CUDA -----------------------------------------------------------------------------------------------------------


class FakeCuda:
    """Stands for ``torch.cuda`` and notes what is done, and where."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def _note(self, what: str) -> None:
        self.seen.append(what)

    @contextmanager
    def _within(self, what: str) -> Iterator[None]:
        self._note(f"into {what}")
        yield
        self._note(f"out of {what}")

    def Stream(self) -> Any:  # noqa: N802 - torch's name
        return SimpleNamespace(name="aside", wait_stream=lambda other: self._note(f"aside waits for {other.name}"))

    def current_stream(self) -> Any:
        return SimpleNamespace(name="main", wait_stream=lambda other: self._note(f"main waits for {other.name}"))

    def CUDAGraph(self) -> Any:  # noqa: N802 - torch's name
        return SimpleNamespace(replay=lambda: self._note("replay"))

    def device(self, device: torch.device) -> Any:
        return self._within(str(device))

    def stream(self, stream: Any) -> Any:
        return self._within(stream.name)

    def graph(self, graph: Any) -> Any:
        return self._within("the graph")


def test_a_cuda_graph_is_recorded_after_rehearsals_on_another_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = FakeCuda()
    for name in ("Stream", "current_stream", "CUDAGraph", "device", "stream", "graph"):
        assert hasattr(torch.cuda, name)
        monkeypatch.setattr(torch.cuda, name, getattr(cuda, name))

    replay = CudaRecorder(torch.device("cuda", 1)).record(lambda: cuda.seen.append("work"))
    recorded = list(cuda.seen)
    replay()

    assert recorded == [
        *("into cuda:1", "aside waits for main", "into aside", "work", "work", "work", "out of aside"),
        *("main waits for aside", "into the graph", "work", "out of the graph", "out of cuda:1"),
    ]
    assert cuda.seen[len(recorded) :] == ["into cuda:1", "replay", "out of cuda:1"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("options", [{}, {"minibatch_size": 4}])
def test_a_cuda_graph_trains_as_its_passes_do(name: str, options: dict[str, Any]) -> None:
    trained = []
    for replays in (True, False):
        policy = seeded(name).to("cuda")
        job = job_of(policy, device=torch.device("cuda"), replays=replays, **options)
        engine = AutogradEngine(job)
        take_steps(job, engine)
        assert (engine.facts == {"cuda_graph": "yes"}) is replays
        trained.append([parameter.detach().cpu() for parameter in policy.parameters()])

    for replayed, passed in zip(*trained, strict=True):
        torch.testing.assert_close(replayed, passed, rtol=1e-3, atol=1e-5)
