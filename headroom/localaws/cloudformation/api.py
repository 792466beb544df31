"""CloudFormation over HTTP: templates by URL come from this endpoint's own S3."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from moto.cloudformation.responses import CloudFormationResponse
from moto.core.responses import ActionResult
from moto.s3.models import s3_backends

from headroom.localaws.cloudformation import templates
from headroom.localaws.state import AwsError

LOOPBACK = ("127.0.0.1", "localhost")


class CloudFormationApi(CloudFormationResponse):  # type: ignore[misc]
    """As moto's, but a path-style URL on 127.0.0.1 is not taken for a bucket named 127."""

    def _get_stack_from_s3_url(self, template_url: str) -> str:
        url = urlsplit(template_url)
        if url.hostname not in LOOPBACK:
            text: str = super()._get_stack_from_s3_url(template_url)
            return text
        bucket, _, key = unquote(url.path).lstrip("/").partition("/")
        found = s3_backends[self.current_account][self.partition].get_object(bucket, key)
        if found is None:
            raise AwsError("ValidationError", f"No template at {template_url}")
        return bytes(found.value).decode()

    def validate_template(self) -> ActionResult:
        """Refuses what CreateStack would refuse, and unsupported resource types."""
        url = self._get_param("TemplateURL")
        body = self._get_stack_from_s3_url(url) if url else self._get_param("TemplateBody")
        document = templates.read(body)
        templates.check_types(document)
        parameters = [
            {
                "ParameterKey": name,
                "DefaultValue": parameter.get("Default"),
                "NoEcho": bool(parameter.get("NoEcho")),
                "Description": parameter.get("Description"),
            }
            for name, parameter in (document.get("Parameters") or {}).items()
        ]
        return ActionResult(
            {
                "Description": document.get("Description") or "",
                "Parameters": parameters,
                "Capabilities": [],
                "DeclaredTransforms": [],
            }
        )
