"""The studio: data, training, models, and looking inside them, on a page of this machine.

The web process does no model work: trainings are processes of the ordinary command, and questions about models go to
workers.
"""
