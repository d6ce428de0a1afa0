"""The rules of our own games in the form of the official game files: a PDDL domain and a grammar.

The native engine has the same rules built in and reads verbs and sentences from here; the original engine
reads all of it. Predicates, actions and sentences bear the official names and words, so either engine plays
both kinds of game.
"""

from __future__ import annotations

import json

_HERE = "(atLocation ?a ?l) (receptacleAtLocation ?r ?l)"
_REACH = "(or (not (openable ?r)) (opened ?r))"
_COST = "(increase (total-cost) 1)"

_ACTIONS = {
    # name: (parameters, precondition, effect)
    "look": ("?a - agent ?l - location", "(atLocation ?a ?l)", "(checked ?l)"),
    "inventory": ("?a - agent", "", "(checked ?a)"),
    "help": ("?a - agent", "", "(checked ?a)"),
    "examineReceptacle": (
        "?a - agent ?r - receptacle",
        f"(exists (?l - location) (and {_HERE}))",
        "(checked ?r)",
    ),
    "examineObject": (  # the comma is the official domain's slip: objects that lie about can't be examined
        "?a - agent ?o - object",
        "(or (holds ?a ?o) (exists (?l - location, ?r - receptacle) "
        f"(and {_HERE} (inReceptacle ?o ?r) {_REACH})))",
        "(checked ?o)",
    ),
    "GotoLocation": (
        "?a - agent ?lStart - location ?lEnd - location ?r - receptacle",
        "(atLocation ?a ?lStart) (receptacleAtLocation ?r ?lEnd)",
        f"(not (atLocation ?a ?lStart)) (atLocation ?a ?lEnd) {_COST}",
    ),
    "OpenObject": (
        "?a - agent ?l - location ?r - receptacle",
        f"(openable ?r) {_HERE} (not (opened ?r))",
        f"(opened ?r) {_COST}",
    ),
    "CloseObject": (
        "?a - agent ?l - location ?r - receptacle",
        f"(openable ?r) {_HERE} (opened ?r)",
        f"(not (opened ?r)) {_COST}",
    ),
    "PickupObject": (
        "?a - agent ?l - location ?o - object ?r - receptacle",
        f"(pickupable ?o) {_HERE} (inReceptacle ?o ?r) (not (holdsAny ?a)) {_REACH}",
        f"(holds ?a ?o) (holdsAny ?a) (not (inReceptacle ?o ?r)) (not (objectAtLocation ?o ?l)) {_COST}",
    ),
    "PutObject": (
        "?a - agent ?l - location ?o - object ?r - receptacle ?ot - otype ?rt - rtype",
        f"(holds ?a ?o) {_HERE} {_REACH} (objectType ?o ?ot) (receptacleType ?r ?rt) (canContain ?rt ?ot)",
        f"(inReceptacle ?o ?r) (objectAtLocation ?o ?l) (not (holds ?a ?o)) (not (holdsAny ?a)) {_COST}",
    ),
    "CleanObject": (
        "?a - agent ?l - location ?r - receptacle ?o - object",
        f"(cleanable ?o) (receptacleType ?r SinkBasinType) {_HERE} (holds ?a ?o)",
        f"(isClean ?o) {_COST}",
    ),
    "HeatObject": (
        "?a - agent ?l - location ?r - receptacle ?o - object",
        f"(heatable ?o) (receptacleType ?r MicrowaveType) {_HERE} (holds ?a ?o)",
        f"(isHot ?o) (not (isCool ?o)) {_COST}",
    ),
    "CoolObject": (
        "?a - agent ?l - location ?r - receptacle ?o - object",
        f"(coolable ?o) (receptacleType ?r FridgeType) {_HERE} (holds ?a ?o)",
        f"(isCool ?o) (not (isHot ?o)) {_COST}",
    ),
    "ToggleObject": (
        "?a - agent ?l - location ?o - object ?r - receptacle",
        f"(toggleable ?o) {_HERE} (inReceptacle ?o ?r)",
        f"(isToggled ?o) (when (isOn ?o) (not (isOn ?o))) (when (not (isOn ?o)) (isOn ?o)) {_COST}",
    ),
    "SliceObject": (
        "?a - agent ?l - location ?co - object ?ko - object",
        "(sliceable ?co) (or (objectType ?ko KnifeType) (objectType ?ko ButterKnifeType)) (atLocation ?a ?l) "
        "(objectAtLocation ?co ?l) (holds ?a ?ko)",
        f"(isSliced ?co) {_COST}",
    ),
}

