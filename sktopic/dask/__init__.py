"""Training, transform and score on a Dask cluster. The module is experimental."""

from sktopic.dask._blocks import read_parquet
from sktopic.dask._model import DaskTopicModel

__all__ = ["DaskTopicModel", "read_parquet"]
