"""Getting sequences out of a model: filters, sampling, greedy and beam search, completion."""
