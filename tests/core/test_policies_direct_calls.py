"""A module that is called without torch's detours does what it does when it is called: same numbers, same traces."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

from mimetic.policies.direct_calls import direct_calls
from mimetic.policies.structure import structure_of
from mimetic.policies.torch_network import TorchNetwork
from some_spaces import THREE, VECTOR, Space, samples

WIDTH = 4


def rows(n: int = 6) -> torch.Tensor:
    return torch.randn(n, WIDTH, generator=torch.Generator().manual_seed(1))


def draw(stream: np.random.Generator, n: int) -> torch.Tensor:
    return torch.from_numpy(stream.standard_normal((n, WIDTH), np.float32))


def direct_call_of(module: nn.Module) -> Any:
    """Return what is called instead of a module in evaluation mode."""
    (call,) = direct_calls([module.eval()], draw)
    return call


class Norm(nn.Module):
    """A layer, with one of torch's in it."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.linear = nn.Linear(WIDTH, WIDTH)
        self.act = nn.Tanh()
        self.scale = 0.5

    def forward(self, x: Any) -> Any:
        return self.act(self.linear(self.norm(x))) * self.scale


class Nested(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Norm(), nn.Sequential(Norm(), nn.ELU(), nn.Sequential(nn.Linear(WIDTH, 3)))

    def forward(self, x: Any) -> Any:
        return self.second(self.first(x) + x)


class Derived(Norm):
    def forward(self, x: Any) -> Any:
        return super().forward(x) + 1


class Listed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Norm(), nn.Linear(WIDTH, WIDTH)])
        self.heads = nn.ModuleDict({"a": nn.Linear(WIDTH, 2), "b": nn.Linear(WIDTH, 1)})

    def forward(self, x: Any) -> Any:
        for number, layer in enumerate(self.layers):
            x = layer(x) + number
        return torch.cat([head(x) for head in self.heads.values()] + [self.layers[0](x)], dim=1)


class OwnSequence(nn.Sequential):
    """Asks operators of itself."""

    def forward(self, x: Any) -> Any:
        for layer in self:
            x = layer(x)
        return self[0](x) * len(self)


class WithParameters(nn.Module):
    """Looks into its layers."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.offset = nn.Linear(WIDTH, WIDTH, bias=False), nn.Parameter(torch.ones(WIDTH))
        self.register_buffer("mean", torch.full((WIDTH,), 0.25))

    def forward(self, x: Any) -> Any:
        assert isinstance(self, WithParameters)
        assert isinstance(self.linear, nn.Linear)
        return self.helper(x @ self.linear.weight + self.linear(x)) - self.mean

    def helper(self, x: Any) -> Any:
        return self.linear(x) + self.offset


class InPlace(nn.Module):
    """Heeds not what its activation returns."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.act = nn.Linear(WIDTH, WIDTH), nn.ReLU(inplace=True)

    def forward(self, x: Any) -> Any:
        x = self.linear(x)
        self.act(x)
        return x


