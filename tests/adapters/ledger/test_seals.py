"""Seals with KMS's shapes: what the ledger writes holds, and nothing else does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import boto3
import pytest
from moto import mock_aws

from headroom.adapters.ledger import DynamoLedger, Sealer
from headroom.adapters.tables import RECORDS, STATE, create_table
from headroom.domain.state import Record, broken_link
from headroom.domain.state.records import seal as hashed
from headroom.ports import ReadFailed
from tests.builders import ACCOUNT, NOW, REGION
from tests.contracts.decisions import act, intended

LEASE = NOW.replace(year=NOW.year + 1)


@pytest.fixture
def sealer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sealer]:
    with mock_aws():
        kms = boto3.client("kms", region_name=REGION)
        key = kms.create_key(KeySpec="HMAC_256", KeyUsage="GENERATE_VERIFY_MAC")["KeyMetadata"]
        yield Sealer(kms, key["Arn"])


@pytest.fixture
def client(sealer: Sealer) -> Any:
    client = boto3.client("dynamodb", region_name=REGION)
    client.create_table(**create_table(RECORDS, "records"))
    client.create_table(**create_table(STATE, "state"))
    return client


def ledger(client: Any, sealer: Sealer | None) -> DynamoLedger:
    return DynamoLedger(
        client, records_table="records", state_table="state", account_id=ACCOUNT, region=REGION,
        sealer=sealer,
    )  # fmt: skip


def test_every_record_is_sealed_and_every_seal_holds(client: Any, sealer: Sealer) -> None:
    kept = ledger(client, sealer)
    intended(kept, act(), lease_until=LEASE)
    kept.pause(None, at=NOW, who="alice")
    kept.reject("e1", reason="what", excerpt="{}", at=NOW)
    found = {r.decision_id for r in kept.by_time(since=NOW, until=NOW)}
    assert len(found) == 3
    for name in found:
        chain = kept.chain(name)
        check = sealer.check(chain, kept.seals(name))
        assert check.verified == tuple(record.sequence for record in chain)
        assert (check.missing, check.broken) == ((), ())


def rewritten(chain: tuple[Record, ...]) -> tuple[Record, ...]:
    """The chain with another summary and correct hashes: `broken_link` finds nothing."""
    made: list[Record] = []
    for record in chain:
        made.append(hashed(
            decision_id=record.decision_id, sequence=record.sequence, step=record.step,
            resource=record.resource, at=record.at, outcome=record.outcome, summary="otherwise",
            body=record.body, previous_hash=made[-1].hash if made else record.previous_hash,
            reason=record.reason, price_change_usd=record.price_change_usd,
        ))  # fmt: skip
    return tuple(made)


def test_a_chain_written_anew_with_correct_hashes_does_not_pass(
    client: Any, sealer: Sealer
) -> None:
    kept = ledger(client, sealer)
    intended(kept, act(), lease_until=LEASE)
    chain, seals = kept.chain("d1"), kept.seals("d1")
    forged = rewritten(chain)
    assert broken_link(forged) is None
    assert sealer.check(forged, seals).broken == (0, 1)
    assert sealer.check(forged, {}).missing == (0, 1)
    for bad in ("", "not base64", "AAAA", "A" * 10_000):
        assert sealer.check(chain, {**seals, 1: bad}).broken == (1,)
    swapped = {0: seals[1], 1: seals[0]}
    assert sealer.check(chain, swapped).broken == (0, 1)


def test_a_record_from_before_seals_has_none(client: Any, sealer: Sealer) -> None:
    ledger(client, None).decided(act(), due_at=None)
    later = ledger(client, sealer)
    assert later.seals("d1") == {}
    assert sealer.check(later.chain("d1"), {}).missing == (0,)


def test_what_cannot_be_sealed_is_not_written(client: Any, sealer: Sealer) -> None:
    gone = Sealer(boto3.client("kms", region_name=REGION), "11111111-2222-3333-4444-555555555555")
    kept = ledger(client, gone)
    with pytest.raises(ReadFailed, match="GenerateMac"):
        kept.decided(act(), due_at=None)
    assert kept.chain("d1") == ()


def test_a_record_reads_the_same_with_and_without_a_seal(client: Any, sealer: Sealer) -> None:
    ledger(client, sealer).decided(act("d1"), due_at=None)
    ledger(client, None).decided(act("d2", "vol-2"), due_at=None)
    (one,), (two,) = (ledger(client, None).chain(name) for name in ("d1", "d2"))
    assert broken_link((one,)) is None
    assert replace(one, decision_id="", resource="", body="", summary="", hash="") == replace(
        two, decision_id="", resource="", body="", summary="", hash=""
    )
