"""The policy in force, from one SSM parameter, or from the parts that it names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headroom.adapters.errors import reading, writing
from headroom.domain.policy import HardCaps, Policy, PolicyError, PolicyUnreadable, with_caps
from headroom.policy import canonical_json, part_index, policy_from_json
from headroom.ports import ReadFailed, WriteFailed

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient


class ParameterPolicies:
    """The policy in an SSM parameter, read once an invocation, and anew before each change.

    `caps` are the deployment's hard caps, which are in no parameter.
    """

    def __init__(self, client: SSMClient, *, parameter: str, caps: HardCaps) -> None:
        self._client = client
        self._parameter = parameter
        self._caps = caps
        self._answer: Policy | PolicyUnreadable | None = None
        self._version = 0
        """Of the parameter when it was last read."""

    def current(self) -> Policy | PolicyUnreadable:
        """The policy, or why nothing may be done: it is missing, denied, or not understood."""
        if self._answer is None:
            self._answer = self._read()
        return self._answer

    def fresh(self) -> Policy | PolicyUnreadable:
        """The policy as it is now; `current` says the same from here on."""
        self._answer = self._read()
        return self._answer

    def publish(self, policy: Policy, *, who: str) -> None:
        """Put `policy`, which fits into one parameter, in the place of the one in force.

        The tier is the deployment's, whatever the account's default: none can be lowered later.
        Raises WriteFailed, also where it is not known whether it was put.

        SSM puts without a condition. Whoever put or deleted another policy between the read here and
        this put may have done so to stop everything: a text that is no policy then stops everything.
        """
        held = self.fresh()
        if isinstance(held, PolicyUnreadable):
            raise WriteFailed(f"there is no policy to replace any more: {held.reason}")
        before = self._version
        self._answer = None
        said = f"Version {policy.version}, published by {who}"
        if self._put(canonical_json(policy), said) != before + 1:
            why = f"the policy was changed or deleted while {policy.version} was published"
            self._put("Stopped; deploy a policy to go on.", why)
            raise WriteFailed(f"{why}; all changes are stopped until a policy is deployed")

    def _put(self, text: str, description: str) -> int:
        """Put a text in the place of the one in force; its version."""
        with writing(f"SSM parameter {self._parameter}"):
            return self._client.put_parameter(
                Name=self._parameter, Value=text, Type="String", Tier="Standard", Overwrite=True,
                Description=description[:1024],
            )["Version"]  # fmt: skip

    def _read(self) -> Policy | PolicyUnreadable:
        source = f"SSM parameter {self._parameter}"
        try:
            text = self._text(self._parameter)
            index = part_index(text)
            if index is not None:
                names = (f"{self._parameter}/{n}" for n in range(1, index.count + 1))
                text = index.joined([self._text(name) for name in names], source=source)
            return with_caps(policy_from_json(text, source=source), self._caps)
        except (ReadFailed, PolicyError) as error:
            return PolicyUnreadable(reason=str(error))

    def _text(self, name: str) -> str:
        with reading(f"SSM parameter {name}"):
            found = self._client.get_parameter(Name=name)["Parameter"]
            if name == self._parameter:
                self._version = found.get("Version", 0)
            return str(found["Value"])
