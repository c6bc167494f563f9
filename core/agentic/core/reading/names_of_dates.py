"""Names of months, of days and of time zones."""

from __future__ import annotations

import unicodedata

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

# Greek, Bulgarian, Serbian, Croatian, Slovene, the Baltic languages, Icelandic, Arabic, Hebrew, Indonesian.
_MORE_NAMES = (
    """
    jaanuar janvāris janúar januāris ιανουάριος ιανουαρίου sausio sausis siječanj siječnja јануар
    януари ינואר בינואר يناير
    """,
    """
    februāris febrúar veebruar veljača veljače vasario vasaris φεβρουάριος φεβρουαρίου фебруар
    февруари פברואר בפברואר فبراير
    """,
    """
    märts ožujak ožujka kovas kovo μάρτιος μαρτίου מרץ במרץ مارس
    """,
    """
    aprill aprel aprīlis travanj travnja balandis balandžio απρίλιος απριλίου април אפריל באפריל
    أبريل إبريل
    """,
    """
    maijs maí svibanj svibnja gegužė gegužės μάιος μαΐου мај מאי במאי مايو
    """,
    """
    jūnijs juuni júní junij lipanj lipnja birželio birželis ιούνιος ιουνίου јун юни יוני ביוני يونيو
    """,
    """
    jūlijs juuli júlí julij srpanj srpnja liepa liepos ιούλιος ιουλίου јул юли יולי ביולי يوليو
    """,
    """
    augusts ágúst avgust kolovoz kolovoza rugpjūtis rugpjūčio αύγουστος αυγούστου אוגוסט באוגוסט
    أغسطس
    """,
    """
    septembris septembar rujan rujna rugsėjis rugsėjo σεπτέμβριος σεπτεμβρίου септембар септември
    ספטמבר בספטמבר سبتمبر
    """,
    """
    oktobris oktobar oktoober spalio spalis οκτώβριος οκτωβρίου октобар октомври אוקטובר באוקטובר
    أكتوبر
    """,
    """
    novembris novembar nóvember lapkritis lapkričio studeni studenoga νοέμβριος νοεμβρίου новембар
    ноември נובמבר בנובמבר نوفمبر nopember
    """,
    """
    decembris decembar detsember desember disember gruodis gruodžio prosinac prosinca δεκέμβριος
    δεκεμβρίου децембар декември דצמבר בדצמבר ديسمبر
    """,
)


def _folded(name: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFD", name.replace("ı", "i")) if char.isalpha())


_WRITTEN = {
    name: number
    for every in (_NAMES, _MORE_NAMES)
    for number, names in enumerate(every, 1)
    for name in names.split()
}
MONTHS = {**{_folded(name): number for name, number in _WRITTEN.items()}, **_WRITTEN}
"""Names of months in lower case, also without their accents -> number.

CLDR has them for 29 European languages, Arabic, Hebrew and Indonesian.

Abbreviations that are words of English or of shops are left out: ``27 LED 2024`` is a screen.
"""

SEVERAL_MONTHS = frozenset({"listopad", "listopada"})
"""November in Polish and Czech, and October in Croatian, which writes a point behind the day."""

_DAY_NAMES = """
dienstag dimanche dimarts dimecres dinsdag dissabte diumenge divendres dijous dilluns domenica domingo
donderdag donnerstag duminică fredag freitag friday giovedì hétfő csütörtök jeudi joi jueves kedd lundi
lunedì lunes luni lördag lørdag maandag mandag mardi martedì martes marți mercoledì mercredi miercuri
miércoles mittwoch monday montag måndag nedelja neděle nedjelja niedziela onsdag pazar pazartesi cuma
cumartesi perşembe çarşamba salı petak petek piatok piątek poniedziałek pondelok pondělí pátek péntek
sabato sabado sábado samedi samstag saturday sobota sonntag sreda srijeda streda středa środa subota
sunday szerda szombat sâmbătă söndag søndag thursday tirsdag tisdag torsdag torek tuesday utorak úterý
utorok vasárnap vendredi venerdì viernes vineri vrijdag wednesday woensdag wtorek zaterdag zondag
čtvrtek četrtek četvrtak štvrtok czwartek воскресенье вторник понедельник пятница среда четверг суббота
вівторок неділя понеділок середа субота четвер
"""
NAMES_OF_DAYS = frozenset(_DAY_NAMES.split())
"""Names of days of the week that may stand between a date and its time."""

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
