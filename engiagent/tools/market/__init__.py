"""Tools of energy markets: prices, revenue, bills, yields and money over time."""
