"""Run files: what a run is made of, how it is written, and what is wrong with it.

``component`` is what settings are, ``slots`` where a component stands, ``runfile`` the sections; ``parse``,
``overrides`` and ``load`` lead from text to a validated run, ``resolved``, ``schema`` and ``starter`` back to text.
"""

from mimetic.config.component import ComponentConfig as ComponentConfig, ConfigPath as ConfigPath
from mimetic.config.load import (
    RunFile as RunFile,
    load_run_file as load_run_file,
    run_config as run_config,
    validated as validated,
)
from mimetic.config.resolved import dump_run_config as dump_run_config, show_run_file as show_run_file
from mimetic.config.runfile import (
    EnvConfig as EnvConfig,
    EvaluationConfig as EvaluationConfig,
    RunConfig as RunConfig,
)
from mimetic.config.schema import json_schema as json_schema
from mimetic.config.slots import (
    AlgorithmSlot as AlgorithmSlot,
    Choice as Choice,
    DataSourceSlot as DataSourceSlot,
    EnvWrapperSlot as EnvWrapperSlot,
    LoggerSlot as LoggerSlot,
    LossChoice as LossChoice,
    LossSlot as LossSlot,
    PolicySlot as PolicySlot,
    PolicyWrapperSlot as PolicyWrapperSlot,
    RewardSlot as RewardSlot,
    VenvWrapperSlot as VenvWrapperSlot,
    WeightSchedule as WeightSchedule,
)
from mimetic.config.spec import parse_choice as parse_choice, parse_spec as parse_spec, parse_value as parse_value
from mimetic.config.starter import starter_run_file as starter_run_file
