"""The vocabulary of the move engine, as tables of patterns over plain lower-case text."""

from __future__ import annotations

from collections.abc import Mapping

PHRASES: tuple[tuple[str, str], ...] = (
    # Phrases of several words with a single meaning.
    (r"\bblack and white\b", "monochrome"),
    (r"\bhand held\b", "handheld"),
    (r"\bclose up\b", "closeup"),
    (r"\bslow mo(?:tion)?\b", "slowly"),
    (r"\bmotion blur\b", "blur"),
    (r"\bgolden hour\b", "sunset"),
    (r"\b(?:sun|moon) ris(?:es|ing)\b|\bris(?:es|ing) (?:sun|moon)\b", "sunrise"),
    (r"\bsun sets\b|\bsetting sun\b", "sunset"),
    (r"\bnight falls\b", "nightfall"),
    (r"\bwav(?:es|ing) in the (wind|breeze)\b", r"\1"),
    (r"\b(steam|smoke|mist|fog)((?: \w+ly)?) ris(?:es|ing)\b", r"\1\2"),
    (r"\b(?:falling|autumn|drifting|swirling) leaves\b|\bleaves fall(?:ing)?\b", "leaffall"),
    (r"\bken burns(?: effect)?\b", "zoom in"),
    (r"\bdolly zoom\b", "vertigo"),
    (r"\b(?:counter|anti) ?clockwise\b", "anticlockwise"),
    (r"\bup and down\b", "bobbing"),
    (r"\b(?:back and forth|(?:from )?side to side|left and right)\b", "swinging"),
    (r"\bdutch (?:angle|tilt)\b|\btilt(?:s|ing|ed)? sideways\b", "dutch"),
    # The origin of a move, replaced by its direction.
    (r"\b(?:from )?(?:the )?left to (?:the )?right\b|\bfrom the left\b", "rightward"),
    (r"\b(?:from )?(?:the )?right to (?:the )?left\b|\bfrom the right\b", "leftward"),
    (r"\b(?:from )?(?:the )?top to (?:the )?bottom\b|\bfrom above\b", "downward"),
    (r"\b(?:from )?(?:the )?bottom to (?:the )?top\b|\bfrom below\b", "upward"),
    (r"\b(?:to|towards?) (?:the |its |his |her )?(left|right)\b(?: side)?", r"\1ward"),
    # A position, not a direction.
    (r"\b(?:on|at|in|of) (?:the|his|her|its|their) (?:far |very )?(left|right)\b(?: hand)?(?: side)?", r"place\1"),
    # Phrases that only resemble moves.
    (r"\b(?:all right|right (?:now|away|after|before|behind|next)|left (?:hand|the|a|behind|alone)|right hand)\b", " "),
    (r"\bfar away\b|\bupside down\b|\b(?:slow|calm|sits?|lies?|lying) down\b", " "),
    (r"\b(?:lights?|lit|wakes?|made|makes?|dress(?:ed)?|grown|speeds?|picks?) up\b", " "),
    (r"\bwav(?:es|ing) (?:at|to|goodbye|hello|his|her|their)\b|\bsnow (?:covered|capped)\b", " "),
    (r"\brolling (?:hills?|meadows?|countryside|thunder|stone)\b", " "),
    (r"\b(waves?|fog|clouds?|mist|balls?|tears?|surf)((?: \w+ly)?) roll(?:s|ing)?\b", r"\1\2"),
    (r"\bshak(?:e|es|ing) (?:hands?|(?:his|her|their) heads?)\b", " "),
    (r"\b(rain|snow\w*|petals?|confetti)((?: \w+ly)?) (?:falls?|falling|comes?|coming|drifts?)(?: down)?\b", r"\1\2"),
    (r"\b(?:falling|drifting) (rain|snow\w*|petals?|confetti)\b", r"\1"),
)
"""Applied in this order, each replaced by one word that the other tables contain."""

THEN = r"\b(?:and )?(?:then|after that|afterwards|finally)\b|\bbefore (?=\w+ing\b)"
"""Separators between the steps of a prompt."""

