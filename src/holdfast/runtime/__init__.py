"""What makes jobs move: the worker, its lanes and the services around them."""
