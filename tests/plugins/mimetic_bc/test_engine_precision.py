"""Passes in bfloat16: who gets them, and that all but the passes keeps its precision."""

import pickle
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from cloning import OBS, TWO, Memory, policy_for, sign_demonstrations, weights_of
from mimetic.errors import ConfigError
from mimetic.logs import HierarchicalLogger
from mimetic.policies import FlatFeatures, MimeticPolicy
from mimetic_bc import BC
from mimetic_bc.engines import choose_precision
from mimetic_policies import CnnPolicy

CPU, CUDA = torch.device("cpu"), torch.device("cuda")
IMAGES = spaces.Box(0, 255, (36, 36, 3), np.uint8)


def make_bc(policy: MimeticPolicy, demonstrations: Any, memory: Memory | None = None, **options: Any) -> BC:
    return BC(
        observation_space=policy.observation_space,
        action_space=policy.action_space,
        rng=np.random.default_rng(0),
        policy=policy,
        demonstrations=demonstrations,
        custom_logger=HierarchicalLogger([memory] if memory else []),
        **options,
    )


def flat_policy() -> MimeticPolicy:
    return policy_for(TWO, features_extractor_class=FlatFeatures)


def brightness(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Dark and bright images, and which they are."""
    rng = np.random.default_rng(0)
    bright = rng.integers(0, 2, n)
    images = rng.integers(0, 128, (n, 36, 36, 3)) + 128 * bright[:, None, None, None]
    return images.astype(np.uint8), bright


@pytest.fixture
def _a_gpu_that_knows_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: True)


@pytest.mark.usefixtures("_a_gpu_that_knows_bfloat16")
def test_auto_takes_bfloat16_for_convolutions_on_a_gpu_and_nowhere_else() -> None:
    convolutions, flat = CnnPolicy(IMAGES, TWO), flat_policy()

    assert choose_precision("auto", convolutions, CUDA) is torch.bfloat16
    assert choose_precision("auto", convolutions, CPU) is None
    assert choose_precision("auto", flat, CUDA) is None
    assert choose_precision("auto", CnnPolicy(IMAGES, TWO).double(), CUDA) is None
    assert choose_precision("full", convolutions, CUDA) is None
    assert choose_precision("bfloat16", flat, CPU) is torch.bfloat16


def test_auto_asks_whether_the_gpu_knows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: False)

    assert choose_precision("auto", CnnPolicy(IMAGES, TWO), CUDA) is None


@pytest.mark.parametrize(
    ("name", "policy", "device", "message"),
    [
        ("bf16", flat_policy(), CPU, r"precision: no precision is called 'bf16'.*known: auto, full, bfloat16"),
        ("bfloat16", flat_policy().double(), CPU, "precision: bfloat16 is for policies in float32"),
        ("bfloat16", flat_policy(), torch.device("mps"), "precision: bfloat16 is for cpu and cuda, the device is mps"),
    ],
)
def test_a_precision_that_cannot_be_is_refused(
    name: str, policy: MimeticPolicy, device: torch.device, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        choose_precision(name, policy, device)


def test_a_policy_of_images_learns_in_bfloat16() -> None:
    memory = Memory()
    bc = make_bc(CnnPolicy(IMAGES, TWO), brightness(64), memory, precision="bfloat16")

    bc.train(n_epochs=30, log_interval=1, progress_bar=False)

    assert memory.column("bc/prob_true_act")[-1] > 0.9
    assert {parameter.dtype for parameter in bc.policy.parameters()} == {torch.float32}


def test_its_first_loss_is_that_of_full_precision_up_to_rounding() -> None:
    losses = []
    for precision in ("full", "bfloat16"):
        memory = Memory()
        bc = make_bc(flat_policy(), sign_demonstrations(64), memory, engine="autograd", precision=precision)
        bc.train(n_batches=1, progress_bar=False)
        losses.append(memory.column("bc/loss")[0])

    assert losses[0] != losses[1]
    assert losses[0] == pytest.approx(losses[1], rel=2**-7)  # bfloat16 has 8 bits


def test_equal_seeds_give_equal_bits_in_bfloat16() -> None:
    trained = []
    for _ in range(2):
        bc = make_bc(flat_policy(), sign_demonstrations(64), precision="bfloat16")
        bc.train(n_epochs=2, progress_bar=False)
        trained.append(weights_of(bc.policy))

    assert trained[0] == trained[1]


def test_a_training_in_bfloat16_can_be_pickled() -> None:
    bc = make_bc(flat_policy(), sign_demonstrations(64), precision="bfloat16")
    bc.train(n_epochs=1, progress_bar=False)

    copied = pickle.loads(pickle.dumps(bc))

    for each in (bc, copied):
        each.train(n_epochs=1, progress_bar=False)
    assert weights_of(copied.policy) == weights_of(bc.policy)


def test_the_engine_that_works_by_hand_leaves_it_to_the_other() -> None:
    with pytest.raises(ConfigError, match="'mlp' cannot serve this training: the precision is bfloat16"):
        make_bc(flat_policy(), sign_demonstrations(8), engine="mlp", precision="bfloat16")


def test_the_log_names_the_precision(capsys: pytest.CaptureFixture[str]) -> None:
    from mimetic.logs import configure

    bc = BC(
        observation_space=OBS,
        action_space=TWO,
        rng=np.random.default_rng(0),
        demonstrations=sign_demonstrations(8),
        precision="bfloat16",
        custom_logger=configure(None, ["stdout"]),
    )

    bc.train(n_batches=1, progress_bar=False)

    assert "precision bfloat16" in capsys.readouterr().out
