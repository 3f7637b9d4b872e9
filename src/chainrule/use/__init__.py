"""What one does with a model: one file a verb."""
