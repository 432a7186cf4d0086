"""The tree selector: binary splits on axes, on features of them, and on categories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, Tag, model_validator

from codegen.axes import Shape
from codegen.decision import Among, Choose, Decision, Split, count_leaves, depth_of
from codegen.errors import listed, shown
from codegen.features import AxisTerm, Cdiv, Feature, Mod, Product, Ratio, Term, value_of
from codegen.fields import AxisValueField, Identifier, Int64, Positive, Strict, only_a_leaf
from codegen.selectors.base import MAX_DEPTH, MAX_LEAVES, Site

__all__ = ["Tree", "TreeBody", "TreePayload"]


@dataclass(frozen=True, slots=True)
class Tree:
    """A decision, walked from its root."""

    root: Decision
    kind = "tree"
    pinned: tuple[tuple[Shape, int], ...] = ()

    def choose(self, sizes: Mapping[str, Any]) -> int:
        """Walk to the leaf that `sizes` reaches and return its config."""
        node = self.root
        while not isinstance(node, Choose):
            node = node.left if goes_left(node, sizes) else node.right
        return node.config

    def lower(self) -> Decision:
        """Return the tree itself: it is a decision already."""
        return self.root


def goes_left(node: Split | Among, sizes: Mapping[str, Any]) -> bool:
    """Say whether `sizes` answers the question of `node` with yes."""
    if isinstance(node, Among):
        return sizes[node.axis] in node.values
    if isinstance(node.feature, Ratio):
        numerator = value_of(node.feature.numerator, sizes)
        denominator = value_of(node.feature.denominator, sizes)
        return numerator * node.denominator <= node.threshold * denominator
    return value_of(node.feature, sizes) <= node.threshold


class AxisField(Strict):
    """`{"axis": "M"}`."""

    axis: Identifier

    def build(self, site: Site) -> Term:
        """Return the term; raises ManifestError unless it is an integer axis."""
        return AxisTerm(site.at("axis").integer_axis(self.axis))


class CdivField(Strict):
    """`{"cdiv": "M", "by": 128}`."""

    cdiv: Identifier
    by: Positive

    def build(self, site: Site) -> Term:
        """Return the term; raises ManifestError unless it is of an integer axis."""
        return Cdiv(site.at("cdiv").integer_axis(self.cdiv), self.by)


class ModField(Strict):
    """`{"mod": "K", "by": 64}`."""

    mod: Identifier
    by: Positive

    def build(self, site: Site) -> Term:
        """Return the term; raises ManifestError unless it is of an integer axis."""
        return Mod(site.at("mod").integer_axis(self.mod), self.by)


def _form(value: Any) -> str:
    """Name the form of a feature by the key that only this form has."""
    if isinstance(value, dict):
        return next((f"<{form}>" for form in _FORMS if form in value), "<axis>")
    return next(
        (f"<{form}>" for form, model in _FORMS.items() if isinstance(value, model)), "<axis>"
    )


TermField: TypeAlias = Annotated[
    Annotated[CdivField, Tag("<cdiv>")]
    | Annotated[ModField, Tag("<mod>")]
    | Annotated[AxisField, Tag("<axis>")],
    Discriminator(_form),
]


class ProductField(Strict):
    """`{"product": [{"axis": "M"}, {"axis": "N"}]}`, of two to four terms."""

    product: Annotated[list[TermField], Field(min_length=2, max_length=4)]

    def build(self, site: Site) -> Product:
        """Return the product; raises ManifestError where a term does."""
        terms = (term.build(site.at("product", i)) for i, term in enumerate(self.product))
        return Product(tuple(terms))


FactorField: TypeAlias = Annotated[
    Annotated[CdivField, Tag("<cdiv>")]
    | Annotated[ModField, Tag("<mod>")]
    | Annotated[ProductField, Tag("<product>")]
    | Annotated[AxisField, Tag("<axis>")],
    Discriminator(_form),
]


class RatioField(Strict):
    """`{"ratio": {"axis": "M"}, "over": {"axis": "N"}}`."""

    ratio: FactorField
    over: FactorField

    def build(self, site: Site) -> Ratio:
        """Return the ratio; raises ManifestError where one of its sides does."""
        return Ratio(self.ratio.build(site.at("ratio")), self.over.build(site.at("over")))


FeatureField: TypeAlias = Annotated[
    Annotated[CdivField, Tag("<cdiv>")]
    | Annotated[ModField, Tag("<mod>")]
    | Annotated[ProductField, Tag("<product>")]
    | Annotated[RatioField, Tag("<ratio>")]
    | Annotated[AxisField, Tag("<axis>")],
    Discriminator(_form),
]
_FORMS = {
    "cdiv": CdivField,
    "mod": ModField,
    "product": ProductField,
    "ratio": RatioField,
    "axis": AxisField,
}


class LeafNode(Strict):
    """`{"config": 3}`: an index into `selector.config_ids`."""

    config: Int64

    @model_validator(mode="before")
    @classmethod
    def _only_a_leaf(cls, value: Any) -> Any:
        return only_a_leaf(value)

    def build(self, site: Site) -> Decision:
        """Return the leaf; raises ManifestError when the config does not exist."""
        return Choose(site.at("config").config(self.config))


class SplitNode(Strict):
    """`{"feature": …, "threshold": 64, "left": …, "right": …}`: left where feature <= threshold.

    With a ratio the threshold is `threshold / denominator`.
    """

    feature: FeatureField
    threshold: Int64
    denominator: Positive = 1
    left: NodeField
    right: NodeField

    def build(self, site: Site) -> Decision:
        """Return the split; raises ManifestError where a part of it does."""
        feature: Feature = self.feature.build(site.at("feature"))
        if self.denominator != 1 and not isinstance(feature, Ratio):
            raise site.at("denominator").error(
                f"{self.denominator} stands beside a feature that is no ratio", "remove it"
            )
        left, right = self.left.build(site.at("left")), self.right.build(site.at("right"))
        return Split(feature, self.threshold, left, right, self.denominator)


class CategoryNode(Strict):
    """`{"category": "dtype", "values": ["float16"], "left": …, "right": …}`: left for `values`."""

    category: Identifier
    values: Annotated[list[AxisValueField], Field(min_length=1)]
    left: NodeField
    right: NodeField

    def build(self, site: Site) -> Decision:
        """Return the split; raises ManifestError where a part of it does."""
        axis = site.at("category").category_axis(self.category)
        for i, value in enumerate(self.values):
            if value not in axis.values:
                fact = f"{shown(value)} is not a value of axis {axis.name}"
                raise site.at("values", i).error(fact, f"its values are {listed(axis.values)}")
            if value in self.values[:i]:
                raise site.at("values", i).error(f"{shown(value)} stands twice", "remove one")
        left, right = self.left.build(site.at("left")), self.right.build(site.at("right"))
        return Among(axis.name, tuple(self.values), left, right)


def _node_form(value: Any) -> str:
    if isinstance(value, LeafNode) or (isinstance(value, dict) and "config" in value):
        return "<leaf>"
    if isinstance(value, CategoryNode) or (isinstance(value, dict) and "category" in value):
        return "<category>"
    return "<split>"


NodeField: TypeAlias = Annotated[
    Annotated[LeafNode, Tag("<leaf>")]
    | Annotated[SplitNode, Tag("<split>")]
    | Annotated[CategoryNode, Tag("<category>")],
    Discriminator(_node_form),
]


class TreePayload(Strict):
    """`{"root": node}`."""

    root: NodeField

    def build(self, site: Site) -> Tree:
        """Return the selector; raises ManifestError for what contradicts the manifest."""
        root = self.root.build(site.at("root"))
        depth, leaves = depth_of(root), count_leaves(root)
        if depth > MAX_DEPTH:
            raise site.at("root").error(
                f"the tree is {depth} splits deep, at most {MAX_DEPTH} can be emitted",
                "fit it with a smaller depth",
            )
        if leaves > MAX_LEAVES:
            raise site.at("root").error(
                f"the tree has {leaves} leaves, at most {MAX_LEAVES} can be emitted",
                "fit it with a smaller --max-leaves",
            )
        return Tree(root)


class TreeBody(Strict):
    """A tree selector as the manifest writes it."""

    kind: Literal["tree"]
    payload: TreePayload
