"""Classes of objects and receptacles: what stands in which room, what lies in what, what can be done with it.

The classes, their properties and what a receptacle can hold are those of ALFRED (Shridhar et al. 2020), as
facts; the rooms are our own.
"""

from __future__ import annotations

_TABLE_TOP = """
    AlarmClock Apple BaseballBat BasketBall Book Bowl Box Bread ButterKnife CD Candle CellPhone Cloth
    CreditCard Cup DishSponge Egg Fork Glassbottle HandTowel Kettle KeyChain Knife Ladle Laptop Lettuce Mug
    Newspaper Pan PaperTowel Pen Pencil PepperShaker Plate Pot Potato RemoteControl SaltShaker SoapBar
    SoapBottle Spatula Spoon SprayBottle Statue TennisRacket TissueBox ToiletPaper ToiletPaperRoll Tomato
    Vase Watch WateringCan WineBottle
"""
_SEAT = "BasketBall Book Box CellPhone Cloth CreditCard KeyChain Laptop Newspaper Pillow RemoteControl"
_DESK_TOP = """
    AlarmClock BasketBall Book Bowl Box CD Candle CellPhone Cloth CreditCard Cup Glassbottle KeyChain Laptop
    Mug Newspaper Pen Pencil Plate RemoteControl SprayBottle Statue TennisRacket TissueBox ToiletPaper
    ToiletPaperRoll Vase Watch WateringCan WineBottle
"""
_CONTENTS = {
    "ArmChair": _SEAT,
    "BathtubBasin": "Cloth DishSponge HandTowel SoapBar",
    "Bed": "BaseballBat BasketBall Book CellPhone Laptop Newspaper Pillow TennisRacket",
    "Cabinet": """
        Book Bowl Box CD Candle Cloth Cup DishSponge Glassbottle HandTowel Kettle Ladle Mug Newspaper Pan
        PepperShaker Plate Plunger Pot SaltShaker SoapBar SoapBottle SprayBottle TissueBox ToiletPaper
        ToiletPaperRoll Vase WateringCan WineBottle
    """,
    "CoffeeMachine": "Mug",
    "CoffeeTable": _TABLE_TOP,
    "CounterTop": _TABLE_TOP,
    "Desk": _DESK_TOP + "SoapBottle",
    "DiningTable": _TABLE_TOP,
    "Drawer": """
        Book ButterKnife CD Candle CellPhone Cloth CreditCard DishSponge Fork HandTowel KeyChain Knife Ladle
        Newspaper Pen Pencil PepperShaker RemoteControl SaltShaker SoapBar SoapBottle Spatula Spoon
        SprayBottle TissueBox ToiletPaper ToiletPaperRoll Watch WateringCan
    """,
    "Dresser": _DESK_TOP,
    "Fridge": "Apple Bowl Bread Cup Egg Glassbottle Lettuce Mug Pan Plate Pot Potato Tomato WineBottle",
    "GarbageCan": """
        Apple Bread CD Cloth DishSponge Egg HandTowel Lettuce Newspaper PaperTowel Pen Pencil Potato SoapBar
        SoapBottle SprayBottle TissueBox ToiletPaper ToiletPaperRoll Tomato WineBottle
    """,
    "HandTowelHolder": "HandTowel",
    "LaundryHamper": "Cloth",
    "Microwave": "Apple Bowl Bread Cup Egg Glassbottle Mug Plate Potato Tomato",
    "Ottoman": _SEAT,
    "Safe": "CD CellPhone CreditCard KeyChain Statue Vase Watch",
    "Shelf": """
        AlarmClock Book Bowl Box CD Candle CellPhone Cloth CreditCard Cup DishSponge Glassbottle HandTowel
        Kettle KeyChain Mug Newspaper PaperTowel Pen Pencil PepperShaker Plate Pot RemoteControl SaltShaker
        SoapBar SoapBottle SprayBottle Statue TissueBox ToiletPaper ToiletPaperRoll Vase Watch WateringCan
        WineBottle
    """,
    "SideTable": _TABLE_TOP,
    "SinkBasin": """
        Apple Bowl ButterKnife Cloth Cup DishSponge Egg Fork Glassbottle HandTowel Kettle Knife Ladle
        Lettuce Mug Pan Plate Pot Potato SoapBar Spatula Spoon Tomato
    """,
    "Sofa": _SEAT,
    "StoveBurner": "Kettle Pan Pot",
    "TVStand": "TissueBox",
    "Toaster": "",  # sliced bread only, which these games don't have
    "Toilet": """
        Candle Cloth DishSponge HandTowel Newspaper PaperTowel SoapBar SoapBottle SprayBottle TissueBox
        ToiletPaper ToiletPaperRoll
    """,
    "ToiletPaperHanger": "ToiletPaper ToiletPaperRoll",
    "TowelHolder": "Towel",
}

CONTENTS = {receptacle: tuple(sorted(set(names.split()))) for receptacle, names in _CONTENTS.items()}
"""Receptacle class to the classes of objects that can be put there."""

