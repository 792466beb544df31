"""A price list may lack a type: it is then neither bought nor a reason to fail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headroom.domain.catalog import PriceTable, catalogue_prices
from headroom.domain.decision import Act, Reason, decide
from headroom.domain.resources import Configuration, VolumeType
from tests.builders import decision_input, gp2, gp3, io, policy, starved_gp3, volume

EVERY = tuple(catalogue_prices("us-east-1").gib)
ORIGINS = (gp2(400), gp3(400), io(VolumeType.IO1, 400, 3_000), io(VolumeType.IO2, 400, 3_000))


def lacking(*kinds: VolumeType) -> PriceTable:
    """us-east-1's prices without those types."""
    table = catalogue_prices("us-east-1")
    return replace(
        table,
        gib={kind: usd for kind, usd in table.gib.items() if kind not in kinds},
        iops={kind: usd for kind, usd in table.iops.items() if kind not in kinds},
    )


@pytest.mark.parametrize("origin", ORIGINS, ids=str)
@pytest.mark.parametrize("missing", EVERY)
def test_a_type_without_a_price_is_never_proposed(
    origin: Configuration, missing: VolumeType
) -> None:
    seen = starved_gp3(vol=volume(origin))
    decision = decide(decision_input(seen, rules=policy(types=EVERY), prices=lacking(missing)))
    if origin.volume_type is missing:
        assert not isinstance(decision.answer, Act)
        assert decision.answer.reason is Reason.PRICE_UNKNOWN
    assert missing not in {j.plan.target.volume_type for j in decision.judgements}
