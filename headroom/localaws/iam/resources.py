"""What IAM asks about a resource: its policy, its tags, the key that encrypts it."""

from __future__ import annotations

from typing import Any

from headroom.localaws.state import AccountRegion, Cloud


def policies_of_resource(arn: str) -> list[Any]:
    """The policy of a table, queue, topic or key, as text or as an object; none for anything else."""
    parts = arn.split(":", 5)
    if len(parts) < 6 or not parts[4]:
        return []
    service, place, name = parts[2], AccountRegion(parts[4], parts[3]), parts[5]
    found: Any = None
    if service == "dynamodb":
        from moto.dynamodb.models import dynamodb_backends

        kept = place.backend(dynamodb_backends).resource_policies.get(arn.split("/index/")[0])
        found = kept and kept.policy_doc
    elif service == "sqs":
        from moto.sqs import sqs_backends

        found = getattr(place.backend(sqs_backends).queues.get(name), "policy", None)
    elif service == "sns":
        from moto.sns import sns_backends

        found = getattr(place.backend(sns_backends).topics.get(arn), "policy", None)
    elif service == "kms":
        from moto.kms.models import kms_backends

        key = place.backend(kms_backends).keys.get(name.removeprefix("key/"))
        found = getattr(key, "policy", None)
    return [found] if found else []


def key_of_topic(arn: str) -> str | None:
    """ARN of the key of one's own that encrypts a topic."""
    from moto.sns import sns_backends

    place = AccountRegion.of_arn(arn)
    topic = place.backend(sns_backends).topics.get(arn)
    key = str(getattr(topic, "kms_master_key_id", "") or "")
    if not key or key.startswith("alias/aws/"):
        return None
    return (
        key if key.startswith("arn:") else f"arn:aws:kms:{place.region}:{place.account}:key/{key}"
    )


TAG_KEYS = {
    "ec2:volume": ("aws:resourcetag", "ec2:resourcetag"),
    "rds:db": ("aws:resourcetag", "rds:db-tag"),
    "rds:cluster": ("aws:resourcetag", "rds:cluster-tag"),
}
"""Condition keys in lower case that hold the tags of a resource, by its type. Source: Service Authorization
Reference, resource types of EC2 and RDS (as of 2026-05-10)."""


def tag_values(cloud: Cloud, arn: str) -> dict[str, tuple[str, ...]]:
    """Values of the condition keys that hold the tags of a volume, a database or a cluster."""
    _, _, service, _, _, name = arn.split(":", 5)
    keys = TAG_KEYS.get(f"{service}:{name.replace(':', '/').partition('/')[0]}", ())
    if not keys:
        return {}
    tags = cloud.tags_of_database(arn) if service == "rds" else _tags_of_volume(arn)
    return {f"{key}/{tag}": (value,) for tag, value in tags.items() for key in keys}


def _tags_of_volume(arn: str) -> dict[str, str]:
    from moto.ec2.models import ec2_backends

    volume = AccountRegion.of_arn(arn).backend(ec2_backends).volumes.get(arn.rpartition("/")[2])
    tags = volume.get_tags() if volume is not None else []
    return {tag["key"]: tag["value"] for tag in tags}