OPENABLE = frozenset({"Cabinet", "Drawer", "Fridge", "Microwave", "Safe"})
"""Receptacle classes with a door: closed at first."""

FIXED = frozenset({"DeskLamp", "FloorLamp"})
"""Object classes that cannot be picked up: lamps. They can be switched on."""

_FOOD = "Apple Bread Egg Lettuce Potato Tomato"
PROPERTIES = {
    "isReceptacleObject": frozenset("Bowl Box Cup Mug Pan Plate Pot".split()),
    "cleanable": frozenset(
        """
        Apple Bowl ButterKnife Cloth Cup DishSponge Egg Fork Kettle Knife Ladle Lettuce Mug Pan Plate Pot
        Potato SoapBar Spatula Spoon Tomato
        """.split()
    ),
    "heatable": frozenset("Apple Bread Cup Egg Mug Plate Potato Tomato".split()),
    "coolable": frozenset((_FOOD + " Bowl Cup Mug Pan Plate Pot WineBottle").split()),
    "sliceable": frozenset(_FOOD.split()),
    "toggleable": FIXED,
}
"""Property, as the games name it, to the classes of objects that have it."""


class Room:
    """A kind of room: what stands in it and what may lie about.

    Attributes:
        first_scene: The number of the first scene of this kind; there are 30.
        furniture: Receptacle class to the least and the greatest number of them.
        objects: Object classes that are found there.
        lamps: Lamp to the receptacle classes that it stands on.
    """

    def __init__(
        self,
        first_scene: int,
        furniture: dict[str, tuple[int, int]],
        objects: str,
        lamps: dict[str, tuple[str, ...]] | None = None,
    ) -> None:
        self.first_scene = first_scene
        self.furniture = furniture
        self.objects = tuple(objects.split())
        self.lamps = lamps or {}


_LAMPS = {
    "DeskLamp": ("Desk", "SideTable", "Dresser", "Shelf"),
    "FloorLamp": ("SideTable", "Dresser", "Desk"),
}

ROOMS = {
    "kitchen": Room(
        1,
        {
            "Cabinet": (3, 9),
            "CoffeeMachine": (1, 1),
            "CounterTop": (1, 3),
            "DiningTable": (0, 1),
            "Drawer": (2, 6),
            "Fridge": (1, 1),
            "GarbageCan": (1, 1),
            "Microwave": (1, 1),
            "Shelf": (0, 2),
            "SideTable": (0, 1),
            "SinkBasin": (1, 1),
            "StoveBurner": (4, 4),
            "Toaster": (1, 1),
        },
        """
        Apple Bowl Bread ButterKnife Cup DishSponge Egg Fork Glassbottle Kettle Knife Ladle Lettuce Mug Pan
        PaperTowel PepperShaker Plate Pot Potato SaltShaker SoapBottle Spatula Spoon Statue Tomato Vase
        WineBottle
        """,
    ),
    "livingroom": Room(
        201,
        {
            "ArmChair": (1, 2),
            "Cabinet": (0, 3),
            "CoffeeTable": (1, 2),
            "DiningTable": (0, 1),
            "Drawer": (1, 4),
            "Dresser": (0, 1),
            "GarbageCan": (1, 1),
            "Ottoman": (0, 1),
            "Safe": (0, 1),
            "Shelf": (0, 3),
            "SideTable": (1, 2),
            "Sofa": (1, 1),
            "TVStand": (0, 1),
        },
        """
        Book Bowl Box Candle CellPhone CreditCard KeyChain Laptop Newspaper Pillow Plate RemoteControl
        Statue TissueBox Vase Watch WateringCan
        """,
        _LAMPS,
    ),
    "bedroom": Room(
        301,
        {
            "Bed": (1, 1),
            "Desk": (1, 1),
            "Drawer": (2, 6),
            "Dresser": (0, 1),
            "GarbageCan": (1, 1),
            "LaundryHamper": (0, 1),
            "Safe": (0, 1),
            "Shelf": (1, 4),
            "SideTable": (1, 2),
        },
        """
        AlarmClock BaseballBat BasketBall Book Bowl Box CD CellPhone Cloth CreditCard KeyChain Laptop Mug
        Pen Pencil Pillow TennisRacket TissueBox Watch
        """,
        _LAMPS,
    ),
    "bathroom": Room(
        401,
        {
            "BathtubBasin": (0, 1),
            "Cabinet": (2, 4),
            "CounterTop": (1, 1),
            "Drawer": (0, 4),
            "GarbageCan": (1, 1),
            "HandTowelHolder": (1, 2),
            "Shelf": (0, 2),
            "SideTable": (0, 1),
            "SinkBasin": (1, 2),
            "Toilet": (1, 1),
            "ToiletPaperHanger": (1, 1),
            "TowelHolder": (1, 1),
        },
        """
        Candle Cloth DishSponge HandTowel PaperTowel Plunger SoapBar SoapBottle SprayBottle TissueBox
        ToiletPaper ToiletPaperRoll Towel
        """,
    ),
}
"""Kind of room to what is in it."""
