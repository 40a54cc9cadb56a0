"""Offline data: recorded episodes as Minari datasets and Parquet files, streamed in batches of bounded size."""
