"""What the dashboards show: the panels of a deployment, and the tables and queries of a hub.

May import the AWS CDK and `settings`; nothing from the other constructs.
The door offers the dashboards, the panels behind them (also for Grafana), and the hub's table."""

from headroom.cdk.dashboards.deployment import Dashboard, placed
from headroom.cdk.dashboards.hub import PANELS, HubDashboard
from headroom.cdk.dashboards.hub_queries import COLUMNS, DETAIL, QUERIES, RENAMED, HubTable
from headroom.cdk.dashboards.panels import (
    DIMENSIONS,
    AlarmPanel,
    LogPanel,
    MetricPanel,
    Panel,
    Part,
    TextPanel,
    View,
    panels,
)
