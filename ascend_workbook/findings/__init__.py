"""What every stage ends in: findings with their sentences, rules that make them, reports that show them."""
