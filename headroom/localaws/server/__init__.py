"""One running endpoint: the HTTP server, the replacements of moto's parts, and start and stop.

May import every other room of the endpoint.
Offers: RunningEndpoint."""

from headroom.localaws.server.endpoint import RunningEndpoint
