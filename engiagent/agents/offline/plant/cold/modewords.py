"""How texts speak of modes of cooling: what they draw, when they may be used, how they change.

The patterns are matched on the line of a sentence, in which numbers stand as ``<power#3>``.
"""

import re
from typing import Final

MODE: Final = r"(?:(?:operating|cooling|plant) )?(?:modes?|regimes?)"
CORNER: Final = re.compile(rf"(?i){MODE}|way of cooling|ways? to cool|operation")
COOLS: Final = re.compile(
    r"(?<![a-z])(?:cool(?:s|ed|ing)?|cold|chill(?:ed|ers?)|wet[- ]bulb)(?![a-z])"
)
POWER: Final = frozenset(
    ["power", "electric", "electrical", "electricity", "draw", "draws", "drawn", "consumption",
     "input", "takes", "needs", "total", "own"]
)  # fmt: skip
WEATHER: Final = frozenset(
    ["wet", "bulb", "wet-bulb", "dry", "dry-bulb", "outdoor", "outside", "outdoors", "ambient",
     "air", "temperature", "the", "of", "for", "in"]
)  # fmt: skip
UP_TO: Final = re.compile(
    r"(?<![a-z])(?:up to|at most|max(?:imum)?|highest|not above|upper limit)(?![a-z])"
    r"|(?<![a-z])or (?:less|lower)(?![a-z])"
)
BELOW: Final = re.compile(r"(?<![a-z])(?:below|under|less than|lower than)(?![a-z])")
ANY: Final = frozenset({"any", "none", "no limit", "unlimited", "all", "always"})

