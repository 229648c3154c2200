"""A row has the same bits in a block of rows wherever it lies; layers of which this is not true get single rows."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3.common.policies import ActorCriticPolicy, MultiInputActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from mimetic.policies import MimeticPolicy, as_actor, input_leaves
from mimetic.policies.acting import NetworkActor
from mimetic.policies.blocks import draw_observations
from mimetic.policies.plain_network import PlainNetwork
from mimetic.policies.torch_network import TorchNetwork
from mimetic.seeding import generator
from some_spaces import OBSERVATION_SPACES, THREE, VECTOR, Space, rows, samples

BOX = spaces.Box(-1.0, 1.0, (2,), np.float32)
IMAGE = spaces.Box(0, 255, (2, 9, 9), np.uint8)
PARTS = spaces.Dict({"seen": spaces.Box(-np.inf, np.inf, (3,)), "kind": spaces.Discrete(4), "image": IMAGE})
N_ROWS = 64


class Features(BaseFeaturesExtractor):
    """Hidden numbers of a vector, to derive from."""

    def __init__(self, observation_space: Space, width: int = 6) -> None:
        super().__init__(observation_space, width)
        self.layer = nn.Linear(int(np.prod(observation_space.shape or ())), width)
        self.calls = 0

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.change(self.layer(observations.flatten(1)))

    def change(self, hidden: torch.Tensor) -> torch.Tensor:
        return torch.sin(hidden)


class Bending(Features):
    """What torch calculates with other kernels at the end of its memory, where the width is odd."""

    def change(self, hidden: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(hidden)


class Mixing(Features):
    def change(self, hidden: torch.Tensor) -> torch.Tensor:
        return hidden - hidden.mean(dim=0)


class MixingFarNumbers(Features):
    def change(self, hidden: torch.Tensor) -> torch.Tensor:
        return torch.where((hidden.abs() > 1e3).any(), -hidden, hidden)


class Deciding(Features):
    def change(self, hidden: torch.Tensor) -> torch.Tensor:
        return -hidden if bool((hidden > 1e9).any()) else hidden


class DecidingOutside(Features):
    def change(self, hidden: torch.Tensor) -> torch.Tensor:
        return -hidden if np.any(hidden.numpy() > 1e9) else hidden


class Drawing(Features):
    def change(self, hidden: torch.Tensor) -> torch.Tensor:
        return hidden + 0.0 * torch.rand_like(hidden)


class Counting(Features):
    """Keeps statistics, in whatever mode."""

    def __init__(self, observation_space: Space) -> None:
        super().__init__(observation_space)
        self.seen: torch.Tensor
        self.register_buffer("seen", torch.zeros(()))

    def change(self, hidden: torch.Tensor) -> torch.Tensor:
        self.seen += len(hidden)
        return torch.sin(hidden)


class Uncopied(Features):
    def __deepcopy__(self, memo: Any) -> Any:
        raise RuntimeError("there is only one of me")


class Picky(Features):
    def change(self, hidden: torch.Tensor) -> torch.Tensor:
        if len(hidden) > 1:
            raise ValueError("one at a time")
        return hidden


class Convolving(BaseFeaturesExtractor):
    def __init__(self, observation_space: Space) -> None:
        super().__init__(observation_space, 4 * 7 * 7)
        self.layer = nn.Conv2d(2, 4, 3)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.layer(observations)).flatten(1)


class Joined(BaseFeaturesExtractor):
    def __init__(self, observation_space: Any) -> None:
        super().__init__(observation_space, 3 + 4)

    def forward(self, observations: Any) -> torch.Tensor:
        return torch.exp(torch.cat([observations["seen"], observations["kind"].flatten(1)], dim=1).clamp(-5, 5))


def behind(extractor: type[BaseFeaturesExtractor], observation_space: Space = VECTOR, **options: Any) -> Any:
    torch.manual_seed(0)
    options.setdefault("net_arch", [16])
    kind: Any = MultiInputActorCriticPolicy if isinstance(observation_space, spaces.Dict) else ActorCriticPolicy
    policy = kind(observation_space, BOX, lambda _: 1e-3, features_extractor_class=extractor, **options)
    policy.action_net.weight.data *= 100.0  # SB3 begins with means near zero
    return policy


def gelu(**options: Any) -> Any:
    torch.manual_seed(0)
    return MimeticPolicy(VECTOR, options.pop("action_space", BOX), ortho_init=False, activation_fn=nn.GELU, **options)


IN_BLOCKS: dict[str, Callable[[], Any]] = {
    "features before plain layers": lambda: behind(Features),
    "features before wide layers": lambda: behind(
        Features, features_extractor_kwargs={"width": 8}, net_arch=[256, 256]
    ),
    "features of an odd width": lambda: behind(Bending, features_extractor_kwargs={"width": 37}),
    "convolutions": lambda: behind(Convolving, IMAGE),
    "parts": lambda: behind(Joined, PARTS),
    "a small net": lambda: gelu(net_arch=[16, 16]),
    "a wide net": lambda: gelu(net_arch=[256, 256]),
    "one output": lambda: gelu(net_arch=[16, 16], action_space=spaces.Box(-1, 1, (1,))),
    "categories": lambda: gelu(net_arch=[32, 32], action_space=THREE),
}
ROW_BY_ROW: dict[str, Callable[[], Any]] = {
    "large features": lambda: behind(Features, features_extractor_kwargs={"width": 100_000}),
    "a large net": lambda: gelu(net_arch=[1024, 1024]),
    "rows that are mixed": lambda: behind(Mixing),
    "rows that are mixed at times": lambda: behind(MixingFarNumbers),
    "decisions": lambda: behind(Deciding),
    "decisions outside of torch": lambda: behind(DecidingOutside),
    "random numbers": lambda: behind(Drawing),
    "no copies": lambda: behind(Uncopied),
    "errors": lambda: behind(Picky),
}
POLICIES = IN_BLOCKS | ROW_BY_ROW


def actor_for(policy: Any, n_envs: int, *, deterministic: bool = True) -> Any:
    return as_actor(
        policy,
        observation_space=policy.observation_space,
        action_space=policy.action_space,
        n_envs=n_envs,
        deterministic=deterministic,
        exact=True,
    )


def torch_network_of(policy: Any) -> TorchNetwork:
    actor = actor_for(policy, 1)
    assert isinstance(actor, NetworkActor)
    network = actor._network._features if isinstance(actor._network, PlainNetwork) else actor._network
    assert isinstance(network, TorchNetwork)
    return network


def bits_for(n: int, policy: Any, obs: Any, *, deterministic: bool) -> bytes:
    """Act on all observations in groups of n, each in an episode of its own; the last group may be smaller."""
    acts = []
    for begin in range(0, N_ROWS, n):
        actor = actor_for(policy, n, deterministic=deterministic)
        group = range(begin, min(begin + n, N_ROWS))
        for env_index, seed in enumerate(group):
            actor.begin_episode(env_index, seed)
        acts.append(actor(rows(obs, slice(group.start, group.stop)), None, np.zeros(len(group), bool))[0])
    return np.concatenate(acts).tobytes()


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize("name", POLICIES)
def test_actions_have_the_same_bits_for_any_number_of_environments(name: str, deterministic: bool) -> None:
    policy = POLICIES[name]()
    obs = samples(policy.observation_space, N_ROWS)

    bits = {n: bits_for(n, policy, obs, deterministic=deterministic) for n in (1, 2, 3, 8, 9, 64)}

    assert len(set(bits.values())) == 1


@pytest.mark.parametrize("name", IN_BLOCKS)
def test_cheap_layers_that_treat_rows_alike_get_several_at_once(name: str) -> None:
    assert torch_network_of(IN_BLOCKS[name]()).block in (8, 16, 32)


@pytest.mark.parametrize("width", [1, 3, 37])
def test_no_activation_gets_a_part_of_a_vector_at_the_end_of_its_numbers(width: int) -> None:
    """The rest has another formula, which differs too seldom for a trial to show."""
    size = torch_network_of(behind(Bending, features_extractor_kwargs={"width": width})).block

    assert size is not None
    assert size == 1 or size * width * 4 % 128 == 0


@pytest.mark.parametrize("name", ROW_BY_ROW)
def test_other_layers_get_single_rows(name: str) -> None:
    """Large ones too: a single environment would wait for the rows that fill up a block."""
    assert torch_network_of(ROW_BY_ROW[name]()).block == 1


def test_sb3_s_own_layers_get_single_rows() -> None:
    """Their bits are those of ``predict`` for one row."""
    assert torch_network_of(ActorCriticPolicy(VECTOR, BOX, lambda _: 1e-3, activation_fn=nn.GELU)).block == 1


def test_layers_that_hooks_look_at_get_single_rows_and_the_hooks_see_no_others() -> None:
    policy, seen = behind(Features), []
    policy.features_extractor.layer.register_forward_hook(lambda module, given, result: seen.append(given[0].shape))

    actor = actor_for(policy, 2)
    assert seen == []
    actor(samples(VECTOR, 2), None, np.zeros(2, bool))

    assert seen == [(1, 4), (1, 4)]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("extractor", [Features, Drawing, Counting, Mixing])
def test_trying_layers_leaves_no_trace(extractor: type[Features], training: bool) -> None:
    """Neither in them nor in what draws random numbers."""
    policy = behind(extractor)
    policy.train(training)
    spaces_before = repr(policy.observation_space.np_random.bit_generator.state)
    before = {name: value.clone() for name, value in policy.state_dict().items()}
    state = torch.get_rng_state()

    torch_network_of(policy)

    assert policy.features_extractor.calls == 0
    assert all(torch.equal(value, before[name]) for name, value in policy.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state)
    assert repr(policy.observation_space.np_random.bit_generator.state) == spaces_before
    assert all(module.training == training for module in policy.modules())


def test_layers_are_tried_in_the_mode_that_they_act_in() -> None:
    """In training mode batch normalisation would mix rows."""
    policy = behind(Normalizing)
    policy.train()

    assert torch_network_of(policy).block > 1  # type: ignore[operator]  # an exact one has a number


class Normalizing(Features):
    def __init__(self, observation_space: Space) -> None:
        super().__init__(observation_space)
        self.norm = nn.BatchNorm1d(6)

    def change(self, hidden: torch.Tensor) -> torch.Tensor:
        normal: torch.Tensor = self.norm(hidden)
        return normal


def test_a_layer_alone_in_training_mode_is_tried_so() -> None:
    """Whoever leaves it there has it act so, and mix rows."""
    policy = behind(Normalizing)
    policy.train(False)
    policy.features_extractor.norm.train()

    assert torch_network_of(policy).block == 1


TRYING = """
import sys
from gymnasium import spaces
from torch import nn
from mimetic.policies import MimeticPolicy, as_actor, without_compiler

