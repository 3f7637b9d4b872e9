"""Files -> sequences -> ids: readers, splits, the cache, and what the data are like."""
