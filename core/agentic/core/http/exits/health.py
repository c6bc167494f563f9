"""When an exit may be used, and which one is next. Pure: clocks and chance are arguments.

An exit is one proxy of a policy. It *rests* after a fault: for all hosts if the exit itself is broken, for
one host if that host refuses it. It is *doubtful* after a fault that may be the host's own, such as a
timeout: it is used only if no other exit is free.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import assert_never

from agentic.core.http.policy import Rotation
from agentic.core.records import record

FIRST_REST_S = 5.0
LONGEST_REST_S = 600.0
MAX_HOSTS = 1_000
"""Hosts whose refusals an exit remembers; the oldest one is forgotten first."""
DOUBTFUL_AFTER = 3
"""After this number of failures in a row, at any hosts, an exit is doubtful for all of them."""


@record
class Rest:
    """A rest after one or more faults.

    Attributes:
        began: Start of the rest, on the pool's clock.
        until: Its end.
        strikes: Rests in a row, without a success between them.
        failure_class: The last fault.
        is_firm: The exit is not used; otherwise it is only doubtful.
    """

    began: float
    until: float
    strikes: int
    failure_class: str
    is_firm: bool


def next_rest(
    earlier: Rest | None,
    *,
    sent_at: float,
    now: float,
    failure_class: str,
    is_firm: bool = True,
    asked_s: float | None = None,
) -> Rest:
    """Return the rest after a fault: ``asked_s``, if the host said so, else twice as long as the last one.

    Requests that were sent before the last rest began say nothing new: ten of them are one fault.
    """
    is_news = earlier is None or sent_at >= earlier.began
    strikes = (earlier.strikes if earlier else 0) + is_news
    rest_s = asked_s or min(FIRST_REST_S * 2.0 ** min(strikes - 1, 20), LONGEST_REST_S)
    until = now + rest_s if is_news or asked_s else now
    if earlier is not None and earlier.until > now:
        until, is_firm = max(until, earlier.until), is_firm or earlier.is_firm
    began = now if earlier is None or is_news else earlier.began
    return Rest(began, until, strikes, failure_class, is_firm)


@dataclass(slots=True)
class Health:
    """The rests of one exit.

    Attributes:
        whole: Its rest for all hosts.
        hosts: Its rests for single hosts.
        failures: Failed requests since the last success.
    """

    whole: Rest | None = None
    hosts: OrderedDict[str, Rest] = field(default_factory=OrderedDict)
    failures: int = 0

    def rest_at(self, host: str | None, now: float, *, is_firm: bool = True) -> Rest | None:
        """Return the rest that ends last and still lasts; None if it is free.

        Args:
            host: Rests for this host count, too; None for a session, which leaves only broken exits.
            now: The pool's clock.
            is_firm: Whether firm rests count, or doubts.
        """
        if self.whole is None and not self.hosts:  # the usual case
            return None
        found = [self.whole, self.hosts.get(host) if host is not None else None]
        lasting = [rest for rest in found if rest and rest.until > now and rest.is_firm == is_firm]
        return max(lasting, key=lambda rest: rest.until, default=None)

    def rest(self, host: str | None, rest: Rest) -> None:
        """Keep a rest, for one host or for all."""
        if host is None:
            self.whole = rest
            return
        self.hosts[host] = rest
        self.hosts.move_to_end(host)
        if len(self.hosts) > MAX_HOSTS:
            self.hosts.popitem(last=False)

    def earlier(self, host: str | None) -> Rest | None:
        """Return the last rest, for one host or for all."""
        return self.whole if host is None else self.hosts.get(host)

    def answered(self, sent_at: float) -> None:
        """Note that a request came through: the exit works."""
        self.failures = 0
        if self.whole is not None and sent_at >= self.whole.began:
            self.whole = None

    def welcomed(self, host: str, sent_at: float) -> None:
        """Note that a host accepted a request."""
        rest = self.hosts.get(host)
        if rest is not None and sent_at >= rest.began:
            del self.hosts[host]


@record
class Choice:
    """An exit, and how long to wait for it.

    Attributes:
        index: Its place in the list.
        wait_s: 0: use it now. Otherwise all exits rest, and this one is free first.
    """

    index: int
    wait_s: float = 0.0


def choose(health: Sequence[Health], order: Iterable[int], host: str | None, now: float) -> Choice:
    """Return the first free exit of ``order``, else the first doubtful one, else the next to be free."""
    doubtful: int | None = None
    soonest: tuple[float, int] | None = None
    for index in order:
        one = health[index]
        if rest := one.rest_at(host, now):
            soonest = min(soonest or (rest.until, index), (rest.until, index), key=lambda pair: pair[0])
        elif one.rest_at(host, now, is_firm=False) is None:
            return Choice(index)
        elif doubtful is None:
            doubtful = index
    if doubtful is not None:
        return Choice(doubtful)
    if soonest is None:
        raise ValueError("no exits are given")
    return Choice(soonest[1], soonest[0] - now)


class Order:
    """How exits are ordered for a request.

    Args:
        ids: The exits.
        rotation: ``round_robin`` asks the one that was used longest ago, ``sticky_host`` the same one for all
            hosts of a site.
        draw: Returns a random number below its argument.
    """

    def __init__(self, ids: Sequence[str], rotation: Rotation, draw: Callable[[int], int]) -> None:
        self._ids = tuple(ids)
        self._rotation: Rotation = rotation
        self._draw = draw
        self._turns = list(range(len(ids)))

    def for_site(self, site: Callable[[], str]) -> Iterable[int]:
        """Return the exits in the order to ask them for a request."""
        match self._rotation:
            case "round_robin":
                return self._turns
            case "random":
                return self._drawn()
            case "sticky_host":
                return self.for_name(site())
            case _:
                assert_never(self._rotation)

    def for_name(self, name: str) -> Sequence[int]:
        """Return an order that only depends on the exits and ``name``: the same in every process."""
        return _ranked(self._ids, name)

    def used(self, index: int) -> None:
        """Note that an exit was used."""
        if self._rotation == "round_robin":
            self._turns.remove(index)
            self._turns.append(index)

    def _drawn(self) -> Iterator[int]:
        left = list(range(len(self._ids)))
        while left:
            place = self._draw(len(left))
            left[place], left[-1] = left[-1], left[place]
            yield left.pop()


@lru_cache(maxsize=1_024)
def _ranked(ids: tuple[str, ...], name: str) -> tuple[int, ...]:
    """Rank by rendezvous hashing (Thaler and Ravishankar, 1998): if one rests, only its names move."""
    return tuple(sorted(range(len(ids)), key=lambda index: _weight(ids[index], name), reverse=True))


def _weight(exit_id: str, name: str) -> bytes:
    return blake2b(f"{exit_id} {name}".encode(), digest_size=8).digest()