box = spaces.Box(-1.0, 1.0, (4,))
with without_compiler():
    policy = MimeticPolicy(box, box, net_arch=[16], activation_fn=nn.GELU)
as_actor(policy, observation_space=box, action_space=box, n_envs=1, deterministic=True, exact=True)
print([name for name in ("torch._dynamo", "sympy") if name in sys.modules])
"""


def test_trying_layers_imports_no_compiler() -> None:
    """What watches torch's operations would import it: as long as all of torch."""
    done = subprocess.run([sys.executable, "-c", TRYING], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["[]"]


def test_a_block_has_the_bits_that_predict_has_for_as_many_rows() -> None:
    policy = gelu(net_arch=[16, 16])
    size = torch_network_of(policy).block
    assert size is not None
    obs = samples(VECTOR, size)

    acts, _ = actor_for(policy, size)(obs, None, np.zeros(size, bool))

    assert np.array_equal(acts, policy.predict(obs, deterministic=True)[0])


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.float16])
def test_observations_of_another_dtype_act_as_they_do_in_float32(dtype: Any) -> None:
    policy = behind(Features)
    obs = np.arange(12).reshape(3, 4)

    acts, _ = actor_for(policy, 3)(obs.astype(dtype), None, np.zeros(3, bool))

    expected, _ = actor_for(policy, 3)(obs.astype(np.float32), None, np.zeros(3, bool))
    assert np.array_equal(acts, expected)


