"""The only code that knows the shapes of AWS's APIs; clients are passed in.

May import `domain`, `ports`, `serialization`, `policy` and botocore's errors; no room imports `wiring` or `application`.
Each room is one AWS service or concern; `actions` lists IAM actions, `errors` reads failures, `dispatch` joins the kinds of storage."""
