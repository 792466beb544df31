"""The proving ground: storage physics, AWS's rules, other controllers and an optimum to compare with.

Uses `headroom.domain`, `headroom.application`, the ledger's adapter and numpy; no Lambda function imports it. Import its rooms."""
