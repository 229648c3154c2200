from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3 import DQN, PPO, SAC, TD3
from stable_baselines3.common.policies import ActorCriticPolicy, MultiInputActorCriticPolicy
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
from torch import nn

from mimetic.errors import SpaceError
from mimetic.policies import Actor, EpisodeStreams, FlatFeatures, MimeticPolicy, UniformActor, as_actor, row_network
from mimetic.policies.acting import DrawingActor, NetworkActor, PredictingActor
from mimetic.policies.choices import Draw, draw_gumbel, draw_normal, draw_uniform
from mimetic.policies.noise import EpisodeNoise
from mimetic.policies.plain_network import PlainNetwork
from mimetic.policies.row_network import RowNetwork, _has_bits_of_a_layer
from mimetic.policies.torch_network import TorchNetwork
from mimetic.seeding import generator
from some_spaces import ACTION_SPACES, OBSERVATION_SPACES, THREE, VECTOR, Space, rows, samples
from worlds import Cont, DictObs, Len

BOX = spaces.Box(-1.0, 1.0, (2,), np.float32)
DICT: Any = DictObs(3).observation_space


def policy_for(observation_space: Space = VECTOR, action_space: Space = THREE, **options: Any) -> Any:
    """A policy that tells its actions apart: its last layer is as large as the others."""
    torch.manual_seed(0)
    options.setdefault("net_arch", [16, 16])
    return MimeticPolicy(observation_space, action_space, ortho_init=False, **options)


def actor_for(policy: Any, n_envs: int = 4, *, deterministic: bool = True, exact: bool = True, **options: Any) -> Actor:
    options.setdefault("observation_space", getattr(policy, "observation_space", VECTOR))
    options.setdefault("action_space", getattr(policy, "action_space", THREE))
    return as_actor(policy, n_envs=n_envs, deterministic=deterministic, exact=exact, **options)


def starts(n: int) -> np.ndarray:
    return np.zeros(n, bool)


def bits_for(n: int, policy: Any, obs: Any, *, deterministic: bool, total: int) -> bytes:
    """Act on ``total`` observations in groups of n, each in an episode of its own with its own seed."""
    actor = actor_for(policy, n, deterministic=deterministic)
    acts = []
    for begin in range(0, total, n):
        for env_index in range(n):
            actor.begin_episode(env_index, seed=1000 + begin + env_index)
        acts.append(actor(rows(obs, slice(begin, begin + n)), None, starts(n))[0])
    return np.concatenate(acts).tobytes()


# --- the same bits for any number of environments ---------------------------------------------------------------


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize("name", ACTION_SPACES)
def test_an_action_s_bits_do_not_depend_on_how_many_run_together(name: str, deterministic: bool) -> None:
    policy = policy_for(action_space=ACTION_SPACES[name])
    obs = samples(VECTOR, 24)

    bits = {n: bits_for(n, policy, obs, deterministic=deterministic, total=24) for n in (1, 2, 3, 8, 24)}

    assert len(set(bits.values())) == 1


class Deeper(FlatFeatures):
    """An extractor that is calculated by torch, since it is not the plain one."""

    def __init__(self, observation_space: Space) -> None:
        super().__init__(observation_space)
        self.layer = nn.Linear(4, 4)

    def forward(self, observations: Any) -> torch.Tensor:
        return torch.sin(self.layer(super().forward(observations)))


POLICIES: dict[str, Callable[[], Any]] = {
    "normalised": lambda: policy_for(features_extractor_kwargs={"normalize": True}, action_space=BOX),
    "wide": lambda: policy_for(net_arch=[256, 256], action_space=BOX),
    "squashed": lambda: policy_for(action_space=BOX, squash_output=True),
    "with state-dependent noise": lambda: policy_for(action_space=BOX, use_sde=True),
    "an extractor of its own": lambda: policy_for(action_space=BOX, features_extractor_class=Deeper),
    "SB3's own": lambda: ActorCriticPolicy(VECTOR, BOX, lambda _: 1e-3, log_std_init=-1.0),
    "PPO": lambda: PPO("MlpPolicy", DummyVecEnv([Vector]), n_steps=8, batch_size=8, device="cpu"),
    "SAC": lambda: SAC("MlpPolicy", DummyVecEnv([Vector]), device="cpu"),
}


