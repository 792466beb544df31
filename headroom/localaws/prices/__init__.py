"""The Price List API over HTTP: the catalogue's prices in AWS's own shapes.

May import nothing of the endpoint but `state`.
Offers: answer_price_list, PRICE_LIST_TARGET."""

from headroom.localaws.prices.api import PRICE_LIST_TARGET, answer_price_list
