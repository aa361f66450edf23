"""The control plane over HTTP: the API of the workers, the page of the people, and the loops behind them."""
