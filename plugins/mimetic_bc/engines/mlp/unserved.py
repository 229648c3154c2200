"""How does a part of this engine say that it cannot serve a job?"""


class UnservedError(Exception):
    """The job is one for another engine. Its message is the reason."""
