"""Runs one scenario minute by minute, with or without Headroom, and audits the result.

May import `memory`, `scenarios`, `metrics`, `physics`, `awsrules`, `workloads`.
Offers: simulate, simulate_aurora, Result, Change, violations."""

from headroom.proving.simulation.audit import violations
from headroom.proving.simulation.aurora import AuroraResult, simulate_aurora
from headroom.proving.simulation.controller import SCAN_EVERY_S
from headroom.proving.simulation.result import Change, Result, served_rates
from headroom.proving.simulation.run import ACCOUNT, VOLUME_ID, Controller, simulate
from headroom.proving.simulation.storage import AccountVolume, SimulatedStorage, described_volume
