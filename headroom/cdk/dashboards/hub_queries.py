"""The hub's records as a table of Athena, and the questions that it answers."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Aws, RemovalPolicy
from aws_cdk import aws_athena as athena
from aws_cdk import aws_glue as glue
from aws_cdk import aws_s3 as s3
from constructs import Construct

TABLE = "records"
RESULTS = "athena/"
MOST_READ = 100 * 1024**3
"""Bytes that one query may read: Athena takes $5 per TB, so half a dollar."""
_TEXT, _MONEY = "string", "double"
DETAIL: Mapping[str, str] = {
    **dict.fromkeys(
        ("version", "record_hash", "previous_hash", "decision_id", "step", "outcome", "at",
         "resource", "account", "region", "summary", "answer", "reason", "trigger", "mode",
         "binding", "policy_version", "approval", "expires", "held_until", "cause", "remedy", "who",
         "because", "until", "last_decision_id"),
        _TEXT,
    ),
    "sequence": "int",
    "failures": "int",
    "blocking": "array<string>",
    "plan": f"struct<monthly_usd:{_MONEY},price_change_usd:{_MONEY},reversible:boolean>",
}  # fmt: skip
"""Fields of an event's detail and their types in the table; what a kind of event lacks is null."""
COLUMNS: Mapping[str, str] = {
    **dict.fromkeys(("id", "detail_type", "account", "region", "time"), _TEXT),
    "resources": "array<string>",
    "detail": f"struct<{','.join(f'{name}:{kind}' for name, kind in DETAIL.items())}>",
}
RENAMED = {"detail_type": "detail-type"}
"""Columns whose field in the event has another name."""
DAYS = 30
STOP_DAYS = 400
"""Days that a query reads: a pause may be in force for long."""
SINCE = "date_format(current_date - interval '{days}' day, '%Y-%m-%d')"
_ONCE = """WITH record AS (
  SELECT account, coalesce(detail.region, region) AS region,
         detail.decision_id AS decision_id, detail.sequence AS sequence, detail.step AS step, detail.outcome AS outcome, detail.at AS at, detail.resource AS resource,
         detail.summary AS summary, detail.reason AS reason, detail.who AS who,
         detail.expires AS expires, detail.until AS until, detail.record_hash AS record_hash,
         date_format(current_timestamp, '%Y-%m-%dT%H:%i:%s') AS now_at, detail.plan.price_change_usd AS price_change_usd,
         row_number() OVER (PARTITION BY account, detail.record_hash ORDER BY time) AS copy
  FROM {table}
  WHERE day >= {since}
)"""
"""The records, each once: events come at least once. The Region is the record's: an event
that was redelivered has the hub's. `now_at` is written as records write their instants."""
QUERIES: Mapping[str, tuple[str, str]] = {
    "waiting": (
        "Changes that wait for approval",
        "SELECT expires, account, region, decision_id, resource, price_change_usd, summary "
        "FROM record AS one WHERE copy = 1 AND step = 'awaiting' AND NOT EXISTS ("
        "SELECT 1 FROM record AS later WHERE later.account = one.account "
        "AND later.decision_id = one.decision_id AND later.sequence > one.sequence) "
        "AND (expires IS NULL OR expires > now_at) ORDER BY expires",
    ),
    "changes": (
        "Changes that AWS accepted, and USD per month added and saved, by account",
        "SELECT account, region, count(*) AS changes, "
        "sum(CASE WHEN price_change_usd > 0 THEN price_change_usd ELSE 0 END) AS added_usd, "
        "sum(CASE WHEN price_change_usd < 0 THEN -price_change_usd ELSE 0 END) AS saved_usd "
        "FROM record WHERE copy = 1 AND step = 'applied' GROUP BY account, region "
        "ORDER BY added_usd DESC",
    ),
    "trouble": (
        "What failed, did not help, or needs a person",
        "SELECT at, account, region, outcome, resource, summary FROM record WHERE copy = 1 "
        "AND outcome IN ('escalate', 'failed', 'refused', 'ineffective', 'diverged', "
        "'breaker_opened', 'policy_refused') ORDER BY at DESC",
    ),
    "held": (
        "Why nothing was changed, by account",
        "SELECT account, region, reason, count(*) AS decisions FROM record WHERE copy = 1 "
        "AND step = 'decided' AND outcome = 'hold' GROUP BY account, region, reason "
        "ORDER BY decisions DESC",
    ),
    "stopped": (
        "Pauses and circuit breakers in force",
        "SELECT at, account, region, step, resource, until, who, summary FROM ("
        "SELECT *, row_number() OVER (PARTITION BY account, region, resource, step LIKE 'breaker%' "
        "ORDER BY at DESC, sequence DESC, record_hash) AS latest FROM record WHERE copy = 1 AND step IN "
        "('paused', 'resumed', 'breaker_opened', 'breaker_closed')) AS stop WHERE latest = 1 "
        "AND step IN ('paused', 'breaker_opened') AND (until IS NULL OR until > now_at) "
        "ORDER BY at, record_hash",
    ),
    "people": (
        "Who approved, rejected, paused, resumed and published",
        "SELECT at, account, region, step, who, decision_id, summary FROM record "
        "WHERE copy = 1 AND who IS NOT NULL ORDER BY at DESC",
    ),
    "last-heard": (
        "When each deployment last sent an event",
        "SELECT account, region, max(at) AS last, count(*) AS records FROM record "
        "WHERE copy = 1 GROUP BY account, region ORDER BY last",
    ),
}  # fmt: skip
"""Name, what it answers, and its statement, which reads `record`."""


