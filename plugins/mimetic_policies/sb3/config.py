"""What can be set about policies that stable-baselines3 saved?"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from mimetic.config import ComponentConfig, ConfigPath
from mimetic_policies.config import Activation, NetArch, Width


class Sb3Config(ComponentConfig):
    """A policy that stable-baselines3 saved, or sb3-contrib, rebuilt without running any pickle."""

    path: ConfigPath
    """The zip that `model.save` wrote: PPO, A2C, SAC, TD3, DDPG or DQN, and with sb3-contrib TQC, QR-DQN, TRPO or
    RecurrentPPO, of any release."""

    vecnormalize: Annotated[Literal["none"] | ConfigPath | None, Field(union_mode="left_to_right")] = None
    """The file that `VecNormalize.save` wrote. `none`: observations were not normalised. null: as `none`, but refused
    when the zip shows that they were, or cannot tell and such a file lies beside it."""


class LstmConfig(ComponentConfig):
    """The recurrent layers of a RecurrentPPO policy."""

    hidden_size: Width
    """How many units each layer has."""

    n_layers: Width = 1
    """How many layers there are."""

    critic: Literal["lstm", "linear", "shared"] = "lstm"
    """What the critic has in their place: layers of its own, a linear one, or the actor's."""


class VecNormalizeConfig(ComponentConfig):
    """How observations are normalised by mean and variance, as stable-baselines3's VecNormalize does."""

    clip_obs: Annotated[float, Field(gt=0)] = 10.0
    """Normalised observations are clipped to this many standard deviations."""

    epsilon: Annotated[float, Field(gt=0)] = 1e-8
    """Added to the variance."""

    keys: tuple[str, ...] | None = None
    """Which parts of a Dict are normalised; null when the observation is one array."""


class Sb3NetworkConfig(ComponentConfig):
    """The network of a stable-baselines3 policy; what rebuilds a policy `sb3` that was saved as a policy file."""

    kind: Literal["actor-critic", "sac", "td3", "dqn", "tqc", "qr-dqn", "recurrent-ppo"]
    """The algorithm's kind of policy: `actor-critic` is PPO's and A2C's, `td3` also DDPG's. The last three need
    sb3-contrib."""

    net_arch: NetArch = NetArch()
    """The hidden layers: `pi` of the network that acts, `vf` of a critic beside it (actor-critic, recurrent-ppo)."""

    activation: Activation = "tanh"
    """The function after each hidden layer."""

    features: Literal["flatten", "nature-cnn", "combined"] = "flatten"
    """The features extractor: FlattenExtractor, NatureCNN or CombinedExtractor."""

    features_dim: Width | None = None
    """How many features each image gives; null: stable-baselines3's default."""

    normalize_images: bool = True
    """Divide the pixels of images by 255."""

    share_features_extractor: bool = True
    """Actor and critic share the features extractor (actor-critic, recurrent-ppo)."""

    use_sde: bool = False
    """Generalised state-dependent exploration (actor-critic, recurrent-ppo, sac, tqc)."""

    full_std: bool = True
    """With `use_sde`: one deviation for each pair of feature and action."""

    use_expln: bool = False
    """With `use_sde`: keep deviations positive by expln instead of exp."""

    squash_output: bool = False
    """With `use_sde`: squash actions by tanh (actor-critic, recurrent-ppo; the others always do)."""

    clip_mean: Annotated[float, Field(ge=0)] = 2.0
    """With `use_sde`: the largest mean before squashing; 0: any (sac, tqc)."""

    exploration_rate: Annotated[float, Field(ge=0, le=1)] = 0.0
    """How often a stochastic policy takes a random action (dqn, qr-dqn)."""

    n_quantiles: Width = 200
    """How many quantiles of the return each action has (qr-dqn)."""

    lstm: LstmConfig | None = None
    """The recurrent layers, for recurrent-ppo only."""

    vecnormalize: VecNormalizeConfig | None = None
    """How observations are normalised first; the statistics are kept with the weights."""

    @model_validator(mode="after")
    def _lstm_where_recurrent(self) -> Self:
        if (self.lstm is not None) != (self.kind == "recurrent-ppo"):
            raise ValueError("lstm goes with kind: recurrent-ppo, and with no other")
        return self
