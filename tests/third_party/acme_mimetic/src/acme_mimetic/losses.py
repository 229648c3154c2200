"""The focal loss."""

from collections.abc import Callable

import torch

from acme_mimetic.config import FocalConfig
from mimetic import LossContext, LossInputs


def build(config: FocalConfig, context: LossContext) -> Callable[[LossInputs], torch.Tensor]:
    """Build ``-mean((1 - p)^gamma * log p)`` with p the probability of the demonstrated action.

    Source: Lin et al., "Focal Loss for Dense Object Detection", 2017, https://arxiv.org/abs/1708.02002
    """

    def focal(inputs: LossInputs) -> torch.Tensor:
        log_prob = inputs.log_prob
        return -((1 - log_prob.exp()).clamp(min=0) ** config.gamma * log_prob).mean()

    return focal
