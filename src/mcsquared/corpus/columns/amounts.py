"""Amounts of money and percentages in strings, such as "€1,299.00", "1.299,00 €" and "5,5 %"."""

import re
from collections.abc import Sequence

_CODE_OF_SYMBOL = {
    "$": "USD",
    "US$": "USD",
    "€": "EUR",
    "£": "GBP",
    "¥": "JPY",
    "₹": "INR",
    "zł": "PLN",
}
# Codes, not any three letters: "REF 1001" is a label.
_CODES = """AED AUD BRL CAD CHF CNY CZK DKK EUR GBP HKD HUF ILS INR JPY KRW MXN NOK NZD PLN RON RUB
    SAR SEK SGD THB TRY UAH USD ZAR"""
_CURRENCY = rf"US\$|[$€£¥₹₩₺₽₴%]|zł|{'|'.join(_CODES.split())}"
_AMOUNT = re.compile(
    rf"(?P<sign>[+-]?)(?:(?P<before>{_CURRENCY})\s?)?(?P<number>[0-9][0-9.,'’\s]*)"
    rf"(?:[.,][-–]{{1,2}})?\s?(?P<after>{_CURRENCY})?"
)
# Thousands and decimals: one mark between groups of three digits, another before one or two digits.
_NUMBER = re.compile(
    r"([0-9]+|[0-9]{1,3}(?:(?P<mark>[.,'’\s])[0-9]{3})(?:(?P=mark)[0-9]{3})*)(?:[.,]([0-9]{1,2}))?"
)


def currency_of(text: str) -> str | None:
    """Return the currency of an amount; None if the text is not an amount with a currency.

    Examples
    --------
    >>> [currency_of(text) for text in ("$5", "5 USD", "12,50 €", "5", "REF 5")]
    ['USD', 'USD', 'EUR', None, None]
    """
    found = _AMOUNT.fullmatch(text)
    symbol = found and (found["before"] or found["after"])
    if not symbol or _python_number(found) is None:
        return None
    return _CODE_OF_SYMBOL.get(symbol, symbol)


def python_amounts(fields: Sequence[str]) -> list[str] | None:
    """Return amounts of one currency in Python's notation, each read in its own notation.

    Return None if a field is not an amount, or if there are several currencies or none in most
    fields.

    Examples
    --------
    >>> python_amounts(["€1,299.00", "12,50 €", "EUR 1.000", "44"])
    ['1299.00', '12.50', '1000', '44']
    >>> python_amounts(["$5", "5 €"])
    """
    currencies = [currency_of(field) for field in fields]
    if len({*currencies} - {None}) != 1 or 2 * currencies.count(None) > len(fields):
        return None
    numbers = [_python_number(_AMOUNT.fullmatch(field)) for field in fields]
    present = [number for number in numbers if number is not None]
    return present if len(present) == len(fields) else None


def _python_number(amount: re.Match[str] | None) -> str | None:
    number = amount and _NUMBER.fullmatch(amount["number"].strip())
    if not amount or not number:
        return None
    whole = re.sub(r"\D", "", number[1])
    return f"{amount['sign']}{whole}" + (f".{number[3]}" if number[3] else "")
