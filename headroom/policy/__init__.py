"""The policy as a document: parsed from YAML or JSON, checked, published, described by a JSON Schema.

May import the domain; `yaml` only inside the function that parses YAML.
The door offers `parse_policy`, `load_policy_file`, `check`, `schema` and `canonical_json`."""

from headroom.policy.check import check, check_file, first_problem
from headroom.policy.document import ACCOUNT_ID, REGION
from headroom.policy.parts import LONGEST_POLICY, TEMPLATE_PARTS, parameter_texts, part_index
from headroom.policy.received import received_policy
from headroom.policy.schema import schema, schema_text
from headroom.policy.text import (
    canonical_json,
    default_policy,
    load_policy_file,
    parse_policy,
    policy_from_json,
    published,
)
