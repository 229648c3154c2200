"""Records as curves for TensorBoard."""

import weakref

from torch.utils.tensorboard import SummaryWriter

from mimetic import LoggerContext, Record, TargetExistsError
from mimetic_loggers.config import TensorboardConfig
from mimetic_loggers.files import required_folder


class TensorboardEvents:
    """A scalar a number and a text a text, each at the record's step; None is left out."""

    def __init__(self, writer: SummaryWriter) -> None:
        """Write by ``writer``."""
        self._writer = writer
        self._closer = weakref.finalize(self, writer.close)

    def write(self, record: Record) -> None:
        """Add a point to the curve of each key."""
        for key, value in record.values.items():
            if isinstance(value, str):
                self._writer.add_text(key, value, record.step)
            elif value is not None:
                self._writer.add_scalar(key, value, record.step)
        if record.epoch is not None:
            self._writer.add_scalar("epoch", record.epoch, record.step)

    def close(self) -> None:
        """Flush and close the event file."""
        self._closer()


def build(config: TensorboardConfig, context: LoggerContext) -> TensorboardEvents:
    """Build the logger ``tensorboard``."""
    folder = required_folder("tensorboard", context.run_dir) / "tensorboard"
    if folder.exists():
        raise TargetExistsError(f"{folder}: the events of another run are there; choose another folder")
    return TensorboardEvents(SummaryWriter(str(folder)))