_PREDICATES = """
    (atLocation ?a - agent ?l - location) (receptacleAtLocation ?r - receptacle ?l - location)
    (objectAtLocation ?o - object ?l - location) (inReceptacle ?o - object ?r - receptacle)
    (inReceptacleObject ?inner - object ?outer - object) (receptacleType ?r - receptacle ?t - rtype)
    (objectType ?o - object ?t - otype) (canContain ?rt - rtype ?ot - otype) (openable ?r - receptacle)
    (opened ?r - receptacle) (holds ?a - agent ?o - object) (holdsAny ?a - agent) (checked ?x)
    (isReceptacleObject ?o - object) (pickupable ?o - object) (cleanable ?o - object) (isClean ?o - object)
    (heatable ?o - object) (isHot ?o - object) (coolable ?o - object) (isCool ?o - object)
    (toggleable ?o - object) (isToggled ?o - object) (isOn ?o - object) (sliceable ?o - object)
    (isSliced ?o - object)
"""

NAMED_TYPES = {
    "otype": ("ButterKnifeType", "KnifeType"),
    "rtype": ("FridgeType", "MicrowaveType", "SinkBasinType"),
}
"""The types that the domain names, which every problem has to declare therefore."""

_CONTENTS = "[{o.indefinite + ' ' + o.name | inreceptacle(o:object, r:receptacle)}]"
_ALL_RECEPTACLES = "[{r.indefinite + ' ' + r.name | receptacleatlocation(r:receptacle, l:location)}]"
_FACED = "[{r.name | atlocation(a:agent, l:location) & receptacleatlocation(r:receptacle, l:location)}]"

_HELP = """
What can be done here:
  look                                 see where you are
  inventory                            see what you carry
  go to (receptacle)                   walk to a receptacle
  open (receptacle)                    open it
  close (receptacle)                   close it
  take (object) from (receptacle)      pick an object up
  move (object) to (receptacle)        put an object in or on a receptacle
  examine (something)                  look at a receptacle or an object closely
  use (object)                         switch an object on
  heat (object) with (receptacle)      make an object hot
  clean (object) with (receptacle)     make an object clean
  cool (object) with (receptacle)      make an object cold
  slice (object) with (object)         cut an object with a sharp one
"""

