"""Names of months, of days and of time zones."""

from __future__ import annotations

_NAMES = (
    """
    ene enero gener gennaio ian ianuarie jan janeiro januar januari january január januára janv
    janvier jänner leden ledna ocak styczeń stycznia tammikuu tammikuuta січень січня янв январь
    января
    """,
    """
    feb febbraio feber febr febrer febrero februar februari februarie february február februára fev
    fevereiro févr février helmikuu helmikuuta lutego luty únor února şub şubat лютий лютого февр
    февраль февраля
    """,
    """
    březen března maaliskuu maaliskuuta maart maerz mar marca march marec maret mars mart martie marts
    marzec marzo març março mrt márc március mär märz березень березня мар март марта
    """,
    """
    abr abril apr april aprile aprilie apríl apríla avr avril duben dubna huhtikuu huhtikuuta kwiecień
    kwietnia nisan ápr április апр апрель апреля квітень квітня
    """,
    """
    květen května mag maggio mai maig maio maj maja may mayo mayıs mei máj mája május toukokuu
    toukokuuta май мая травень травня
    """,
    """
    czerwca czerwiec giu giugno haziran iun iunie juin jun june junho juni junio juny jún júna június
    kesäkuu kesäkuuta červen června июн июнь июня червень червня
    """,
    """
    heinäkuu heinäkuuta iul iulie juil juillet jul julho juli julio juliol july júl júla július lipca
    lipiec lug luglio temmuz července červenec июл июль июля липень липня
    """,
    """
    ago agost agosto agu agustus août aug august augusta augusti augustus augusztus ağu ağustos elokuu
    elokuuta sierpień sierpnia srpen srpna авг август августа серпень серпня
    """,
    """
    eylül sep sept september septembra septembre septembrie septiembre setembre setembro settembre
    syyskuu syyskuuta szept szeptember wrz wrzesień września září вересень вересня сент сентябрь
    сентября
    """,
    """
    ekim lokakuu lokakuuta oct october octobre octombrie octubre okt oktober október októbra ott
    ottobre outubro paź październik października říjen října жовтень жовтня окт октябрь октября
    """,
    """
    kasım listopad listopada listopadu marraskuu marraskuuta noiembrie nov november novembra novembre
    novembro noviembre листопад листопада нояб ноябрь ноября
    """,
    """
    aralık dec december decembra decembrie des desember desembre dez dezember dezembro dic dicembre
    diciembre déc décembre grudnia grudzień joulukuu joulukuuta prosince prosinec грудень грудня дек
    декабрь декабря
    """,
)

MONTHS = {name: number for number, names in enumerate(_NAMES, 1) for name in names.split()}
"""Names of months in lower case, as CLDR has them for 20 European languages -> number.

Abbreviations that are words of English or of shops are left out: ``27 LED 2024`` is a screen.
"""

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

_H = 60
ZONES = {
    "Z": 0,
    "UTC": 0, "GMT": 0, "UT": 0, "WET": 0, "WEST": _H, "BST": _H, "CET": _H, "MEZ": _H,
    "CEST": 2 * _H, "MESZ": 2 * _H, "EET": 2 * _H, "EEST": 3 * _H, "MSK": 3 * _H, "TRT": 3 * _H,
    "SAST": 2 * _H, "PKT": 5 * _H,
    "WIB": 7 * _H, "ICT": 7 * _H, "HKT": 8 * _H, "SGT": 8 * _H, "AWST": 8 * _H, "JST": 9 * _H, "KST": 9 * _H,
    "ACST": 9 * _H + 30, "ACDT": 10 * _H + 30, "AEST": 10 * _H, "AEDT": 11 * _H,
    "NZST": 12 * _H, "NZDT": 13 * _H,
    "BRT": -3 * _H, "ART": -3 * _H, "NST": -3 * _H - 30, "NDT": -2 * _H - 30, "ADT": -3 * _H, "EDT": -4 * _H,
    "EST": -5 * _H, "CDT": -5 * _H, "CST": -6 * _H, "MDT": -6 * _H, "MST": -7 * _H, "PDT": -7 * _H,
    "PST": -8 * _H, "AKDT": -8 * _H, "AKST": -9 * _H, "HST": -10 * _H,
}  # fmt: skip
"""Name of a time zone -> minutes it is ahead of UTC; the American ones as RFC 5322 has them."""

SEVERAL_ZONES = frozenset({"IST", "AST", "WST", "GST", "AMT", "BDT"})
"""Names of several time zones: ``IST`` is the time of India, of Ireland and of Israel."""

SEASONAL = {
    "ET": "America/New_York",
    "CT": "America/Chicago",
    "MT": "America/Denver",
    "PT": "America/Los_Angeles",
}
"""Names without a word on summer time -> place."""
