"""What is done on instances, through Systems Manager.

May import `adapters.errors`, `ports` and the domain.
The door offers `ManagedFileSystems`."""

from headroom.adapters.instances.file_systems import ManagedFileSystems