def test_fewer_rows_after_more_are_not_those_of_before() -> None:
    """Blocks lie in memory that is used again."""
    policy = behind(Features)
    actor, obs = actor_for(policy, 64), samples(VECTOR, 64)
    before, _ = actor(obs, None, np.zeros(64, bool))

    acts, _ = actor(obs[40:43], None, np.zeros(3, bool))

    assert np.array_equal(acts, before[40:43])


# --- what layers are tried with ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OBSERVATION_SPACES)
def test_layers_are_tried_with_members_of_the_observation_space(name: str) -> None:
    space = OBSERVATION_SPACES[name]

    obs = draw_observations(space, generator(0, "x"), 12)

    leaves = [(leaf.space, np.asarray(leaf.pick(obs))) for leaf in input_leaves(space)]
    assert all(part.contains(np.asarray(array[row])) for part, array in leaves for row in range(12))


def test_layers_are_tried_with_the_bounds_and_with_far_numbers_where_there_are_none() -> None:
    """The first half of the rows are ordinary: these are tried beside the others."""
    bounded = draw_observations(spaces.Box(2.0, 3.0, (50,)), generator(0, "x"), 12)
    unbounded = draw_observations(VECTOR, generator(0, "x"), 12)

    assert isinstance(bounded, np.ndarray)
    assert isinstance(unbounded, np.ndarray)
    assert bounded[6].tolist() == [2.0] * 50
    assert bounded[9].tolist() == [3.0] * 50
    assert bounded[:6].std() > 0.1
    assert unbounded[6].tolist() == [-1e6] * 4
    assert np.abs(unbounded[:6]).max() < 10
