"""What training sets in the process, and that it is put back."""

import numpy as np
import pytest
import torch
from torch.distributions import Distribution

from cloning import TWO, policy_for, sign_demonstrations, silent
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
