"""The CDK stacks: what outlives a deployment, and the loop that is replaced by each one."""
