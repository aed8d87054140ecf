"""Large traces made of small real ones, for what is measured on them."""
