"""Hooks of mimetic_sources."""

from collections.abc import Iterator

from mimetic import DataSourceEntry, hookimpl

MIMETIC_API = (1, 0)


@hookimpl
def mimetic_data_sources() -> Iterator[DataSourceEntry]:
    """Offer files, arrays and the shipped demonstrations."""
    yield DataSourceEntry(
        name="native",
        config="mimetic_sources.config:NativeConfig",
        factory="mimetic_sources.native:build",
        summary="A dataset that mimetic wrote: a file, or a folder of files with an index",
        suffixes=(".safetensors",),
    )
    yield DataSourceEntry(
        name="npz",
        config="mimetic_sources.config:NpzConfig",
        factory="mimetic_sources.npz:build",
        summary="Columns in an .npz archive, those of the reference library included, without unpickling",
        suffixes=(".npz",),
    )
    yield DataSourceEntry(
        name="arrays",
        config="mimetic_sources.config:ArraysConfig",
        factory="mimetic_sources.arrays:build",
        summary="Arrays, trajectories or a function that makes them, from a Python file or module",
    )
    yield DataSourceEntry(
        name="demo",
        config="mimetic_sources.config:DemoConfig",
        factory="mimetic_sources.demo.source:build",
        summary="The shipped demonstrations: a scripted controller on CartPole-v1",
    )
