"""Records in an account's own tables, for `audit` and `explain`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import boto3
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from headroom.adapters.ledger import DynamoLedger, SealCheck, Sealer
from headroom.cli.sources.account import NO_CREDENTIALS, opened
from headroom.cli.sources.options import DEFAULT_STACK, RecordsOptions
from headroom.cli.sources.outputs import not_found, outputs_of, stack_of
from headroom.cli.sources.records import Source
from headroom.cli.terminal.problems import BadRequest, Problem
from headroom.domain.state import Record, StopState
from headroom.ports import ReadFailed


def tables(where: RecordsOptions) -> Source:
    """Open the records of the account that `where` names; raises BadRequest, Problem."""
    session, url, now = opened(
        region=where.region, profile=where.profile, endpoint_url=where.endpoint_url,
        local=where.local,
    )  # fmt: skip
    region = session.region_name
    if region is None:
        raise BadRequest("No AWS Region is set: give --region, or --file for a demo's records.")
    try:
        account = session.client("sts", endpoint_url=url).get_caller_identity()
        table, state, key = _discover(session, where, url)
        client = session.client("dynamodb", endpoint_url=url)
    except NoCredentialsError:
        raise Problem(NO_CREDENTIALS) from None
    except (BotoCoreError, ClientError) as problem:
        raise not_found(problem, where.stack or DEFAULT_STACK, region) from None
    ledger = DynamoLedger(
        client,
        records_table=table,
        state_table=state or table,  # read only for what is stopped, where it is known
        account_id=account["Account"],
        region=region,
    )
    sealer = None if key is None else Sealer(session.client("kms", endpoint_url=url), key)
    return Source(
        check_seals=None if sealer is None else partial(_check_seals, ledger, sealer),
        records=ledger, name=table, account_id=account["Account"], region=region,
        now=now, events=ledger.event_records, stop_state=lambda: None if state is None else _stops(ledger),
    )  # fmt: skip


def _discover(
    session: boto3.Session, where: RecordsOptions, url: str | None
) -> tuple[str, str | None, str | None]:
    """Names of the records table and, if the stack has them as outputs, of the state table and the seals' key."""
    if where.records_table is not None:
        return where.records_table, None, None
    stack = where.stack or DEFAULT_STACK
    formation = session.client("cloudformation", endpoint_url=url)
    found = formation.describe_stacks(StackName=stack_of(stack))["Stacks"][0]
    listed = {o["OutputKey"]: str(o["OutputValue"]) for o in found.get("Outputs", [])}
    outputs = outputs_of(listed, stack).values
    return outputs["RecordsTable"], outputs["StateTable"], outputs.get("SealKeyArn")


def _check_seals(ledger: DynamoLedger, sealer: Sealer, chain: Sequence[Record]) -> SealCheck:
    return sealer.check(chain, ledger.seals(chain[0].decision_id))


def _stops(ledger: DynamoLedger) -> StopState | None:
    with suppress(ReadFailed):
        return ledger.stop_state()
    return None
