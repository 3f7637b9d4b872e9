"""What is asked of a body, and how the answer is judged: one file a task."""