FREE: Final = (
    r"(?:cooling )?tower|dry cooler|free cooling|economi[sz]er|outside air|outdoor air"
    r"|heat exchanger"
)
MADE: Final = r"chillers?|compressors?|refrigeration machines?|chilling machines?"
PLAIN: Final = r"(?:[a-z'-]+ ){0,6}"
EITHER: Final = re.compile(
    rf"either (?:the |an? )?(?P<free>{FREE}) (?:alone )?(?:cools|serves|supplies|does)"
    rf"(?: (?!or |and )[a-z'-]+){{0,8}} ,? ?or (?:the |an? )?(?P<made>{MADE})"
    r"(?: (?:does|do|cools?|serves?|supplies|supply|runs?)(?: it| this| that)?)?"
)
WITH: Final = re.compile(
    rf"(?:(?:with|under) (?:the )?(?P<a>{FREE}|{MADE})"
    rf"(?: (?:alone|on|running|only|in operation|at work|instead))?|(?:while|when) (?:the )?"
    rf"(?P<b>{FREE}|{MADE}) (?:runs?|cools?|works?|is on|are on)(?: alone)?) ,? ?"
    r"(?:(?:(?:the|its|their) )?(?:fans?|pumps?|everything|all|it|plant|chillers?"
    r"|tower|auxiliaries|and|of|that|together|in total|as a whole|,) )*"
    r"(?:takes?|draws?|needs?|uses?|consumes?|comes? to) <power#(?P<power>\d+)>"
    r"(?: (?:together|in total|in all|all together|of electricity|of power))?"
)
ENOUGH: Final = re.compile(
    rf"(?:the )?(?P<free>{FREE})(?: alone| by itself)? (?:suffices|is enough|is sufficient"
    r"|can do it|is possible|can be used|may be used|works|can serve it|can carry the load)"
    r"(?: alone)? ?,?"
    r" (?:when|if|whenever|as long as|in hours when|in hours in which)"
    r" (?:the )?(?P<measure>wet[- ]bulb|outdoor|outside|dry[- ]bulb|ambient)(?: temperature)?"
    rf"(?P<plus> (?:plus|and|\+) (?:the |an )?approach(?: of (?!<){PLAIN}?(?=does|is"
    r"|stays|do|not|<|together))?(?: ?of <(?:temperature|difference)#(?P<approach>\d+)>)?"
    r"(?: together)?)?"
    r" ?(?:does not exceed|do not exceed|is at most|is not above|are at most"
    r"|is no (?:higher|more) than|is not (?:higher|more|warmer) than"
    r"|is at or below|stays at or below)"
    r" (?:the )?(?:supply(?: temperature)?(?: of)? )?<temperature#(?P<supply>\d+)>"
)
APPROACH: Final = re.compile(
    r"(?:the |its |their )?approach"
    r"(?: of (?:the |both )?[a-z]+(?: and (?:the )?(?:heat )?exchanger)?)?"
    r" (?:is|was measured (?:as|at|to be)|was|=|amounts to|comes to)"
    r" <(?:temperature|difference)#(?P<approach>\d+)>"
)
ENTERED: Final = r"(?:entered|chosen|started|begun|taken|switched to|selected|set)"
IS: Final = r"(?:is|are|must(?: be)?|has to(?: be)?|have to(?: be)?|shall(?: be)?|needs to(?: be)?)"
KEPT: Final = (
    r"(?:kept|held|maintained|stays?|remains?|lasts?|runs?|stay|remain|last|run|used)"
    r"(?: (?:on|active|in use|unchanged|in place))?"
)
LEAST: Final = r"(?:at least|no less than|not less than|a minimum of)"
TIME: Final = r"<(?:duration|number)#(?P<hold>\d+)>(?: (?P<per>hours|minutes))?"
HOLD: Final = (
    rf"(?:an?|each|every|any|the) {MODE}(?: ,)?(?: (?:that|which) (?:is|was|has been)| once"
    rf"| after being) {ENTERED}(?: ,)?(?: {IS})?(?: {KEPT})?(?: for)? {LEAST}"
    rf" {TIME}",
    rf"once {ENTERED} (?:, )?(?:an?|each|every|the|any) {MODE} (?:{IS} )?{KEPT}(?: for)?"
    rf" {LEAST} {TIME}",
    rf"(?:an?|each|every|any) {MODE} (?:{IS} )?{KEPT}(?: for)? {LEAST} {TIME}",
    rf"(?:the )?(?:minimum|least|shortest) (?:time|stay|duration|dwell(?: time)?)(?: in| of| for)"
    rf" (?:an?|each|every|any|one) {MODE} (?:is|=|:) {TIME}",
    rf"no {MODE} (?:may|can|must) be (?:left|changed|given up) (?:before|within|until)"
    rf" {TIME}(?: (?:have passed|are over|of entering it))?",
)
SPAN: Final = r"(?:the )?(?:day|plan|horizon|night|shift|period)"
CUT: Final = re.compile(
    rf" ?\(? ?(?:or )?(?:(?:at|towards) the end of {SPAN} (?:only )?(?:for )?as long as"
    rf" (?:{SPAN}|it|there is time) (?:lasts|goes on|runs)|(?:until|to|till) the end of {SPAN}"
    rf"(?: if that (?:is|comes) (?:sooner|earlier|first))?) ?\)?"
)
EACH: Final = r"(?:every|each|any|a)"
CHANGE: Final = (
    rf"(?:change|switch|changeover|transition)s?(?: of (?:the )?{MODE}| between (?:the )?{MODE}"
    rf"| from one {MODE} to (?:another|the next)| from one to (?:another|the other))?"
)
COST: Final = (
    rf"(?:{EACH} )?(?:{MODE} )?{CHANGE} costs?(?: us)? <money#(?P<cost>\d+)>",
    rf"(?:changing|switching)(?: the {MODE}| from one {MODE} to another) costs?(?: us)?"
    r" <money#(?P<cost>\d+)>",
    rf"<money#(?P<cost>\d+)> (?:for|per) {EACH}? ?(?:{MODE} )?{CHANGE}",
)
PURPOSE: Final = re.compile(
    r" (?:for|because of|in) (?:the )?(?!if |when |unless |after |before |at |on )"
    r"(?:(?!if |when |unless |after |before |only |except |from )[a-z'-]+ ?)+(?=$| [,;)])"
)
START: Final = (
    rf"(?:at <clock#(?P<clock>\d+)>|at the (?:start|beginning|outset)|initially|in the first hour)"
    rf" ,? ?(?:any|every|each|whichever) {MODE} (?:may|can|could) be (?:{ENTERED}|in use)",
    rf"any {MODE} (?:may|can|could) be {ENTERED} (?:at <clock#(?P<clock>\d+)>|at the"
    r" (?:start|beginning|outset)|initially|in the first hour)",
    rf"(?:the (?:day|plan|night)|we) (?:may|can) (?:start|begin) (?:in|with) any {MODE}",
)
SWAPS: Final = (
    r"(?:the )?(?:changes?|switch(?:es)?|changeovers?) (?:is|are|may be|can be) (?:made )?(?:on the"
    r" hour )?,? ?(?:and )?(?:made )?at most (?P<times>once|twice|<number#\d+> times)"
    r" (?:in|per) (?:either|each) (?:direction|way)",
    r"(?:one|we|the plant) (?:may|can) (?:change|switch)(?: over)? (?:on the hour )?at most"
    r" (?P<times>once|twice|<number#\d+> times) (?:in|per) (?:either|each) (?:direction|way)",
)
COUNTED: Final = re.compile(
    r"(?:chilled water|cold|cooling|the (?:cold|load|room|data cent(?:er|re)|hall|building)|it)"
    r" (?:can|may|is) be (?:made|produced|provided|supplied|served|cooled|covered) (?:in|by|with)"
    rf" (?:one of )?(?:the )?(?:<number#(?P<count>\d+)> )?{MODE}"
    r"(?: ,? ?(?:just |exactly )?one (?:per|for each|in each|in every|each|for every)"
    r" (?P<step>hour|half hour|quarter hour|step|period))?|(?:there are|the plant (?:has|knows))"
    rf" <number#(?P<count2>\d+)> {MODE}"
)
AND_CHANGES: Final = re.compile(
    rf"(?:and|plus) (?:the |for )?(?:{MODE} )?(?:changes|switches|changeovers|switching|changing)"
    rf"(?: (?:of|between) (?:the )?{MODE})?(?![a-z])"
)
OVER: Final = (
    r" (?:in (?:an hour|hours) )?(?:whose|when|while|where|if|in which)(?: the| its)?"
    r" (?:wet[- ]bulb|outdoor|temperature)(?: temperature)? (?:is )?(?:above|exceeds|over"
    r"|higher than) (?:its|that|the) limit"
)
ALLOWED: Final = (
    rf"(?:an?|every|each) {MODE} is not (?:available|allowed|possible|permitted){OVER}",
    rf"no {MODE} (?:is (?:available|allowed|possible|permitted)|may be used|can be used"
    rf"|may run){OVER}",
    rf"(?:an?|every|each) {MODE} (?:is available|may be used|can be used|may run) only (?:up to"
    r"|at or below) (?:its|the) (?:wet[- ]bulb )?limit",
)
