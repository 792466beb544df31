"""Tests of a policy: a described situation and the decision that is expected of it.

May import `simulation`, `vectorized`, `memory`, `workloads`, `inputs`.
Offers: load_tests, run_policy_test, Verdict."""

from headroom.proving.policy_tests.cases import PolicyTests, Verdict, load_tests, run_policy_test
from headroom.proving.policy_tests.differences import blocking_guardrails
from headroom.proving.policy_tests.situation import described_volume
