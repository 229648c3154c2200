"""What is an algorithm, and how do demonstrations of any kind become batches?"""

from mimetic.algorithms.batches import Batch, Batches, Form, ResidentBatches, StreamedBatches, make_batches
from mimetic.algorithms.demonstration_algorithm import DemonstrationAlgorithm
from mimetic.algorithms.training import Report, Trainer

__all__ = [
    "Batch",
    "Batches",
    "DemonstrationAlgorithm",
    "Form",
    "Report",
    "ResidentBatches",
    "StreamedBatches",
    "Trainer",
    "make_batches",
]
