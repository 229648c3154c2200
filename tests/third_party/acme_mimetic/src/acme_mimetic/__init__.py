"""Components of Acme for mimetic."""