def statement(name: str, table: str) -> str:
    """The whole SQL of a query."""
    since = SINCE.format(days=STOP_DAYS if name == "stopped" else DAYS)
    return f"{_ONCE.format(table=table, since=since)}\n{QUERIES[name][1]}"


class HubTable(Construct):
    """A database of Glue with one table over the bucket, and a workgroup of Athena with its queries.

    Partitions are days and are projected: nothing has to be crawled or added.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, prefix: str, bucket: s3.IBucket,
        location: str,
    ) -> None:  # fmt: skip
        super().__init__(scope, construct_id)
        name = prefix.replace("-", "_")
        database = glue.CfnDatabase(
            self,
            "Database",
            catalog_id=Aws.ACCOUNT_ID,
            database_input={"name": name, "description": "Headroom's records"},
        )
        table = glue.CfnTable(
            self,
            "Table",
            catalog_id=Aws.ACCOUNT_ID,
            database_name=name,
            table_input=_table(f"s3://{bucket.bucket_name}/{location}"),
        )
        table.add_resource_dependency(database)
        workgroup = athena.CfnWorkGroup(
            self,
            "WorkGroup",
            name=prefix,
            description="Queries over Headroom's records",
            recursive_delete_option=True,
            work_group_configuration={
                "enforceWorkGroupConfiguration": True,
                "publishCloudWatchMetricsEnabled": False,
                "bytesScannedCutoffPerQuery": MOST_READ,
                "resultConfiguration": {
                    "outputLocation": f"s3://{bucket.bucket_name}/{RESULTS}",
                    "encryptionConfiguration": {"encryptionOption": "SSE_S3"},
                },
            },
        )
        workgroup.apply_removal_policy(RemovalPolicy.DESTROY)
        for query, (says, _) in QUERIES.items():
            made = athena.CfnNamedQuery(
                self,
                f"Query{query.title().replace('-', '')}",
                name=f"{prefix}-{query}",
                description=says,
                database=name,
                work_group=workgroup.name,
                query_string=statement(query, f'"{name}"."{TABLE}"'),
            )
            made.add_resource_dependency(workgroup)


def _table(location: str) -> dict[str, object]:
    names = {f"mapping.{column}": field for column, field in RENAMED.items()}
    return {
        "name": TABLE,
        "tableType": "EXTERNAL_TABLE",
        "partitionKeys": [{"name": "day", "type": "string"}],
        "parameters": {
            "classification": "json",
            "projection.enabled": "true",
            "projection.day.type": "date",
            "projection.day.format": "yyyy-MM-dd",
            "projection.day.range": "2026-01-01,NOW+1DAYS",
            "storage.location.template": f"{location}day=${{day}}/",
        },
        "storageDescriptor": {
            "location": location,
            "inputFormat": "org.apache.hadoop.mapred.TextInputFormat",
            "outputFormat": "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
            "serdeInfo": {
                "serializationLibrary": "org.openx.data.jsonserde.JsonSerDe",
                "parameters": {"ignore.malformed.json": "true", **names},
            },
            "columns": [{"name": name, "type": kind} for name, kind in COLUMNS.items()],
        },
    }