_SAYS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    # action: (command, what is said: the first whose condition holds)
    "GotoLocation": (
        "go to [{r.name | receptacleatlocation(r:receptacle, lend:location)}]",
        [("", "You arrive at {r.name}. #examineReceptacle.feedback#")],
    ),
    "OpenObject": ("open {r}", [("", "You open the {r.name}. #examineReceptacle.feedback#")]),
    "CloseObject": ("close {r}", [("", "You close the {r.name}.")]),
    "PickupObject": ("take {o} from {r}", [("", "You pick up the {o.name} from the {r.name}.")]),
    "PutObject": ("move {o} to {r}", [("", "You move the {o.name} to the {r.name}.")]),
    "inventory": (
        "inventory",
        [
            (
                "holdsany(a:agent)",
                "You are carrying: [{o.indefinite + ' ' + o.name | holds(a:agent, o:object)}].",
            ),
            ("", "You are not carrying anything."),
        ],
    ),
    "examineReceptacle": (
        "examine {r}",
        [
            (
                "openable(r:receptacle) & opened(r:receptacle)",
                f"The {{r.name}} is open. In it, you see {_CONTENTS}.",
            ),
            ("openable(r:receptacle)", "The {r.name} is closed."),
            ("", f"On the {{r.name}}, you see {_CONTENTS}."),
        ],
    ),
    "examineObject": (
        "examine {o}",
        [
            (
                "isreceptacleobject(o:object)",
                "This is a normal {o.name}. In it, you see "
                "[{o2.indefinite + ' ' + o2.name | inreceptacleobject(o2:object, o:object)}].",
            ),
            *(
                (" & ".join(f"{fact}(o:object)" for fact in facts.split()), f"This is a {words} {{o.name}}.")
                for facts, words in (
                    ("isclean ishot issliced", "hot and clean sliced"),
                    ("isclean iscool issliced", "cool and clean sliced"),
                    ("isclean issliced", "clean sliced"),
                    ("ishot issliced", "hot sliced"),
                    ("iscool issliced", "cool sliced"),
                    ("isclean ishot", "hot and clean"),
                    ("isclean iscool", "cool and clean"),
                    ("ishot", "hot"),
                    ("isclean", "clean"),
                    ("iscool", "cold"),
                )
            ),
            ("toggleable(o:object) & istoggled(o:object)", "This {o.name} is on."),
            ("toggleable(o:object) & not_istoggled(o:object)", "This {o.name} is off."),
            ("sliceable(o:object) & issliced(o:object)", "This is a sliced {o.name}."),
            ("", "There's nothing special about {o.name}."),
        ],
    ),
    "ToggleObject": ("use {o}", [("", "You turn on the {o.name}.")]),
    "HeatObject": ("heat {o} with {r}", [("", "You heat the {o.name} using the {r.name}.")]),
    "CleanObject": ("clean {o} with {r}", [("", "You clean the {o.name} using the {r.name}.")]),
    "CoolObject": ("cool {o} with {r}", [("", "You cool the {o.name} using the {r.name}.")]),
    "SliceObject": ("slice {co} with {ko}", [("", "You sliced the {co.name} with the {ko.name}.")]),
    "look": (
        "look",
        [
            (
                "atlocation(a:agent, l:location) & receptacleatlocation(r:receptacle, l:location)",
                f"You are facing the {_FACED}. Next to it, you see nothing.",
            ),
            (
                "",
                "You are in the middle of a room. Looking quickly around you, you see #list_appliances#.",
            ),
        ],
    ),
    "help": ("help", [("", _HELP)]),
}


def domain() -> str:
    """Return the PDDL domain."""
    lines = [
        "(define (domain alfred)",
        "(:requirements :adl :action-costs :typing)",
        "(:types agent location receptacle object rtype otype)",
        f"(:predicates {_PREDICATES})",
        "(:functions (total-cost) - number)",
    ]
    for name, (parameters, precondition, effect) in _ACTIONS.items():
        needs = f"(and {precondition})" if precondition else "()"
        lines.append(
            f"(:action {name}\n  :parameters ({parameters})\n"
            f"  :precondition {needs}\n  :effect (and {effect}))"
        )
    return "\n".join([*lines, ")", ""])


def grammar(sentence: str) -> str:
    """Return the grammar of a game.

    Args:
        sentence: What the agent is told to do.
    """
    rules = {
        "intro": [("", "-= Welcome to TextWorld, ALFRED! =-\n\n#look.feedback#\n\n#task#")],
        "task": [("", sentence)],
        "list_appliances": [
            ("receptacleatlocation(r:receptacle, l:location)", _ALL_RECEPTACLES),
            ("", "nothing"),
        ],
        "list_empty": [("", "nothing")],
        "list_separator": [("", ", ")],
        "list_last_separator": [("", ", and ")],
    }
    rules.update({f"{action}.feedback": says for action, (_, says) in _SAYS.items()})
    blocks = [f'grammar :: """\n{_spelled(rules)}\n""";']
    for action, (command, _) in _SAYS.items():
        blocks.append(
            f'action {action} {{\n    template :: "{command}";\n    feedback :: "#{action}.feedback#";\n}}'
        )
    return "\n\n".join(blocks) + "\n"


def _spelled(rules: dict[str, list[tuple[str, str]]]) -> str:
    spelled = {
        name: [
            {"condition": condition, "rhs": says} if condition else {"rhs": says}
            for condition, says in choices
        ]
        for name, choices in rules.items()
    }
    return json.dumps(spelled, indent=1)