class Vector(Cont):
    """Four numbers seen, two done."""

    def __init__(self) -> None:
        super().__init__()
        self.observation_space = VECTOR
        self.action_space = BOX


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize("name", POLICIES)
def test_any_policy_acts_with_the_same_bits_for_any_number_of_environments(name: str, deterministic: bool) -> None:
    torch.manual_seed(0)
    policy = POLICIES[name]()
    obs = samples(VECTOR, 12)

    bits = {n: bits_for(n, policy, obs, deterministic=deterministic, total=12) for n in (1, 3, 12)}

    assert len(set(bits.values())) == 1


@pytest.mark.parametrize("activation", [nn.Tanh, nn.ReLU, nn.LeakyReLU, nn.ELU, nn.Sigmoid, nn.SiLU])
def test_numpy_agrees_with_torch(activation: type[nn.Module]) -> None:
    policy = policy_for(action_space=spaces.Box(-9, 9, (3,)), activation_fn=activation)
    obs = samples(VECTOR, 10)

    acts, _ = actor_for(policy, 10)(obs, None, starts(10))

    np.testing.assert_allclose(acts, policy.predict(obs, deterministic=True)[0], atol=1e-6)


@pytest.mark.parametrize("name", OBSERVATION_SPACES)
def test_numpy_agrees_with_torch_on_every_observation(name: str) -> None:
    policy = policy_for(OBSERVATION_SPACES[name], BOX)
    obs = samples(OBSERVATION_SPACES[name], 5)

    acts, _ = actor_for(policy, 5)(obs, None, starts(5))

    np.testing.assert_allclose(acts, policy.predict(obs, deterministic=True)[0], atol=1e-6)


def test_sb3_s_own_policy_acts_bit_for_bit_as_its_predict_does_alone() -> None:
    policy = ActorCriticPolicy(VECTOR, BOX, lambda _: 1e-3)
    obs = samples(VECTOR, 6)

    acts, _ = actor_for(policy, 6)(obs, None, starts(6))

    alone = np.concatenate([policy.predict(obs[row : row + 1], deterministic=True)[0] for row in range(6)])
    assert np.array_equal(acts, alone)


def test_an_actor_follows_a_policy_that_goes_on_learning() -> None:
    """Whoever keeps an actor during training must not see old weights."""
    policy = policy_for(action_space=BOX)
    actor = actor_for(policy)
    obs = samples(VECTOR, 4)
    before, _ = actor(obs, None, starts(4))

    for parameter in policy.parameters():
        parameter.data = parameter.data * 2.0  # even where the storage is replaced
    after, _ = actor(obs, None, starts(4))

    assert not np.array_equal(before, after)
    np.testing.assert_allclose(after, policy.predict(obs, deterministic=True)[0], atol=1e-6)


class Own(MimeticPolicy):
    """Decides for itself which distribution it acts by."""

    def get_distribution(self, obs: Any) -> Any:
        return super().get_distribution(obs)


def network_of(policy: Any, *, exact: bool = True) -> type:
    actor = actor_for(policy, exact=exact)
    assert isinstance(actor, NetworkActor)
    return type(actor._network)


def test_only_plain_layers_are_calculated_in_numpy() -> None:
    hooked = policy_for()
    hooked.action_net.register_forward_hook(lambda module, given, result: result)

    assert network_of(policy_for()) is PlainNetwork
    assert network_of(policy_for(activation_fn=nn.GELU)) is TorchNetwork
    assert network_of(hooked) is TorchNetwork


@pytest.mark.parametrize("exact", [True, False])
def test_plain_layers_are_calculated_in_numpy_behind_features_that_torch_calculates(exact: bool) -> None:
    actor = actor_for(policy_for(features_extractor_class=Deeper), exact=exact)

    assert isinstance(actor, NetworkActor)
    assert isinstance(actor._network, PlainNetwork)
    assert isinstance(actor._network._features, TorchNetwork)


def test_wide_layers_behind_features_of_torch_s_stay_with_torch_for_exact_bits() -> None:
    """Numpy would copy them to float64 at each call."""
    policy = policy_for(features_extractor_class=Deeper, net_arch=[256, 256])

    assert network_of(policy, exact=True) is TorchNetwork
    assert network_of(policy, exact=False) is PlainNetwork


