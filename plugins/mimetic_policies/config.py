"""What can be set about the policies, the gymnasium wrapper and the rewards in a run file?"""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationInfo, create_model, model_validator

from mimetic.config import ComponentConfig, ConfigPath

Width = Annotated[int, Field(ge=1)]
Activation = Literal["tanh", "relu", "leaky_relu", "elu", "gelu", "silu", "sigmoid"]
Layout = Literal["auto", "hwc", "chw"]


# --- policies that learn ----------------------------------------------------------------------------------------


class HeadConfig(ComponentConfig):
    """What the learning policies have in common: everything behind the features of an observation."""

    net_arch: tuple[Width, ...] = (32, 32)
    """The widths of the hidden layers of the actor, and of the critic unless `vf_arch` says otherwise; [] is linear."""

    vf_arch: tuple[Width, ...] | None = None
    """The widths of the critic's hidden layers; null: those of `net_arch`. Behavioural cloning trains no critic."""

    activation: Activation = "tanh"
    """The function after each hidden layer."""

    ortho_init: bool = True
    """Start from orthogonal weights, the action layer's a hundred times smaller; else from torch's defaults."""

    log_std_init: float = 0.0
    """The logarithm of a Gaussian's standard deviation at the start. For Box actions only."""

    squash_output: bool = False
    """Squash Gaussian actions by tanh into the bounds, which must be finite. For Box actions only."""

    use_sde: bool = False
    """Let the deviation depend on the observation (generalised state-dependent exploration). For Box actions only."""


class MlpConfig(HeadConfig):
    """A feed-forward policy over the flattened observation, of any kind that is supported."""

    normalize_obs: bool = False
    """Normalise the input by the running mean and variance of what was trained on; they are saved with the policy."""


class CnnConfig(HeadConfig):
    """A convolutional policy for images: the network of the DQN Nature paper (Mnih et al., 2015)."""

    net_arch: tuple[Width, ...] = ()
    """The widths of layers between the image's features and the action; [] as in the paper."""

    features_dim: Width = 512
    """How many features the convolutions end in."""

    layout: Layout = "auto"
    """Where the channels are: `hwc` last, `chw` first; `auto` reads it off the shape and asks when it is ambiguous."""

    normalize_images: bool = True
    """Divide pixels by 255 when the space's bounds are 0 and 255; other images are taken as they are."""


class MultiInputConfig(HeadConfig):
    """A policy for Dict observations, nested ones too: images by convolutions, all else flattened, side by side."""

    net_arch: tuple[Width, ...] = (64, 64)
    """The widths of the hidden layers of the actor, and of the critic unless `vf_arch` says otherwise; [] is linear."""

    features_dim: Width = 256
    """How many features each image's convolutions end in."""

    layout: Layout = "auto"
    """Where the channels of images are: `hwc` last, `chw` first; `auto` asks when a shape is ambiguous."""

    normalize_images: bool = True
    """Divide pixels by 255 when the space's bounds are 0 and 255."""

    normalize_obs: bool = False
    """Normalise what is no image by the running mean and variance of what was trained on."""


class NetArch(ComponentConfig):
    """The hidden layers of actor and critic."""

    pi: tuple[Width, ...] = (64, 64)
    """The widths of the actor's hidden layers."""

    vf: tuple[Width, ...] = (64, 64)
    """The widths of the critic's hidden layers."""


class ActorCriticConfig(ComponentConfig):
    """stable-baselines3's ActorCriticPolicy, with its own arguments; what rebuilds such a policy from its file."""

    features: Literal["flatten", "nature-cnn", "combined"] = "flatten"
    """The features extractor: FlattenExtractor, NatureCNN or CombinedExtractor."""

    features_dim: Width | None = None
    """How many features each image gives; null: stable-baselines3's default. Not for `flatten`."""

    net_arch: NetArch = NetArch()
    """The hidden layers of actor and critic."""

    activation: Activation = "tanh"
    """The function after each hidden layer."""

    ortho_init: bool = True
    """Start from orthogonal weights."""

    log_std_init: float = 0.0
    """The logarithm of a Gaussian's standard deviation at the start."""

    use_sde: bool = False
    """Generalised state-dependent exploration."""

    full_std: bool = True
    """With `use_sde`: one deviation for each pair of feature and action."""

    use_expln: bool = False
    """With `use_sde`: keep deviations positive by expln instead of exp."""

    squash_output: bool = False
    """With `use_sde`: squash actions by tanh."""

    share_features_extractor: bool = True
    """Actor and critic share the features extractor."""

    normalize_images: bool = True
    """Divide the pixels of images by 255."""

    @model_validator(mode="after")
    def _only_what_is_used(self) -> Self:
        if self.squash_output and not self.use_sde:
            raise ValueError("squash_output needs use_sde: true (the policy `mlp` squashes without)")
        if self.features == "flatten" and self.features_dim is not None:
            raise ValueError("features_dim is for nature-cnn and combined; flatten has as many as the observation")
        return self


class FileConfig(ComponentConfig):
    """A saved policy."""

    path: ConfigPath
    """A policy file, or the folder of a run."""


# --- policies that do not ---------------------------------------------------------------------------------------


class RandomConfig(ComponentConfig):
    """Uniformly random actions."""


class ZeroConfig(ComponentConfig):
    """The action zero, always."""


def _absolute_target(value: object, info: ValidationInfo) -> object:
    """Make the file of ``file.py:name`` absolute; leave ``module:name`` alone."""
    if not isinstance(value, str):
        return value
    target, colon, name = value.rpartition(":")
    if not colon or not target.strip() or not name.strip():
        raise ValueError("expected module:name or file.py:name")
    if not target.endswith(".py"):
        return str(value)
    path = _PATH.validate_python(type(value)(target), context=info.context)
    return f"{path}:{name}"


_PATH: TypeAdapter[Any] = TypeAdapter(ConfigPath)

Target = Annotated[str, BeforeValidator(_absolute_target)]
"""``module:name``, or ``file.py:name`` with a path like any other in a run file."""


class FunctionPolicyConfig(ComponentConfig):
    """A function as a policy."""

    path: Target
    """The function: `module:name`, or `file.py:name`."""

    call: Literal["auto", "single", "batch"] = "auto"
    """`single`: called with one observation, gives one action. `batch`: called with (obs, state, episode_start) of all
    environments, gives (actions, state). `auto`: by how many arguments it takes, one or three."""

    stochastic: bool = False
    """Say that the function draws random numbers of its own: its episodes are then reported without seeds."""


# --- the wrapper and the rewards --------------------------------------------------------------------------------


_WRAPPER_FIELDS: dict[str, Any] = {  # a key called `class` cannot be written as an attribute
    "class": (
        Annotated[str, Field(min_length=1)],
        Field(description="The class: a name in `gymnasium.wrappers`, or `module:Class` for any other."),
    ),
    "kwargs": (
        dict[str, Any],
        Field(
            default_factory=dict,
            description="Arguments of its constructor, behind the environment. Free here; checked when it is built.",
        ),
    ),
}
GymnasiumWrapperConfig = create_model(
    "GymnasiumWrapperConfig",
    __base__=ComponentConfig,
    __module__=__name__,
    __doc__="Any gymnasium wrapper.",
    **_WRAPPER_FIELDS,
)


class ZeroRewardConfig(ComponentConfig):
    """Zero for every transition."""


class FunctionRewardConfig(ComponentConfig):
    """A function as a reward."""

    path: Target
    """The function (obs, acts, next_obs, dones) -> (B,): `module:name`, or `file.py:name`."""
