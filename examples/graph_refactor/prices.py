"""Prices of a shop. It works, but it is hard to read."""


def total(items, country):
    s = 0
    for i in items:
        if i["kind"] == "book":
            if country == "NO":
                s = s + i["price"]
            else:
                s = s + i["price"] + i["price"] * 0.05
        else:
            if country == "NO":
                s = s + i["price"] + i["price"] * 0.25
            else:
                s = s + i["price"] + i["price"] * 0.19
    return round(s, 2)