def test_sb3_s_own_network_is_calculated_in_numpy_where_bits_are_not_asked_for() -> None:
    """With exact bits they are those of its ``predict``."""
    policy = ActorCriticPolicy(VECTOR, THREE, lambda _: 1e-3)

    assert network_of(policy, exact=True) is RowNetwork
    assert network_of(policy, exact=False) is PlainNetwork


def test_layers_whose_products_have_other_bits_for_single_rows_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other processors may multiply by a vector in another way than by a matrix of one row."""
    addmv = torch.addmv
    monkeypatch.setattr(torch, "addmv", lambda bias, weight, x, *, out: addmv(bias, weight, x * (1 + 1e-6), out=out))

    assert not _has_bits_of_a_layer.__wrapped__(4, 3)


def test_rows_that_would_have_other_bits_go_through_sb3_s_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_network, "_has_bits_of_a_layer", lambda n_in, n_out: n_out != 3)

    assert network_of(ActorCriticPolicy(VECTOR, THREE, lambda _: 1e-3)) is TorchNetwork


def test_a_policy_with_ways_of_its_own_is_asked_itself() -> None:
    policy = Own(VECTOR, THREE, net_arch=[4])
    instance = policy_for()
    instance.predict = lambda obs, *more: (np.full(len(obs), 2), None)

    assert isinstance(actor_for(policy), PredictingActor)
    assert isinstance(actor_for(policy, deterministic=False), DrawingActor)
    for deterministic in (True, False):
        acts, _ = actor_for(instance, deterministic=deterministic)(samples(VECTOR, 3), None, starts(3))
        assert acts.tolist() == [2, 2, 2]
    assert isinstance(actor_for(policy_for(action_space=BOX, use_sde=True), deterministic=False), DrawingActor)


SB3_S_OWN: dict[str, Callable[[], Any]] = {
    "categories": lambda: ActorCriticPolicy(VECTOR, THREE, lambda _: 1e-3),
    "several categories": lambda: ActorCriticPolicy(VECTOR, spaces.MultiDiscrete([3, 2]), lambda _: 1e-3),
    "odd widths": lambda: ActorCriticPolicy(VECTOR, spaces.Box(-9, 9, (5,)), lambda _: 1e-3, net_arch=[37, 9]),
    "wide layers": lambda: ActorCriticPolicy(VECTOR, BOX, lambda _: 1e-3, net_arch=[300, 300]),
    "layers of one": lambda: ActorCriticPolicy(VECTOR, spaces.Box(-9, 9, (1,)), lambda _: 1e-3, net_arch=[9, 1]),
    "no layers": lambda: ActorCriticPolicy(VECTOR, BOX, lambda _: 1e-3, net_arch=[]),
    "a matrix": lambda: ActorCriticPolicy(spaces.Box(-9, 9, (2, 3)), BOX, lambda _: 1e-3),
    "switches": lambda: ActorCriticPolicy(VECTOR, spaces.MultiBinary(3), lambda _: 1e-3),
    "a box": lambda: ActorCriticPolicy(VECTOR, BOX, lambda _: 1e-3, activation_fn=nn.GELU),
    "an image": lambda: ActorCriticPolicy(spaces.Box(0, 255, (3, 9, 9), np.uint8), BOX, lambda _: 1e-3),
    "a category": lambda: ActorCriticPolicy(spaces.Discrete(5), THREE, lambda _: 1e-3),
    "parts": lambda: MultiInputActorCriticPolicy(DICT, THREE, lambda _: 1e-3),
    "double precision": lambda: ActorCriticPolicy(spaces.Box(-9, 9, (4,), np.float64), BOX, lambda _: 1e-3),
    "a network of values": lambda: DQN("MlpPolicy", DummyVecEnv([Len]), device="cpu", buffer_size=10).policy.q_net,
    "SAC's actor": lambda: SAC("MlpPolicy", DummyVecEnv([Vector]), device="cpu").policy.actor,
    "TD3's actor": lambda: TD3("MlpPolicy", DummyVecEnv([Vector]), device="cpu").policy.actor,
}


@pytest.mark.parametrize("name", SB3_S_OWN)
def test_layers_alone_act_bit_for_bit_as_sb3_s_predict(name: str) -> None:
    """Everything that SB3 does around them is left out, and nothing else."""
    torch.manual_seed(0)
    policy = SB3_S_OWN[name]()
    obs = samples(policy.observation_space, 6)
    assert network_of(policy) in (RowNetwork, TorchNetwork)

    acts, _ = actor_for(policy, 6)(obs, None, starts(6))

    rows_of_obs = [rows(obs, slice(row, row + 1)) for row in range(6)]
    alone = np.concatenate([policy.predict(row, deterministic=True)[0] for row in rows_of_obs])
    assert acts.dtype == policy.action_space.dtype
    assert np.array_equal(acts, alone)


OTHER_PEOPLE_S: dict[str, Callable[[], Any]] = {
    "an extractor": lambda: ActorCriticPolicy(VECTOR, BOX, lambda _: 1e-3, features_extractor_class=Deeper),
    "an extractor before wide layers": lambda: ActorCriticPolicy(
        VECTOR, BOX, lambda _: 1e-3, features_extractor_class=Deeper, net_arch=[256, 256]
    ),
    "an extractor of ours": lambda: policy_for(action_space=BOX, features_extractor_class=Deeper),
    "another class": lambda: Other(VECTOR, BOX, lambda _: 1e-3),
}


class Other(ActorCriticPolicy):
    """Evaluates actions in a way of its own."""

    def evaluate_actions(self, obs: Any, actions: torch.Tensor) -> Any:
        return super().evaluate_actions(obs, actions)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("name", OTHER_PEOPLE_S)
def test_layers_of_other_people_act_as_their_predict(name: str, exact: bool) -> None:
    torch.manual_seed(0)
    policy = OTHER_PEOPLE_S[name]()
    policy.action_net.weight.data *= 100.0  # SB3 begins with means near zero
    obs = samples(VECTOR, 6)

    acts, _ = actor_for(policy, 6, exact=exact)(obs, None, starts(6))

    np.testing.assert_allclose(acts, policy.predict(obs, deterministic=True)[0], atol=1e-5)


@pytest.mark.parametrize("name", SB3_S_OWN)
def test_layers_in_one_batch_act_as_sb3_s_predict(name: str) -> None:
    torch.manual_seed(0)
    policy = SB3_S_OWN[name]()
    obs = samples(policy.observation_space, 6)

    acts, _ = actor_for(policy, 6, exact=False)(obs, None, starts(6))

    np.testing.assert_allclose(acts, policy.predict(obs, deterministic=True)[0], atol=1e-5)


def test_observations_of_another_shape_are_refused_as_sb3_does() -> None:
    with pytest.raises(ValueError, match=r"Unexpected observation shape \(2, 5\)"):
        actor_for(ActorCriticPolicy(VECTOR, THREE, lambda _: 1e-3), 2)(np.zeros((2, 5), np.float32), None, starts(2))


@pytest.mark.parametrize("exact", [True, False])
def test_an_output_that_is_not_a_number_is_refused(exact: bool) -> None:
    """A comparison would make an action of it."""
    policy = policy_for()
    policy.action_net.bias.data[1] = np.nan

    with pytest.raises(SpaceError, match=r"the policy's output in row 0 is not a number: \[.*nan.*\]"):
        actor_for(policy, 2, exact=exact)(samples(VECTOR, 2), None, starts(2))


def test_acting_does_not_switch_a_training_policy_s_layers_on() -> None:
    """Dropout is for training; the mode is as before afterwards."""
    policy = policy_for(features_extractor_class=Dropping)
    policy.train()
    actor = actor_for(policy, exact=False)

    acts, _ = actor(samples(VECTOR, 4), None, starts(4))

    assert np.array_equal(acts, actor(samples(VECTOR, 4), None, starts(4))[0])
    assert policy.training
    assert policy.features_extractor.layer.training


class Dropping(Deeper):
    """Forgets half of what it sees, in training."""

    def forward(self, observations: Any) -> torch.Tensor:
        return nn.functional.dropout(super().forward(observations), training=self.training)


# --- draws ------------------------------------------------------------------------------------------------------


def test_drawn_actions_have_the_policy_s_probabilities() -> None:
    """A thousand draws for the category, the switch and the mean and deviation of the Gaussian."""
    obs = np.zeros((1000, 4), np.float32)
    logits = torch.tensor([0.0, 1.0, 2.0])

    category = policy_for()
    category.action_net.bias.data = logits
    category.action_net.weight.data.zero_()
    drawn, _ = actor_for(category, 1000, deterministic=False)(obs, None, starts(1000))
    np.testing.assert_allclose(np.bincount(drawn) / 1000, logits.softmax(0), atol=0.05)

    switch = policy_for(action_space=spaces.MultiBinary(1))
    switch.action_net.bias.data = torch.tensor([1.0])
    switch.action_net.weight.data.zero_()
    drawn, _ = actor_for(switch, 1000, deterministic=False)(obs, None, starts(1000))
    assert drawn.mean() == pytest.approx(1 / (1 + np.exp(-1)), abs=0.05)

    gaussian = policy_for(action_space=spaces.Box(-99, 99, (1,)), log_std_init=np.log(2.0))
    gaussian.action_net.bias.data = torch.tensor([5.0])
    gaussian.action_net.weight.data.zero_()
    drawn, _ = actor_for(gaussian, 1000, deterministic=False)(obs, None, starts(1000))
    assert drawn.mean() == pytest.approx(5.0, abs=0.2)
    assert drawn.std() == pytest.approx(2.0, abs=0.2)


@pytest.mark.parametrize("n_steps", [1, 64, 65, 200])
@pytest.mark.parametrize("draw", [draw_gumbel, draw_normal, draw_uniform])
def test_noise_drawn_in_blocks_is_what_single_draws_give(draw: Draw, n_steps: int) -> None:
    noise = EpisodeNoise(EpisodeStreams(0, "x"), draw)
    noise.begin(1, seed=5)
    alone = generator(5, "x")

    together = np.stack([noise.rows(2, 3)[1] for _ in range(n_steps)])

    assert np.array_equal(together, np.stack([draw(alone, (3,)) for _ in range(n_steps)]))


def test_noise_begins_anew_with_an_episode_and_goes_on_elsewhere() -> None:
    noise = EpisodeNoise(EpisodeStreams(0, "x"), draw_uniform)
    first = np.stack([noise.rows(2, 1) for _ in range(100)])
    again = EpisodeNoise(EpisodeStreams(0, "x"), draw_uniform)
    for _ in range(7):
        again.rows(2, 1)
    again.begin(0, seed=5)
    second = np.stack([again.rows(2, 1) for _ in range(93)])

    assert np.array_equal(second[:, 1], first[7:, 1])
    assert second[:, 0, 0].tolist() == generator(5, "x").random(93).tolist()


@pytest.mark.parametrize("name", ["wide", "with state-dependent noise", "SB3's own", "SAC"])
def test_draws_in_one_batch_follow_the_seed_and_say_that_they_follow_no_episode(name: str) -> None:
    torch.manual_seed(0)
    policy = POLICIES[name]()
    obs = samples(VECTOR, 4)

    def draws(seed: int) -> list[Any]:
        actor = actor_for(policy, deterministic=False, exact=False, seed=seed)
        return [actor(obs, None, starts(4))[0].tolist() for _ in range(3)]

    assert draws(1) == draws(1)
    assert draws(1) != draws(2)
    assert not actor_for(policy, deterministic=False, exact=False).seeded


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("name", ["wide", "with state-dependent noise", "SB3's own", "SAC"])
def test_acting_leaves_the_global_generators_and_the_training_mode_alone(name: str, exact: bool) -> None:
    policy = POLICIES[name]()
    model = policy.policy if hasattr(policy, "policy") else policy
    model.set_training_mode(True)
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].tolist()  # type: ignore[index]  # a tuple

    actor_for(policy, deterministic=False, exact=exact)(samples(VECTOR, 4), None, starts(4))

    assert torch.equal(torch.get_rng_state(), torch_state)
    assert np.random.get_state()[1].tolist() == numpy_state  # type: ignore[index]  # a tuple
    assert model.training


def test_environments_draw_from_streams_of_their_own() -> None:
    policy = policy_for(action_space=spaces.Box(-99, 99, (2,)))
    obs = np.zeros((3, 4), np.float32)

    acts, _ = actor_for(policy, 3, deterministic=False)(obs, None, starts(3))

    assert len(np.unique(acts[:, 0])) == 3


def test_evaluation_does_not_move_normalisation_statistics() -> None:
    """E-1: the count after acting is the count before."""
    policy = policy_for(features_extractor_kwargs={"normalize": True})
    policy.train()
    policy.evaluate_actions(torch.randn(10, 4), torch.zeros(10))
    before = policy.features_extractor.norm.count.clone()

    for deterministic in (True, False):
        for exact in (True, False):
            actor_for(policy, deterministic=deterministic, exact=exact)(samples(VECTOR, 4), None, starts(4))

    assert policy.features_extractor.norm.count == before


# --- random -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_envs", [1, 2, 5])
@pytest.mark.parametrize("n_keys", [1, 2, 3])
def test_no_policy_draws_one_random_action_for_each_environment(n_keys: int, n_envs: int) -> None:
    """D-3, BUG-06: the number of keys of a Dict observation is not the number of environments."""
    env = DictObs(n_keys)
    actor = actor_for(None, n_envs, observation_space=env.observation_space, action_space=env.action_space)

    acts, _ = actor(samples(env.observation_space, n_envs), None, starts(n_envs))

    assert acts.shape == (n_envs,)


@pytest.mark.parametrize("name", ACTION_SPACES)
def test_random_actions_are_members_and_follow_the_episode_s_seed(name: str) -> None:
    space = ACTION_SPACES[name]

    def draw(n: int) -> np.ndarray:
        actor = UniformActor(space)
        for env_index in range(n):
            actor.begin_episode(env_index, 50 + env_index)
        return actor(np.zeros((n, 1)), None, starts(n))[0]

    assert all(space.contains(np.asarray(act)) for act in draw(4))
    assert np.array_equal(draw(4)[:2], draw(2))


def test_random_actions_leave_the_caller_s_space_alone() -> None:
    space = spaces.Discrete(1000, seed=3)
    expected = spaces.Discrete(1000, seed=3).sample()

    UniformActor(space)(np.zeros((5, 1)), None, starts(5))

    assert space.sample() == expected


# --- callables --------------------------------------------------------------------------------------------------


def test_a_callable_is_called_with_all_environments_and_its_actions_are_clipped() -> None:
    seen = []

    def far_out(obs: Any, state: Any, episode_start: np.ndarray) -> tuple[Any, Any]:
        seen.append((obs.shape, state, episode_start.shape))
        return torch.full((3, 2), 7.0), "next"

    acts, state = actor_for(far_out, 3, action_space=BOX)(np.zeros((3, 4)), None, starts(3))

    assert seen == [((3, 4), None, (3,))]
    assert acts.tolist() == [[1.0, 1.0]] * 3
    assert state == "next"


@pytest.mark.parametrize(
    ("gives", "told"),
    [
        ((np.zeros(2, int), None), r"actions of shape \(2,\) for 3 environments"),
        ((np.array([0, 1, 5]), None), r"row 2, \[5\], is not in Discrete\(3\)"),
    ],
)
def test_wrong_actions_of_a_callable_are_refused(gives: Any, told: str) -> None:
    with pytest.raises(SpaceError, match=told):
        actor_for(lambda obs, state, start: gives, 3)(np.zeros((3, 4)), None, starts(3))


def test_a_callable_that_returns_no_pair_is_refused() -> None:
    with pytest.raises(TypeError, match="expected the pair"):
        actor_for(lambda obs, state, start: np.zeros(3), 3)(np.zeros((3, 4)), None, starts(3))


def test_an_actor_is_taken_as_it_is() -> None:
    actor = UniformActor(THREE)

    assert actor_for(actor) is actor


def test_what_is_no_policy_is_refused() -> None:
    with pytest.raises(TypeError, match=r"a callable \(obs, state, episode_start\).*got a int"):
        actor_for(3)


# --- SB3's algorithms -------------------------------------------------------------------------------------------


def test_an_algorithm_acts_by_its_policy() -> None:
    model = PPO("MlpPolicy", DummyVecEnv([Len]), n_steps=8, batch_size=8, device="cpu")
    obs = np.zeros((1, 1), np.float32)

    acts, _ = actor_for(model, 1)(obs, None, starts(1))

    assert acts.tolist() == model.predict(obs, deterministic=True)[0].tolist()


def test_an_algorithm_that_explores_by_itself_is_not_called_reproducible() -> None:
    model = DQN("MlpPolicy", DummyVecEnv([Len]), device="cpu", buffer_size=10)

    assert actor_for(model, 1, deterministic=True).seeded
    assert not actor_for(model, 1, deterministic=False).seeded


def test_normalisation_that_an_algorithm_learned_under_is_applied_and_not_updated() -> None:
    """E-1: ignored statistics give a low score, and updating them a moving one."""
    venv: Any = VecNormalize(DummyVecEnv([Len]))
    model = PPO("MlpPolicy", venv, n_steps=8, batch_size=8, device="cpu")
    model.learn(32)
    obs = np.array([[3.0]], np.float32)
    count = venv.obs_rms.count

    def seen_by_network(**options: Any) -> float:
        seen: list[np.ndarray] = []
        hook = model.policy.features_extractor.register_forward_hook(
            lambda m, given, out: seen.append(given[0].numpy())
        )
        actor_for(model, 1, **options)(obs, None, starts(1))
        hook.remove()
        return float(seen[0].item())

    assert seen_by_network() == pytest.approx(venv.normalize_obs(obs).item())
    assert seen_by_network(observations_normalized=True) == 3.0
    assert venv.obs_rms.count == count


def test_a_recurrent_policy_keeps_a_state_for_each_environment() -> None:
    """The state of one row is not that of another, whichever episode starts."""

    class RecurrentActorCriticPolicy(MimeticPolicy):
        def predict(
            self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = False
        ) -> Any:
            steps = np.where(episode_start, 0, np.zeros(len(observation), int) if state is None else state[0])
            return steps % 3, (steps + 1,)

    for exact in (True, False):
        actor = actor_for(RecurrentActorCriticPolicy(VECTOR, THREE, net_arch=[4]), 2, exact=exact)
        state, told = None, []
        for start in ([True, True], [False, False], [False, True], [False, False]):
            acts, state = actor(samples(VECTOR, 2), state, np.array(start))
            told.append(acts.tolist())

        assert actor.recurrent
        assert told == [[0, 0], [1, 1], [2, 0], [0, 1]]


# --- spaces -----------------------------------------------------------------------------------------------------


def test_a_policy_for_other_observations_is_refused() -> None:
    with pytest.raises(SpaceError, match=r"does not fit the environment.*shape \(4,\) is not shape \(5,\)"):
        actor_for(policy_for(), observation_space=spaces.Box(-1, 1, (5,)))


def test_a_policy_for_other_actions_is_refused() -> None:
    with pytest.raises(SpaceError, match=r"its action space is Discrete\(3\), the environment's Discrete\(2\)"):
        actor_for(policy_for(), action_space=spaces.Discrete(2))


def test_bounds_of_observations_may_differ() -> None:
    """They differ between versions of one environment."""
    actor_for(policy_for(), observation_space=spaces.Box(-5, 5, (4,), np.float32))


def test_a_policy_for_swapped_channels_is_refused_with_a_hint() -> None:
    policy = policy_for(spaces.Box(0, 255, (8, 6, 3), np.uint8))

    with pytest.raises(SpaceError, match="channels first in one and last in the other"):
        actor_for(policy, observation_space=spaces.Box(0, 255, (3, 8, 6), np.uint8))


def test_sb3_s_image_policy_takes_what_the_environment_gives() -> None:
    """BC-2: SB3 wraps image environments itself, so its policies say channels first of environments that say last."""
    policy = ActorCriticPolicy(spaces.Box(0, 255, (3, 8, 6), np.uint8), THREE, lambda _: 1e-3)
    last = spaces.Box(0, 255, (8, 6, 3), np.uint8)

    acts, _ = actor_for(policy, 2, observation_space=last)(samples(last, 2), None, starts(2))

    assert acts.shape == (2,)
