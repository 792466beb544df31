"""EventBridge events in both directions: incoming events become signals, records become events on the bus.

May import `adapters.notifications` (facts of a plan), `adapters.actions`, `ports` and the domain.
The door offers `parse`, `rejected`, `EventBus`, `log_fields` and the JSON Schema of each event."""

from headroom.adapters.events import rds, signals
from headroom.adapters.events.bus import EventBus, log_fields
