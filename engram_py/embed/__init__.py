"""From text to vectors: the embedders one can choose, and the search among what they made.

Nothing here is needed for anything else, and numpy and the models' libraries are imported when a model is loaded.
"""
