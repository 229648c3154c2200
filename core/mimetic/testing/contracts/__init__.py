"""What must a component of each kind do? One suite a kind, which a plugin's test inherits.

``component`` holds what is true of every kind, ``facts`` how a contract speaks and what it watches, ``worlds`` the
small spaces, environments and policies that components are tried with. None of them needs pytest.
"""
