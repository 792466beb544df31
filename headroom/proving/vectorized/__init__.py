"""The same physics on numpy arrays: a volume-month in milliseconds, equal to the exact one per minute.

May import `simulation`, `metrics`, `physics`, `awsrules`, `workloads`.
Offers: the vectorized volume and the world around it."""

from headroom.proving.vectorized.minutes import shares
from headroom.proving.vectorized.volume import SSD, StaticPain, VectorizedVolume, pain_if_static
from headroom.proving.vectorized.world import VectorizedWorld
