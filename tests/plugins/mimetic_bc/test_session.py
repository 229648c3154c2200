"""What training sets in the process, and that it is put back."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch.distributions import Distribution

from cloning import OBS, TWO, policy_for, sign_demonstrations, silent
from mimetic.errors import ConfigError
from mimetic.logs import configure
from mimetic.policies import MimeticPolicy
from mimetic_bc import BC
from mimetic_bc.engines import AutogradEngine, Job
from mimetic_bc.optimizers import OptimizerChoice
from mimetic_bc.session import RandomStream, TrainingSession, flushes_denormals

CPU = torch.device("cpu")


def session(policy: MimeticPolicy | None = None, stream: RandomStream | None = None) -> TrainingSession:
    policy = policy or policy_for(TWO)
    engine = AutogradEngine(Job(policy, (), OptimizerChoice(), CPU, 8, 8))
    return TrainingSession(policy, stream or RandomStream(0, CPU), engine)


def surroundings() -> tuple[bool, bool, bool]:
    return flushes_denormals(), torch.is_grad_enabled(), Distribution._validate_args


def test_denormals_are_flushed_while_training_and_not_outside() -> None:
    """Weights that decay become denormal in the end, and then a step takes four to six times as long."""
    assert not flushes_denormals()

    with session() as running:
        assert flushes_denormals()
        with running.outside():
            assert not flushes_denormals()
        assert flushes_denormals()

    assert not flushes_denormals()


def test_what_was_set_before_is_set_again() -> None:
    torch.set_flush_denormal(True)
    try:
        with session():
            pass
        assert flushes_denormals()
    finally:
        torch.set_flush_denormal(False)


def test_flushing_shows_in_arithmetic() -> None:
    tiny = torch.tensor(1e-40)

    with session():
        assert (tiny * 0.5).item() == 0.0

    assert (tiny * 0.5).item() > 0.0


def test_an_error_puts_everything_back() -> None:
    before = surroundings()

    with pytest.raises(RuntimeError), session():
        raise RuntimeError("while training")

    assert surroundings() == before


def test_training_works_where_gradients_are_switched_off() -> None:
    policy = policy_for(TWO)
    before = [p.detach().clone() for p in policy.parameters()]
    bc = BC(
        observation_space=policy.observation_space,
        action_space=TWO,
        rng=np.random.default_rng(0),
        policy=policy,
        demonstrations=sign_demonstrations(32),
        custom_logger=silent(),
    )

    with torch.no_grad():
        bc.train(n_batches=1)
        assert not torch.is_grad_enabled()

    assert any(not torch.equal(a, b) for a, b in zip(before, policy.parameters(), strict=True))


def test_a_module_that_was_frozen_by_hand_stays_frozen() -> None:
    policy = policy_for(TWO)
    frozen = policy.mlp_extractor.value_net
    policy.train()
    frozen.eval()

    with session(policy):
        assert not frozen.training

    assert policy.training
    assert not frozen.training


def test_the_stream_of_training_goes_on_where_it_was() -> None:
    stream = RandomStream(0, CPU)
    policy = policy_for(TWO)

    def draws() -> list[float]:
        with session(policy, stream) as running:
            first = torch.rand(2).tolist()
            with running.outside():
                torch.rand(100)
            return [*first, *torch.rand(2).tolist()]

    drawn = draws() + draws()
    again = RandomStream(0, CPU)
    with session(policy, again):
        assert torch.rand(8).tolist() == drawn


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_one_thread_trains_and_others_have_what_they_had() -> None:
    """Two thread pools on two cores cost twenty times what they save."""
    bc = BC(
        observation_space=OBS,
        action_space=TWO,
        rng=np.random.default_rng(0),
        policy=policy_for(TWO),
        demonstrations=sign_demonstrations(40),
        custom_logger=silent(),
        engine="autograd",
    )
    seen: dict[str, set[int]] = {"steps": set(), "callbacks": set()}
    bc.policy.action_net.register_forward_hook(lambda *_: seen["steps"].add(torch.get_num_threads()))

    bc.train(n_epochs=2, on_batch_end=lambda: seen["callbacks"].add(torch.get_num_threads()), progress_bar=False)

    assert seen == {"steps": {1}, "callbacks": {2}}
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize(("threads", "told"), [(1, "torch threads 1"), (None, "torch threads 2"), (3, "threads 3")])
def test_the_log_says_how_many_threads_train(
    threads: int | None, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bc = BC(
        observation_space=OBS,
        action_space=TWO,
        rng=np.random.default_rng(0),
        demonstrations=sign_demonstrations(40),
        custom_logger=configure(None, ["stdout"]),
        threads=threads,
    )

    bc.train(n_batches=1, progress_bar=False)

    assert told in capsys.readouterr().out


def test_threads_that_cannot_be_are_refused() -> None:
    with pytest.raises(ConfigError, match="threads: expected a whole number of at least 1, seen 0"):
        BC(observation_space=OBS, action_space=TWO, rng=np.random.default_rng(0), threads=0)
