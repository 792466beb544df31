"""CloudFormation that fails where AWS would: no unknown type is skipped, no error is swallowed."""
