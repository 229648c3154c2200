"""The shipped demonstrations: ``make`` records them, ``source`` reads them."""
