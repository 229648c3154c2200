"""One run, from run file to result, in the order in which things happen."""

import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch

from mimetic.algorithms import Report, Trainer
from mimetic.config import RunConfig, RunFile, dump_run_config, load_run_file, run_config
from mimetic.hookspecs import AlgorithmContext, LossContext, PolicyContext
from mimetic.logs import HierarchicalLogger, open_loggers
from mimetic.losses import build_terms
from mimetic.plugins import naming_the_provider, registry
from mimetic.policies import build_policy
from mimetic.rollout import undisturbed
from mimetic.run.evaluations import Evaluations, check_evaluation
from mimetic.run.inputs import Inputs, check_policy, gather
from mimetic.run.result import RunInfo, RunResult
from mimetic.run.surroundings import find_device, torch_threads
from mimetic.rundir import Manifest, RunDir, describe_machine, git_state, installed_versions, plugin_records
from mimetic.seeding import derive_seed
from mimetic.storage import save_policy


def execute(
    config: RunConfig | RunFile | Mapping[str, object] | str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
) -> RunResult:
    """Train, evaluate and save the policy that a run file describes.

    ``config`` is a run file's path, a mapping of the same form, or what was made of either. ``out`` is the folder of
    the run, new or empty; without it ``runs/<name>``, ``runs/<name>-2``, ... below the working folder.

    Raises:
        ConfigError: the run file is wrong; holds every fault.
        TargetExistsError: ``out`` is not empty.
        MimeticError: a plugin, the data, the spaces or the environment are wrong.
    """
    run_file = _as_run_file(config)
    run_dir = RunDir.create(out, run_file.config.name)
    try:
        with torch_threads(run_file.config.threads), undisturbed(None, run_file.config.seed), naming_the_provider():
            return _execute(run_file.config, run_file.base_dir, run_dir)
    finally:
        run_dir.discard_if_empty()


def _execute(config: RunConfig, base_dir: Path, run_dir: RunDir) -> RunResult:
    device = find_device(config.device)
    check_evaluation(config)
    inputs = gather(config, base_dir)
    policy = build_policy(
        config.policy,
        PolicyContext(
            observation_space=inputs.spaces.observation,
            action_space=inputs.spaces.action,
            device=device,
            seed=derive_seed(config.seed, "policy"),
            base_dir=base_dir,
        ),
    )
    check_policy(config.policy.name, policy, inputs.spaces)
    losses = build_terms(config.losses, LossContext(action_space=inputs.spaces.action, device=device))

    run = RunInfo(config.name, run_dir.path, config.seed, config)
    run_dir.write_text("config.yaml", dump_run_config(config))
    manifest = Manifest(run_dir, _facts(config, base_dir, device, inputs))
    with manifest.kept(), open_loggers(config.loggers, run_dir.path) as logger:
        logger.info(f"run folder {run_dir.path}, device {device}, torch threads {torch.get_num_threads()}")
        trainer: Trainer = config.algorithm.build(
            AlgorithmContext(
                policy=policy,
                losses=losses,
                demonstrations=inputs.demonstrations,
                seed=config.seed,
                device=device,
                logger=logger,
            )
        )
        manifest.add(trainer.facts)
        with _observed(run), naming_the_provider():
            result = _learn(trainer, run, run_dir, logger)
        manifest.add({"n_steps": result.n_steps, "n_epochs": result.n_epochs})

    registry().notify("mimetic_run_finished", run=run, result=result)
    return result


def _learn(trainer: Trainer, run: RunInfo, run_dir: RunDir, logger: HierarchicalLogger) -> RunResult:
    """Train to the end, save the policy, evaluate it."""
    evaluations = Evaluations(run, trainer.policy, logger)
    try:
        n_steps, n_epochs = _train(trainer, run, evaluations, logger)
    except KeyboardInterrupt:
        weights = run_dir.file("interrupted.safetensors")
        save_policy(trainer.policy, weights, env=run.config.env)
        logger.warn(f"interrupted; the weights as they were lie in {weights}")
        raise
    policy_path = run_dir.file("policy.safetensors")
    save_policy(trainer.policy, policy_path, env=run.config.env)
    evaluation = evaluations.at_the_end(n_epochs, n_steps)
    if evaluation is not None:
        run_dir.write_json("evaluation.json", evaluation.as_dict())
        if evaluation.interrupted:
            raise KeyboardInterrupt
    return RunResult(run_dir.path, trainer.policy, policy_path, evaluation, n_steps, n_epochs)


def _train(trainer: Trainer, run: RunInfo, evaluations: Evaluations, logger: HierarchicalLogger) -> tuple[int, int]:
    """Follow the training to its end; return the optimiser steps and the epochs that were done."""
    n_steps = n_epochs = 0
    reports = trainer.train()
    try:
        for report in reports:
            n_steps, n_epochs = report.step + 1, report.epoch
            if report.values:
                _log(report, logger)
            if report.epoch_ended:
                registry().notify("mimetic_epoch_ended", run=run, report=report)
                evaluations.after_epoch(n_epochs, n_steps)
    finally:
        if isinstance(reports, Generator):
            reports.close()  # whatever training changed around itself is put back now, not when memory is short
    return n_steps, n_epochs


def _log(report: Report, logger: HierarchicalLogger) -> None:
    for key, value in report.values.items():
        logger.record(key, value)
    logger.epoch = report.epoch
    logger.dump(report.step)


@contextmanager
def _observed(run: RunInfo) -> Iterator[None]:
    """Tell the observers that the run starts, and when it fails."""
    registry().notify("mimetic_run_started", run=run)
    try:
        yield
    except BaseException as error:
        registry().notify("mimetic_run_failed", run=run, error=error)
        raise


def _facts(config: RunConfig, base_dir: Path, device: torch.device, inputs: Inputs) -> dict[str, object]:
    """Return what the bytes of the policy depend on."""
    return {
        "name": config.name,
        "seed": config.seed,
        "threads": torch.get_num_threads(),
        "device": str(device),
        "data": [
            {
                "source": name,
                "description": each.description,
                "n_transitions": each.n_transitions,
                "fingerprint": each.fingerprint(),
            }
            for name, each in inputs.sources
        ],
        "plugins": plugin_records(registry()),
        "versions": installed_versions(),
        "machine": describe_machine(),
        "git": git_state(base_dir),
    }


def _as_run_file(config: RunConfig | RunFile | Mapping[str, object] | str | os.PathLike[str]) -> RunFile:
    if isinstance(config, RunFile):
        return config
    if isinstance(config, str | os.PathLike):
        return load_run_file(config)
    if isinstance(config, Mapping):
        config = run_config(config)
    return RunFile(config=config, path=None, base_dir=Path.cwd(), origin={})
