"""A product of the shop, as its pages, the search and the reward need it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Product:
    """One loaded product. The texts are as the data files have them, the options are normalised.

    Attributes:
        asin: The product's id, upper case, 10 characters at most.
        title: The name shown on results and item pages.
        description: The text of the description page.
        bullets: The lines of the features page; at least one.
        pricing: One price or the two ends of a range, in dollars.
        price_tag: The price as the pages show it, such as ``$12.99`` or ``$12.99 to $24.99``.
        price: The price of this run, in dollars: drawn once where `pricing` is a range.
        options: Option name to its values, both lower-cased, in the order of the data file.
        option_images: Option value to the address of its picture, if it has one (HTML pages only).
        attributes: The attributes the reward compares.
        query: The query the product was collected with, lower-cased.
        category: The top category, such as ``garden``.
        product_category: The category path, its levels separated by U+203A.
        main_image: The address of the main picture.
        title_nouns: The nouns of the title, lower-cased, in order, with repeats.
        instruction: The text synthetic goals for this product begin with; None when it has none.
        instruction_attributes: The attributes such goals ask for.
    """

    asin: str
    title: str
    description: str
    bullets: tuple[str, ...]
    pricing: tuple[float, ...]
    price_tag: str
    price: float
    options: dict[str, tuple[str, ...]]
    option_images: dict[str, str | None]
    attributes: tuple[str, ...]
    query: str
    category: str
    product_category: str
    main_image: str
    title_nouns: tuple[str, ...]
    instruction: str | None
    instruction_attributes: tuple[str, ...]

    def search_contents(self) -> str:
        """Return the text that the search index holds for this product."""
        options = ", and ".join(f"{name}: {', '.join(values)}" for name, values in self.options.items())
        return f"{self.title} {self.description} {self.bullets[0]} {options}".lower()
