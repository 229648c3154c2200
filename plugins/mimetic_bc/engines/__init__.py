"""What computes a training step? Engines behind one small interface; the best one that can serve a job is taken.

The choice depends on what is trained, how and where: policy, terms, optimiser, device. Loggers, callbacks and
evaluation never reach this package, so they cannot change what is learned.
"""

from mimetic_bc.engines.autograd import AutogradEngine
from mimetic_bc.engines.choosing import ENGINES, choose_engine, facts_of, in_words
from mimetic_bc.engines.interface import Engine, Job, Measurement
from mimetic_bc.engines.mlp import MlpEngine
from mimetic_bc.engines.precision import choose_precision

__all__ = [
    "ENGINES",
    "AutogradEngine",
    "Engine",
    "Job",
    "Measurement",
    "MlpEngine",
    "choose_engine",
    "choose_precision",
    "facts_of",
    "in_words",
]
