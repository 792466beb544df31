"""Reads scenario, trace and test files key by key and reports a mistake in one sentence.

May import nothing of the proving ground.
Offers: Block, BadInput, load_yaml."""

from headroom.proving.inputs.block import YEARS, Block, as_quoted, load_yaml
from headroom.proving.inputs.errors import BadInput
