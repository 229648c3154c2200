"""The facts of the component that mimetic_video offers."""

from mimetic.testing import EnvWrapperContract


class TestVideo(EnvWrapperContract):
    name = "video"
