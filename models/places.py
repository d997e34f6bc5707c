"""Places that every reader of English knows, by which "stories about Chicago" asks for a place."""

from __future__ import annotations

__all__ = ["PLACES"]

_COUNTRIES = """
    afghanistan, albania, algeria, angola, argentina, armenia, australia, austria, azerbaijan,
    bahamas, bahrain, bangladesh, barbados, belarus, belgium, belize, benin, bhutan, bolivia,
    bosnia and herzegovina, botswana, brazil, britain, brunei, bulgaria, burkina faso, burma,
    burundi, cambodia, cameroon, canada, chile, china, colombia, congo, costa rica, croatia, cuba,
    cyprus, czech republic, czechoslovakia, denmark, dominican republic, east germany, ecuador,
    egypt, el salvador, england, eritrea, estonia, ethiopia, fiji, finland, france, gabon, gambia,
    germany, ghana, great britain, greece, greenland, guatemala, guinea, guyana, haiti, holland,
    honduras, hungary, iceland, india, indonesia, iran, iraq, ireland, israel, italy, ivory coast,
    jamaica, japan, kazakhstan, kenya, korea, kosovo, kuwait, kyrgyzstan, laos, latvia, lebanon,
    lesotho, liberia, libya, liechtenstein, lithuania, luxembourg, madagascar, malawi, malaysia,
    maldives, mali, malta, mauritania, mauritius, mexico, moldova, monaco, mongolia, montenegro,
    morocco, mozambique, myanmar, namibia, nepal, netherlands, new zealand, nicaragua, niger,
    nigeria, north korea, north macedonia, northern ireland, norway, oman, ottoman empire,
    pakistan, palestine, panama, papua new guinea, paraguay, persia, peru, philippines, poland,
    portugal, prussia, puerto rico, qatar, romania, russia, rwanda, samoa, saudi arabia, scotland,
    senegal, serbia, sierra leone, singapore, slovakia, slovenia, somalia, south africa, south
    korea, south sudan, soviet union, spain, sri lanka, sudan, sweden, switzerland, syria, taiwan,
    tajikistan, tanzania, thailand, tibet, togo, tonga, trinidad and tobago, tunisia,
    turkmenistan, uganda, uk, ukraine, united arab emirates, united kingdom, united states, united
    states of america, uruguay, usa, uzbekistan, venezuela, vietnam, wales, west germany, yemen,
    yugoslavia, zambia, zimbabwe"""

_REGIONS = """
    africa, alabama, alaska, alberta, alps, andalusia, antarctica, appalachia, arctic, arizona,
    arkansas, asia, bavaria, bengal, british columbia, brittany, brooklyn, california, caribbean,
    catalonia, central america, colorado, connecticut, cornwall, crimea, europe, flanders,
    florida, harlem, hawaii, hollywood, idaho, illinois, iowa, kansas, kashmir, kentucky, latin
    america, louisiana, maine, manhattan, manitoba, maryland, massachusetts, michigan, middle
    east, minnesota, mississippi, missouri, montana, nebraska, nevada, new england, new hampshire,
    new jersey, new mexico, new south wales, new york, normandy, north america, north carolina,
    north dakota, nova scotia, ohio, oklahoma, ontario, oregon, pennsylvania, provence, quebec,
    queensland, rhode island, rocky mountains, sahara, saskatchewan, saxony, scandinavia, siberia,
    sicily, silesia, south america, south carolina, south dakota, tasmania, tennessee, texas,
    transylvania, tuscany, tyrol, utah, vermont, west virginia, wisconsin, wyoming, yorkshire"""

_CITIES = """
    addis ababa, amsterdam, ankara, antwerp, athens, atlanta, auckland, baghdad, baltimore,
    bangkok, barcelona, beijing, beirut, belfast, belgrade, berlin, birmingham, bogota, bombay,
    boston, bristol, brussels, bucharest, budapest, buenos aires, buffalo, cairo, calcutta, cape
    town, caracas, casablanca, chennai, chicago, cincinnati, cleveland, cologne, constantinople,
    copenhagen, dallas, damascus, delhi, denver, detroit, dresden, dubai, dublin, edinburgh,
    frankfurt, geneva, genoa, glasgow, hamburg, hanoi, havana, helsinki, hiroshima, hong kong,
    honolulu, houston, istanbul, jakarta, jerusalem, johannesburg, kabul, karachi, kiev, kolkata,
    krakow, kyiv, kyoto, lagos, lahore, las vegas, leeds, leipzig, leningrad, lima, lisbon,
    liverpool, london, los angeles, lyon, madras, madrid, manchester, manila, marseille,
    melbourne, memphis, mexico city, miami, milan, milwaukee, minneapolis, montreal, moscow,
    mumbai, munich, nagasaki, nairobi, naples, nashville, new delhi, new orleans, new york city,
    oslo, ottawa, oxford, palermo, paris, philadelphia, pittsburgh, prague, rio de janeiro, rome,
    saigon, saint petersburg, salt lake city, san diego, san francisco, santiago, sao paulo,
    sarajevo, seattle, seoul, seville, shanghai, sofia, st louis, st petersburg, stockholm,
    sydney, tehran, tel aviv, tokyo, toronto, turin, vancouver, venice, vienna, vilnius, warsaw,
    washington dc, wellington, zagreb, zurich"""

PLACES = frozenset(
    " ".join(name.split()) for name in f"{_COUNTRIES}, {_REGIONS}, {_CITIES}".split(",")
)
"""Normalised. Left out is what is as often a person or a thing (Georgia, Jordan, Turkey)."""
