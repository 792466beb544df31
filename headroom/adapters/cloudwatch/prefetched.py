"""Metrics of many volumes read together, then asked for one by one as ever."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

from headroom.adapters.cloudwatch.ebs_queries import (
    balance_queries,
    instance_queries,
    volume_queries,
)
from headroom.adapters.cloudwatch.history import DATAPOINTS_PER_PAGE
from headroom.adapters.cloudwatch.metric_data import (
    BATCH_LIMIT,
    QUERIES_PER_CALL,
    Query,
    Window,
    read,
    window,
)
from headroom.adapters.cloudwatch.metrics import ACTIVITY, HISTORY, CloudWatchMetrics
from headroom.domain.resources import Series
from headroom.ports import StorageView


class PrefetchedMetrics(CloudWatchMetrics):
    """The metrics of one account and Region; what `prefetch` read is not read again."""

    _found: dict[Window, dict[Query, Series]]

    def prefetch(self, views: Sequence[StorageView], now: datetime) -> None:
        """Read what decisions about `views` at `now` need, and forget what was read before.

        A call asks for as many metrics as fit one page of the answer, and 8 calls run at once.
        Raises ReadFailed.
        """
        instances = [view.instance for view in views if view.instance is not None]
        minutes = [q for v in views for q in volume_queries(v.volume, instance=v.instance)]
        minutes += [q for one in instances for q in instance_queries(one)]
        balances = [q for one in instances for q in balance_queries(one)]
        earlier = [q for v in views for q in volume_queries(v.volume, 300)]
        self._found = {}
        for queries, length, period_s in (
            (minutes, ACTIVITY, 60), (balances, ACTIVITY, 300), (earlier, HISTORY, 300)
        ):  # fmt: skip
            self._add(queries, window(now, length=length, period_s=period_s))

    def _add(self, queries: Iterable[Query], span: Window) -> None:
        wanted = tuple(dict.fromkeys(queries))
        size = max(1, min(QUERIES_PER_CALL, DATAPOINTS_PER_PAGE // span.periods))
        calls = [wanted[i : i + size] for i in range(0, len(wanted), size)]
        with ThreadPoolExecutor(max_workers=BATCH_LIMIT) as pool:
            for found in pool.map(lambda call: read(self._client, call, span), calls):
                self._found.setdefault(span, {}).update(found)

    def _read(self, queries: Iterable[Query], span: Window) -> Mapping[Query, Series]:
        wanted = tuple(queries)
        known = getattr(self, "_found", {}).get(span, {})
        missing = [query for query in wanted if query not in known]
        more = read(self._client, missing, span) if missing else {}
        return {query: known[query] if query in known else more[query] for query in wanted}
