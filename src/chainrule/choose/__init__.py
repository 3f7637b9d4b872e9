"""Which model for these data: a ladder of models within a budget, judged alike, and a page that says it."""
