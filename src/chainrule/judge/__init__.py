"""How good a model is: scores that add up."""