KINDS: Mapping[str, str] = {
    # The camera.
    "zoom": r"zoom\w*|magnif\w+|enlarg\w+",
    "dolly": (
        r"doll(?:y|ies|ying)|closer|nearer|approach\w*|forwards?|push(?:es|ing)? (?:\w+ )?in|pull(?:s|ing)? (?:\w+ )?(?:back|out|away)"
        r"|backwards?|back(?:s|ing)? away|reced\w+|retreat\w*|reveal\w*|widen\w*|walks? away|towards?|towards (?:the )?camera"
        r"|(?:mov|fl|track|glid|creep|travel)\w*(?: \w+ly)? (?:in|into|through|inside|out|back|away)|(?:sail|driv|run|rid|go)\w* away"
    ),
    "vertigo": r"vertigo",
    "pan": r"pan|pans|panned|panning|look(?:s|ing)? around|sweep\w*",
    "tilt": r"tilt\w*",
    "truck": r"truck|trucks|trucking|slid(?:e|es|ing)|track(?:s|ing)?",
    "crane": r"crane|jib|boom|pedestal|drone|aerial",
    "roll": r"rotat\w+|spin\w*|roll|rolls|rolling|dutch|twist\w*|anticlockwise|clockwise",
    "orbit": (
        r"orbit\w*|circl(?:e|es|ing)|revolv\w+|arc shot|arcs|parallax|3d|360(?: degrees?)?"
        r"|(?:mov|fl|go|rotat|spin|swing|sweep|travel|wrap)\w*(?: \w+ly)? (?:all )?(?:around|about)"
    ),
    "shake": r"handheld|shak(?:e|es|y|ing|iness)|jitter\w*|jerk\w*|wobbl\w*|earthquake|trembl\w*|tremors?|bumpy|unsteady|vibrat\w*",
    "swing": r"swing\w*|pendulum",
    # Movement in the scene.
    "drift": r"(?:mov|drift|sail|walk|runn?)ing (?:object|subject|people|boat)s?",
    "ripple": r"ripp?l\w*|water|waves?|wavy|lakes?|seas?|oceans?|rivers?|streams?|ponds?|surf|underwater|waterfalls?|shimmer\w*|reflections?|puddles?",
    "sway": r"wind|windy|breez\w+|sway\w*|rustl\w*|flutter\w*|billow\w*|blow(?:s|ing)?|grass|leaves|hair",
    "bob": r"rocking|bob(?:s|bing)?|float(?:s|ing)?|hover\w*|levitat\w*|bounc\w+",
    "breathe": r"breath\w*|puls(?:e|es|ing|ate|ates|ating)|heartbeat|throb\w*",
    "heat": r"heat|flames?|fires?|campfire|bonfire|desert|mirage",
    # Light.
    "warm": r"sunset|sunrise|dawn|glow\w*|warm light|warmth",
    "dusk": r"dusk|nightfall|twilight|darken\w*|gets? dark(?:er)?|grows? dark(?:er)?",
    "bright": r"brighten\w*|gets? brighter|grows? brighter|daybreak|sunrise|sun comes out",
    "flicker": r"flicker\w*|candle\w*|torch\w*|firelight|campfire|bonfire|fireplace|neon|strob\w+",
    "flash": r"lightning|thunder\w*|flash(?:es|ing)?",
    "grey": r"monochrome|desaturat\w+|gr[ae]yscale|colou?rs? fades?",
    # Weather.
    "rain": r"rain(?:s|y|ing|drops?|fall|storm)?|drizzl\w+|downpour",
    "snow": r"snow(?:s|ing|flakes?|fall|storm)?|blizzard|flurries",
    "petals": r"petals?|blossoms?|sakura|confetti",
    "leaves": r"leaffall",
    "sparks": r"sparks?|embers?|firefl(?:y|ies)|glitter\w*|sparkles?|magic(?:al)?",
    "fog": r"fog\w*|mist|mists|misty|haz(?:e|y)|smok(?:e|y|ing)|steam\w*",
}
"""The kinds of moves and effects, and the words that name them."""

QUALITIES: Mapping[str, str] = {
    "blur": r"blur\w*|soft focus|out of focus|unsharp|pixelat\w+|low res\w*",
    "distort": r"distort\w*|warp\w*|deform\w*|morph\w*|bend\w*|stretch\w*|disfigur\w*",
    "fast": r"fast\w*|quick\w*|rapid\w*|hectic|sudden\w*|abrupt\w*|jump\w*",
    "slow": r"slow\w*|sluggish|lazy",
    "still": r"static|still|frozen|motionless|stationary|freeze\w*",
}
"""Qualities that only a negative prompt names."""

MOTION = r"(?:no |any |all |the |excessive |too much )*(?:camera )?(?:motion|movement|move)s?|moving camera"
"""A negative clause that forbids any camera move."""

NO = r"\b(?:no|not|never|without|dont|don t|avoid\w*|nothing|isn t|doesn t|does not)\b"

STILL = (
    r"\b(?:static|fixed|locked(?: off| down)?|motionless|stationary) (?:camera|shot|view|frame)\b"
    r"|\b(?:camera|shot|view|frame) (?:\w+ )?(?:static|fixed|locked|still|steady|motionless|stationary)\b"
    r"|\btripod\b|\b(?:no|without(?: any)?) (?:camera )?(?:motion|movement|moves?)\b|\bcamera (?:does not|doesn t) move\b"
    r"|(?:^|[,.;])\s*(?:static|still|motionless)\s*(?:$|[,.;])"
)