class ByClass(nn.Module):
    """Asks for the type of a layer, which a stand-in cannot pretend to have."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        return self.linear(x) if type(self.linear) is nn.Linear else x


class Drawing(Norm):
    def forward(self, x: Any) -> Any:
        return super().forward(x) + torch.rand_like(x)


class Uncopyable(Norm):
    def __deepcopy__(self, memo: Any) -> Any:
        raise RuntimeError("there is but one")


def batch_norm() -> nn.Module:
    layers = nn.Sequential(nn.BatchNorm1d(WIDTH), nn.Dropout(0.5), nn.GELU(), nn.Softmax(dim=1))
    layers(rows())
    return layers


def normed_weights() -> Any:
    module: Any = Norm()
    module.linear = weight_norm(module.linear)
    return module


SEEN_THROUGH: dict[str, Callable[[], nn.Module]] = {
    "layers": Norm,
    "nested": Nested,
    "derived": Derived,
    "lists": Listed,
    "a sequence of its own": lambda: OwnSequence(Norm(), nn.Linear(WIDTH, WIDTH)),
    "parameters": WithParameters,
    "in place": InPlace,
    "modes": batch_norm,
    "parametrised": normed_weights,
}
AS_THEY_ARE: dict[str, Callable[[], nn.Module]] = {"class": ByClass, "drawing": Drawing, "uncopyable": Uncopyable}


@pytest.mark.parametrize("name", SEEN_THROUGH)
def test_a_module_of_somebody_s_own_gives_the_same_bits(name: str) -> None:
    torch.manual_seed(0)
    module = SEEN_THROUGH[name]()
    call = direct_call_of(module)

    assert call is not module
    with torch.no_grad():
        assert torch.equal(call(rows()), module(rows()))


@pytest.mark.parametrize("name", AS_THEY_ARE)
def test_what_would_do_something_else_is_called_as_it_is(name: str) -> None:
    module = AS_THEY_ARE[name]()

    assert direct_call_of(module) is module


def test_torch_s_detour_is_avoided(monkeypatch: pytest.MonkeyPatch) -> None:
    """No layer of them is called as a module."""
    calls = [direct_call_of(SEEN_THROUGH[name]()) for name in ("layers", "nested", "derived", "lists", "in place")]
    monkeypatch.setattr(nn.Module, "_call_impl", None)

    with torch.no_grad():
        assert all(call(rows()).isfinite().all() for call in calls)
        with pytest.raises(TypeError):
            Norm()(rows())


def test_modules_that_hooks_look_at_are_called_as_they_are() -> None:
    inside, around = Nested(), Nested()
    inside.first.linear.register_forward_hook(lambda module, given, result: 2 * result)
    around.register_forward_pre_hook(lambda module, given: None)

    assert direct_call_of(inside) is inside
    assert direct_call_of(around) is around


def test_large_layers_are_not_copied() -> None:
    module = nn.Sequential(Norm(), nn.Linear(WIDTH, 30_000))

    assert direct_call_of(module) is module


def test_parameters_and_attributes_are_those_of_now() -> None:
    module: Any = Norm()
    call = direct_call_of(module)
    with torch.no_grad():
        module.linear.weight = nn.Parameter(torch.zeros(WIDTH, WIDTH))
        module.linear.bias.fill_(0.3)
        module.scale = 2.0

        assert torch.allclose(call(rows()), torch.full((6, WIDTH), 2 * np.tanh(0.3)))


class Remembering(Norm):
    def __init__(self) -> None:
        super().__init__()
        self.n_calls, self.spare = 0, nn.Identity()

    def forward(self, x: Any) -> Any:
        self.n_calls += 1
        if self.n_calls == 3:
            self.act = nn.ReLU()  # type: ignore[assignment]  # it changes its mind
            del self.spare
        self.last = super().forward(x)
        return self.last


def test_what_a_module_writes_down_is_written_down_in_it() -> None:
    module = Remembering()
    call = direct_call_of(module)
    assert module.n_calls == 0

    with torch.no_grad():
        results = [call(rows()) for _ in range(3)]

    assert module.n_calls == 3
    assert module.last is results[-1]
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[2], module.linear(module.norm(rows())).relu() * 0.5)  # by the layer that came
    assert not hasattr(module, "spare")


def test_training_mode_is_the_module_s_own() -> None:
    module = nn.Sequential(nn.Dropout(0.5), nn.Identity())
    call = direct_call_of(module)

    module.train()

    assert not torch.equal(call(rows()), rows())


# --- in a policy ----------------------------------------------------------------------------------------------------


class Surprising(BaseFeaturesExtractor):
    """Meets what no trial has met."""

    def __init__(self, observation_space: Space, error: type[Exception] | None = None) -> None:
        super().__init__(observation_space, WIDTH)
        self.norm, self.error = nn.LayerNorm(WIDTH), error

    def forward(self, x: Any) -> Any:
        if x[0, 0] == 0.125:
            if self.error is not None:
                raise self.error("not with me")
            return self.norm(x) * type(self).factor()
        return self.norm(x)

    @staticmethod
    def factor() -> float:
        return 3.0


class OwnLayers(nn.Module):
    """In the place of SB3's MlpExtractor."""

    latent_dim_pi = latent_dim_vf = WIDTH

    def __init__(self) -> None:
        super().__init__()
        self.actor, self.critic = Norm(), nn.Identity()

    def forward(self, x: Any) -> Any:
        return self.forward_actor(x), self.forward_critic(x)

    def forward_actor(self, x: Any) -> Any:
        return self.actor(x)

    def forward_critic(self, x: Any) -> Any:
        return self.critic(x)


class Layered(ActorCriticPolicy):
    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor: Any = OwnLayers()


def network_of(kind: type[ActorCriticPolicy] = ActorCriticPolicy, **options: Any) -> TorchNetwork:
    torch.manual_seed(0)
    policy = kind(
        VECTOR, THREE, lambda _: 1e-3, features_extractor_class=Surprising, features_extractor_kwargs=options
    ).eval()
    structure = structure_of(policy)
    assert structure is not None
    return TorchNetwork(structure, exact=False)


def observation(first: float) -> Any:
    obs = samples(VECTOR, 2)
    obs[0, 0] = first
    return obs


def test_where_a_stand_in_fails_the_layers_are_called_as_they_are() -> None:
    """``type(self)`` is not the module's class there, which no trial shows in a branch that it does not take."""
    network = network_of()
    policy: Any = network._structure.policy
    assert network._direct is not network._steps

    for first in (0.5, 0.125, 0.5):
        expected = policy.get_distribution(torch.from_numpy(observation(first))).distribution
        outputs = torch.from_numpy(network(observation(first)))
        assert torch.allclose(torch.log_softmax(outputs, dim=1), expected.logits, atol=1e-6)


def test_a_method_of_a_policy_s_own_layers_is_called_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    network = network_of(Layered)
    policy: Any = network._structure.policy
    with torch.no_grad():
        expected = policy.action_net(policy.mlp_extractor.forward_actor(policy.features_extractor(rows())))
    monkeypatch.setattr(nn.Module, "_call_impl", None)

    assert np.array_equal(network(rows().numpy()), expected.numpy())


@pytest.mark.parametrize("error", [None, ArithmeticError])
@pytest.mark.parametrize("before", [True, False])
def test_the_gradient_mode_is_put_back(before: bool, error: type[Exception] | None) -> None:
    """After a policy's own error, too, which comes through as it is."""
    network = network_of(error=error)
    with torch.set_grad_enabled(before):
        if error is None:
            network(observation(0.125))
        else:
            with pytest.raises(ArithmeticError, match="not with me"):
                network(observation(0.125))

        assert torch.is_grad_enabled() == before
