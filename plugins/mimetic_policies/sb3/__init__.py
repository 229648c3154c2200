"""How does a policy that stable-baselines3 saved act here, though nothing of its pickles is ever run?

``archive`` reads the zip, ``space_text`` the spaces that it prints, ``recipes`` tells from weights and settings what
network it was, ``config`` has the words for it, ``networks`` builds it, ``statistics`` reads a pickled VecNormalize by
way of ``inert_pickle`` and ``pickled_arrays``, ``evidence`` says whether a policy needs such a file, ``policy`` is what
acts in the end, and ``opening`` tells the story.
"""