BACK = r"\b(?:out|outwards?|back(?! in)|backwards?|backs|backing|away|reced\w+|retreat\w*|reveal\w*|widen\w*)\b"
"""Words that reverse a zoom or a dolly."""

VERY = r"\b(?:very|extremely|ultra|really|super|so|too)\b"
CALM = (
    r"\b(?:slow\w*|gentl\w+|gentle|subtl\w+|gradual\w*|soft\w*|calm\w*|smooth\w*|lazy|lazily|slight\w*|peaceful\w*|serene\w*|barely|a bit"
    r"|a little|tiny|quiet\w*|leisurely|delicate\w*)\b"
)
LIVELY = (
    r"\b(?:fast\w*|quick\w*|rapid\w*|swift\w*|sudden\w*|whip|crash|dramatic\w*|dynamic\w*|energetic\w*|strong\w*|intense\w*|extreme\w*|heav\w+"
    r"|huge|deep\w*|violent\w*|wild\w*|rush\w*|timelapse|hyperlapse|speed\w*)\b"
)

CAMERA_WORD = r"\b(?:camera|cam|shot|view|viewpoint|lens|frame|footage|we|drone|pan|pans|panning|tilt\w*|truck\w*|track\w*|crane|jib|boom|pedestal|dolly\w*)\b"

SUBJECT_VERB = (
    r"\b(?:mov(?:es?|ing)|drift(?:s|ing)?|sail(?:s|ing)?|walk(?:s|ing)?|run(?:s|ning)?|fl(?:y|ies|ying)|swim(?:s|ming)?|driv(?:es?|ing)|rid(?:es?|ing)"
    r"|gallop\w*|glid(?:es?|ing)|float(?:s|ing)?|go(?:es|ing)?|travel(?:s|ling)?|cross(?:es|ing)?|slid(?:es?|ing)|rac(?:es?|ing)|march\w*|danc\w+"
    r"|jump\w*|pass(?:es|ing)?|ris(?:es?|ing)|climb\w*|ascend\w*|descend\w*|sink(?:s|ing)?|fall(?:s|ing)?|lean(?:s|ing)?|turn(?:s|ing)?|scroll\w*|shift\w*)\b"
)

MOVER = rf"{SUBJECT_VERB}|\b(?:look\w*|sweep\w*|swing\w*|push\w*|pull\w*|zoom\w*|follow\w*|lift\w*|lower\w*|orbit\w*|circl\w+|rotat\w+|arc\w*)\b"

WHOLE = rf"{CAMERA_WORD}|\b(?:picture|image|photo|screen|world|scene|clockwise|anticlockwise|dutch)\b"
"""Words with which a turn applies to the complete picture, and not to an object in it."""

AIMS: Mapping[str, tuple[float, float, bool]] = {
    "left": (-1, 0, False),
    "leftward": (-1, 0, True),
    "leftwards": (-1, 0, True),
    "right": (1, 0, False),
    "rightward": (1, 0, True),
    "rightwards": (1, 0, True),
    "up": (0, -1, False),
    "upward": (0, -1, True),
    "upwards": (0, -1, True),
    "rise": (0, -1, False),
    "rises": (0, -1, False),
    "rising": (0, -1, False),
    "ascend": (0, -1, False),
    "ascends": (0, -1, False),
    "ascending": (0, -1, False),
    "lifts": (0, -1, False),
    "lifting": (0, -1, False),
    "down": (0, 1, False),
    "downward": (0, 1, True),
    "downwards": (0, 1, True),
    "descend": (0, 1, False),
    "descends": (0, 1, False),
    "descending": (0, 1, False),
    "lowers": (0, 1, False),
    "lowering": (0, 1, False),
    "falls": (0, 1, False),
    "falling": (0, 1, False),
    "sinks": (0, 1, False),
    "sinking": (0, 1, False),
}
"""Words of direction: right, down, and whether they are a direction even without another word of motion."""

PLACES: Mapping[str, tuple[float, float]] = {
    "placeleft": (-1, 0),
    "placeright": (1, 0),
    "left": (-1, 0),
    "right": (1, 0),
    "top": (0, -1),
    "upper": (0, -1),
    "bottom": (0, 1),
    "lower": (0, 1),
    "sky": (0, -1),
    "ground": (0, 1),
    "floor": (0, 1),
}
"""Words for a part of the picture that a zoom can aim at."""
