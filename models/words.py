"""The English words that tell names from other capitalised words."""

from __future__ import annotations

__all__ = [
    "ABBREVIATIONS",
    "ADJECTIVAL",
    "BUILT",
    "BYNAMES",
    "CALENDAR",
    "CONNECTORS",
    "DEMONYMS",
    "EVENTS",
    "HONORIFICS",
    "INSTITUTIONS",
    "NAMED_AFTER",
    "PARTICLES",
    "RANKS",
    "STARTERS",
    "STOP_WORDS",
    "SUFFIXES",
    "TITULAR",
    "TWINS",
    "UNBYNAMED",
    "UNHYPHENED",
]


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


STOP_WORDS = _set(
    """a about above across after again against all along also although am among an and another
    any are around as at be because been before being below between both but by can could did
    do does doing down during each either else for from further had has have having he her here
    hers him his how however i if in into is it its itself just may me might more most much
    must my near neither no nor not of off on once one only onto or other our out over own per
    same shall she should since so some such than that the their them then there these they
    this those though through thus to together too toward under until up upon us very was we
    were what when where whether which while who whom whose why will with within without would
    yes yet you your"""
)
"""Function words: alone they name nothing."""

STARTERS = STOP_WORDS | _set(
    """according additional additionally afterwards almost alongside already altogether always
    approximately aside based besides beyond born certain compared consequently currently
    despite due early eight eleven especially even eventually ever every everyone everything
    few fifteen finally first five following founded four generally given half hence
    historically inside instead known large last late later like likewise located made mainly
    many meanwhile members modern moreover mostly nearly never nevertheless new next nine none
    notable notably note nothing now nowadays numerous often older originally others otherwise
    outside overall part particularly people perhaps plus population previously prior probably
    produced published quite rather recent recently regarding released said second see set
    seven several similar similarly six sometimes soon starting still subsequently ten third
    thirty three throughout today traditionally twelve twenty two typically ultimately
    unfortunately unlike use used using usually various via well whatever whenever whereas
    wherever whoever work written year years"""
)
"""Words that open sentences without naming anything."""

CALENDAR = _set(
    """ad am apr april aug august bc bce ce dec december feb february friday jan january jul july
    jun june mar march may monday nov november oct october pm saturday sep sept september
    sunday thursday tuesday wednesday"""
)

DEMONYMS = _set(
    """abbasid afghan african albanian algerian american americans arab arabic argentine
    argentinian armenian asian australian austrian azerbaijani bangladeshi basque bavarian
    belgian bengali bolivian bosnian bosonid brazilian british bulgarian byzantine canadian
    carolingian catalan catholic celtic chilean chinese christian christians colombian croatian
    cuban cypriot czech danish dutch egyptian english estonian ethiopian european europeans
    filipino finnish flemish frankish french georgian german germanic germans ghanaian greek
    greeks hebrew hindi hindu hungarian icelandic indian indians indonesian iranian iraqi irish
    islamic israeli italian italians jamaican japanese jewish jews kannada kenyan korean
    kurdish latin latvian lebanese lithuanian malay malayalam malaysian maltese marathi
    merovingian mexican mongolian moroccan muslim muslims nepali nigerian norman norwegian
    ottoman pakistani palestinian persian peruvian polish portuguese protestant punjabi roman
    romanian romans russian russians sanskrit scandinavian scottish serbian slovak slovene
    slovenian spanish swedish swiss syrian taiwanese tamil telugu thai tibetan turkish
    ukrainian umayyad urdu uruguayan venezuelan vietnamese welsh western"""
)

CONNECTORS = _set(
    """abu al ap bin bint da das de dei del della den der des di do dos du e el en et for ibn la on
    las le les los mac of og sous sur ten ter the und van von y zu"""
)
"""Lower-case words that may stand inside a name, never at its ends."""

PARTICLES = _set("ad al ar as ash at d el l")

ABBREVIATIONS = _set(
    """bros capt col dr ft gen gov hon jr lt mr mrs ms mt no prof rep rev sen sgt sr st ste vs"""
)

SUFFIXES = _set("inc jr llc ltd sr")

INSTITUTIONS = _set(
    """academy administration agency association award awards board bureau center centre college
    commission committee company conference congress convention council court department
    faculty federation foundation fund institute institution journal league medal minister
    ministry museum national office order organisation organization party prize program
    programme royal school secretary society union university"""
)
"""Heads after which "for", and "and" between two last words, belong to the name."""

EVENTS = _set(
    """act awards bowl census championship championships convention crisis cup draft earthquake
    election elections festival final finals games grand hurricane league masters olympic
    olympics open playoffs season series tour tournament trophy war world"""
)
"""Words that make a number before them part of the name ("2018 Winter Olympics")."""

ADJECTIVAL = _set(
    """backed based born bred built century class controlled designed dominated educated era
    funded held inspired language led like made nominated occupied owned produced related ruled
    season selling speaking sponsored style time trained wide winning year"""
)
"""Words that a hyphen ties to a name without belonging to it ("Oscar-winning")."""

HONORIFICS = _set(
    """actor actress admiral ambassador archbishop author bishop businessman captain cardinal
    chancellor chief coach colonel commander congressman congresswoman dame director dr duchess
    duke emperor empress field general governor judge justice king lieutenant major marshal
    mayor minister mr mrs ms musician politician premier president prime producer professor
    queen rapper representative rev reverend secretary senator sergeant singer sir sultan tsar
    tsarina u.s. us vice writer"""
)
"""Left out before a name of two words or more, so that it meets the name without them."""

BUILT = _set(
    """airport avenue bridge castle cathedral chapel church college county electric hall high
    hospital house island islands lake motors mountain palace park river road square stadium
    station street theater theatre"""
)
"""What is often named after somebody; the honorific then stays."""

BYNAMES = _set(
    """bad bald black bold confessor conqueror elder fair fat good great hunchback lame
    magnificent navigator pious red short silent simple small stammerer tall terrible white
    wise younger"""
)

RANKS = _set(
    """archbishop archduchess archduke baron baroness baronet bishop count countess crown dowager
    duchess duke earl elector emperor empress grand hereditary king lady landgrave lord margrave
    margravine marquess marquis prince princess queen sultan tsar viscount viscountess"""
)
"""After a comma they make one name of two ("Albert III, Duke of Bavaria")."""

TWINS = _set(
    """antigua barbuda bosnia caicos coburg gotha herzegovina kitts labrador nevis newfoundland
    tobago trinidad turks tyne wear"""
)

UNBYNAMED = _set("after and as at before by during for from gave in of on that to when while with")

TITULAR = HONORIFICS | DEMONYMS
NAMED_AFTER = INSTITUTIONS | BUILT
UNHYPHENED = ADJECTIVAL | STOP_WORDS | CONNECTORS
