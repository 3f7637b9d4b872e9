"""Which model for these data: several models within one budget, judged in the same way, and a report."""
