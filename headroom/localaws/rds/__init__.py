"""RDS over HTTP: instances, Multi-AZ clusters and Aurora clusters under RDS's rules, and their events.

May import `events`, `state`.
Offers: the API, the databases of an account and Region, calls to create, change and delete them."""

from headroom.localaws.rds.api import RdsApi
from headroom.localaws.rds.changes import PARALLEL_QUERY, modify_cluster, modify_instance
from headroom.localaws.rds.creation import (
    delete_cluster,
    delete_instance,
    make_cluster,
    make_instance,
)
from headroom.localaws.rds.databases import (
    DatabaseStore,
    DbCluster,
    database_store,
    tags_of_database,
)
from headroom.localaws.rds.events import MESSAGES, put_database_event
from headroom.localaws.rds.shapes import cluster_shape, instance_shape
