"""The AWS account and Region that a command reads, with their clock."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    EndpointConnectionError,
    NoCredentialsError,
    ProfileNotFound,
    UnknownRegionError,
)

from headroom.account import READS, session_in
from headroom.adapters.callers import prove, sts_url
from headroom.adapters.prices import CataloguePrices, ListedPrices, PriceList
from headroom.cli.sources.local_endpoint import running
from headroom.cli.terminal.problems import BadRequest, Problem
from headroom.clock import utc_now
from headroom.ports import Prices
from headroom.settings import Names
from headroom.wiring import price_list_from

if TYPE_CHECKING:
    import boto3
    from mypy_boto3_cloudwatch import CloudWatchClient
    from mypy_boto3_ec2 import EC2Client

PATIENT = Config(
    connect_timeout=5, read_timeout=60, retries={"mode": "adaptive", "total_max_attempts": 10}
)
"""For long reads, which AWS throttles: adaptive retries slow down."""
LOCAL = ("127.0.0.1", "localhost")
NO_CREDENTIALS = (
    "No AWS credentials found: sign in (`aws sso login`, `aws configure`), or choose a profile "
    "with --profile."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An AWS account and Region, and the current time there."""

    account_id: str
    region: str
    caller: str
    """ARN of the caller."""
    now: datetime
    ec2: EC2Client
    cloudwatch: CloudWatchClient
    prices: Prices
    client: Callable[..., Any]
    """Any other client there, by the name of its service; `config` is its configuration, and `region`
    another Region."""
    price_list: PriceList | None = None
    """AWS's Price List API; None where there is none in USD."""
    proof: Callable[[str], dict[str, str]] | None = None
    """Makes the caller's proof over a request; None where nobody can ask for anything."""
    names: Names = Names()  # noqa: RUF009 - frozen
    """The fixed names of the deployment that is read there."""

    @property
    def is_local(self) -> bool:
        """Whether an endpoint on this machine answers, however it was named."""
        return urlsplit(self.ec2.meta.endpoint_url).hostname in LOCAL


def account(
    *, region: str | None, profile: str | None, endpoint_url: str | None, local: bool,
    databases: bool = False,
) -> Account:  # fmt: skip
    """The account that the options and the AWS environment name; raises BadRequest, Problem.

    With `databases` the price list is asked for storage of RDS too.
    With `local` it is the endpoint that `headroom local up` started here, and its clock counts.
    """
    try:
        session, endpoint_url, now = opened(
            region=region, profile=profile, endpoint_url=endpoint_url, local=local
        )
        if session.region_name is None:
            raise BadRequest("No AWS Region is set: give --region, or set AWS_REGION.")
        asked: dict[str, Any] = {"endpoint_url": endpoint_url, "config": PATIENT}
        sts = session.client("sts", endpoint_url=endpoint_url, config=READS)
        identity = sts.get_caller_identity()
        listed = price_list_from(
            session, region=session.region_name, endpoint_url=endpoint_url, databases=databases
        )
        return Account(
            account_id=identity["Account"],
            region=session.region_name,
            caller=identity["Arn"],
            now=now,
            ec2=session.client("ec2", **asked),
            cloudwatch=session.client("cloudwatch", **asked),
            prices=CataloguePrices() if listed is None else ListedPrices(listed, clock=utc_now),
            client=partial(_client, session, endpoint_url),
            price_list=listed,
            proof=partial(_proof, session, identity["Account"], str(sts.meta.endpoint_url)),
        )
    except NoCredentialsError:
        raise Problem(NO_CREDENTIALS) from None
    except UnknownRegionError:
        raise BadRequest(f"There is no Region {region}; a valid one is us-east-1.") from None
    except (BotoCoreError, ClientError, ValueError) as problem:
        where = "" if endpoint_url is None else f" at {endpoint_url}"
        raise Problem(
            f"The AWS account{where} cannot be read: {problem}{_endpoint(problem)}"
        ) from None


def _endpoint(problem: Exception) -> str:
    """What to do where nothing answers at an endpoint that the environment names."""
    if not isinstance(problem, EndpointConnectionError) or "AWS_ENDPOINT_URL" not in os.environ:
        return ""
    return ". AWS_ENDPOINT_URL is set: unset it, or start the endpoint (`headroom local up`)"


def _client(
    session: Any, endpoint_url: str | None, service: str, config: Config = READS,
    region: str | None = None,
) -> Any:  # fmt: skip
    return session.client(service, endpoint_url=endpoint_url, config=config, region_name=region)


def _proof(session: boto3.Session, account_id: str, sts: str, request: str) -> dict[str, str]:
    return signed(session, request, account_id=account_id, region=str(session.region_name), sts=sts)


def signed(
    session: boto3.Session, request: str, *, account_id: str, region: str, sts: str
) -> dict[str, str]:
    """The caller's proof for the Region's own STS, or for the local endpoint; nothing is sent."""
    credentials = session.get_credentials()
    if credentials is None:
        raise Problem(NO_CREDENTIALS)
    if urlsplit(sts).hostname not in LOCAL:
        sts = sts_url(session.get_partition_for_region(region), region)
    frozen = credentials.get_frozen_credentials()
    return prove(request, frozen, account_id=account_id, region=region, url=sts).as_object()


def opened(
    *, region: str | None, profile: str | None, endpoint_url: str | None, local: bool
) -> tuple[boto3.Session, str | None, datetime]:
    """A session, its endpoint if not AWS's own, and the current time there.

    Raises BadRequest if the profile does not exist, --local is combined with another place, or no
    local endpoint is running.
    """
    if not local:
        try:
            return session_in(region, profile_name=profile), endpoint_url, utc_now()
        except ProfileNotFound as problem:
            why = f"{problem}; `aws configure list-profiles` lists the profiles."
            raise BadRequest(why) from None
    if endpoint_url or profile:
        raise BadRequest(
            "--local selects an endpoint; do not combine it with --endpoint-url or --profile."
        )
    endpoint, now = running()
    return session_in(region or "us-east-1", **endpoint.credentials), endpoint.url, now
