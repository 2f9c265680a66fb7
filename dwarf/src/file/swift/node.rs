//! What a mangled name says, as a tree. Substitutions share subtrees.

use std::borrow::Cow;

/// Maximum number of nodes: a name of a few hundred bytes needs some dozens.
const MAX_NODES: usize = 1 << 14;

/// What a node is. Kinds that differ in their text only carry it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    // Names.
    Identifier,
    /// An operator's name, and its position: ` infix`, ` prefix`, ` postfix`.
    Operator(&'static str),
    /// A number, which tells declarations of one name in a function apart, and the name.
    LocalName,
    /// The file's discriminator, and the name that is private in it.
    PrivateName,
    /// The name of which the compiler derived a declaration, and the kind of derivation as text.
    RelatedName,
    Module,
    /// What a linker or compiler appended.
    Suffix,

    // Declarations: context, name, then what the kind needs.
    Class,
    Structure,
    Enum,
    Protocol,
    Alias,
    OtherNominal,
    /// Module, extended type, and a signature if the extension is constrained.
    Extension,
    /// Name, context and generic arguments.
    AnonymousContext,
    Function,
    Variable,
    Subscript,
    /// The storage, which the accessor belongs to.
    Accessor(&'static str),
    Allocator,
    Constructor,
    Deallocator,
    IsolatedDeallocator,
    Destructor,
    /// A member function without a name of its own and without a type.
    Special(&'static str),
    /// Context, number and type.
    Closure(&'static str),
    /// Context and number.
    DefaultArgument,
    /// Code that belongs to a variable, its context.
    Initializer(&'static str),
    GenericParameterDecl,
    EnumCase,
    Macro,
    /// Context, name of the macro, number; attached macros have the declaration's name before.
    MacroExpansion(&'static str),
    Static,
    LabelList,

    // Types.
    Type,
    Builtin,
    BuiltinFixedArray,
    Integer,
    /// Nominal type and arguments.
    BoundGeneric,
    Tuple,
    TupleElement,
    /// A label.
    ElementName,
    Variadic,
    TypeList,
    FunctionType(&'static str),
    ClangType,
    ArgumentTuple,
    ReturnType,
    Throws,
    TypedThrows,
    Async,
    Sendable,
    SendingResult,
    GlobalActor,
    IsolatedAny,
    NonisolatedCaller,
    Differentiable,
    /// A type with a word before it: `inout`, `weak`.
    Modified(&'static str),
    Metatype,
    ExistentialMetatype,
    MetatypeRepresentation,
    ProtocolList,
    ProtocolListWithClass,
    ProtocolListWithAnyObject,
    ConstrainedExistential,
    ConstrainedExistentialRequirements,
    ExistentialSelf,
    ExistentialShape,
    DynamicSelf,
    Error,
    SilBox,
    SilBoxLayout,
    SilBoxField,
    Sugared(&'static str),
    AssociatedType,
    OpaqueReturn,
    OpaqueReturnOf,
    OpaqueType,
    PackElement,
    PackExpansion,
    Pack,
    SilPack(&'static str),

    // Generics.
    GenericType,
    GenericSignature,
    PseudogenericSignature,
    GenericParameterCount,
    GenericParameter,
    PackMarker,
    ValueMarker,
    Member,
    MemberName,
    Conforms,
    SameType,
    SameShape,
    Inverse,
    Layout,

    // Conformances.
    Conformance,
    RetroactiveConformance,
    ConcreteConformance,
    /// Kinds of conformances that only arguments of generics have.
    OtherConformance(&'static str),
    ConformanceList,
    /// A protocol, and text about it.
    ConformanceRef(&'static str),

    // Types of functions as compiled.
    ImplFunction,
    ImplAttribute(&'static str),
    ImplParameter(&'static str),
    ImplParameterAttribute(&'static str),
    ImplResult(&'static str),
    ImplYield(&'static str),
    ImplError(&'static str),
    ImplConvention(&'static str),
    ImplPatternSubstitutions,
    ImplInvocationSubstitutions,

    // What the compiler makes of declarations.
    /// Text, and what it is about. The second text is the short form.
    About(&'static str, &'static str),
    /// Text about the whole symbol.
    Attribute(&'static str, &'static str),
    /// An attribute with a number in the middle of its text.
    NumberedAttribute(&'static str, &'static str),
    ReabstractionThunk(&'static str),
    ThunkWithSelf,
    KeyPath(&'static str),
    ProtocolWitness,
    ValueWitness(&'static str),
    LazyWitness(&'static str),
    AssociatedConformance(&'static str),
    AssociatedTypeMetadata,
    AssociatedTypeWitness,
    BaseConformance,
    BaseWitness,
    VtableThunk,
    Outlined(&'static str),
    GlobalOnce(&'static str),
    CompletionHandler(&'static str),
    AutodiffFunction,
    AutodiffThunk,
    AutodiffReordering,
    DifferentiabilityWitness,
    IndexSubset,
    Specialization(&'static str),
    /// A replaced type.
    SpecializationType,
    SignatureSpecialization,
    SpecializedArgument,
    Serialized,
    Number,
    Text,
    Global,

    // What is only a mark for the operator that follows.
    EmptyList,
    FirstElement,
}

impl Kind {
    pub(super) fn is_nominal(self) -> bool {
        use Kind::{Alias, Class, Enum, OtherNominal, Protocol, Structure};
        matches!(
            self,
            Class | Structure | Enum | Protocol | Alias | OtherNominal
        )
    }

    pub(super) fn is_declaration_name(self) -> bool {
        use Kind::{Identifier, LocalName, Operator, PrivateName, RelatedName};
        matches!(
            self,
            Identifier | LocalName | Operator(_) | PrivateName | RelatedName
        )
    }

    pub(super) fn is_requirement(self) -> bool {
        use Kind::{Conforms, Inverse, Layout, PackMarker, SameShape, SameType, ValueMarker};
        matches!(
            self,
            Conforms | Inverse | Layout | PackMarker | SameShape | SameType | ValueMarker
        )
    }

    pub(super) fn is_entity(self) -> bool {
        self == Kind::Type || self.is_context()
    }

    /// Returns whether declarations can be inside.
    pub(super) fn is_context(self) -> bool {
        use Kind::*;
        self.is_nominal()
            || matches!(
                self,
                Module
                    | Extension
                    | AnonymousContext
                    | Function
                    | Variable
                    | Subscript
                    | Accessor(_)
                    | Allocator
                    | Constructor
                    | Deallocator
                    | IsolatedDeallocator
                    | Destructor
                    | Special(_)
                    | Closure(_)
                    | DefaultArgument
                    | Initializer(_)
                    | BoundGeneric
                    | OpaqueReturnOf
                    | Macro
                    | MacroExpansion(_)
                    | Static
                    | ProtocolList
                    | AutodiffFunction
            )
    }

    pub(super) fn is_attribute(self) -> bool {
        use Kind::{Attribute, NumberedAttribute, SignatureSpecialization, Specialization};
        matches!(
            self,
            Attribute(..) | NumberedAttribute(..) | Specialization(_) | SignatureSpecialization
        )
    }

    pub(super) fn is_conformance(self) -> bool {
        use Kind::{ConcreteConformance, OtherConformance};
        matches!(self, ConcreteConformance | OtherConformance(_))
    }
}

/// The place of a node in its tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Id(u32);

/// A node. Its children are in the tree.
#[derive(Clone, Debug)]
pub(super) struct Node<'a> {
    pub(super) kind: Kind,
    pub(super) text: Cow<'a, str>,
    pub(super) number: u64,
    first: u32,
    count: u32,
}

/// All nodes of a name. A node's children are older than itself, so there are no cycles.
#[derive(Default)]
pub(super) struct Tree<'a> {
    nodes: Vec<Node<'a>>,
    children: Vec<Id>,
}

impl<'a> Tree<'a> {
    fn push(&mut self, kind: Kind, text: Cow<'a, str>, number: u64, children: &[Id]) -> Option<Id> {
        if self.nodes.len() >= MAX_NODES || self.children.len() >= 4 * MAX_NODES {
            return None;
        }
        let id = Id(u32::try_from(self.nodes.len()).ok()?);
        let first = u32::try_from(self.children.len()).ok()?;
        let count = u32::try_from(children.len()).ok()?;
        self.children.extend_from_slice(children);
        self.nodes.push(Node {
            kind,
            text,
            number,
            first,
            count,
        });
        Some(id)
    }

    /// Adds a node; `None` if there are too many.
    pub(super) fn node(&mut self, kind: Kind, children: &[Id]) -> Option<Id> {
        self.push(kind, Cow::Borrowed(""), 0, children)
    }

    pub(super) fn text(&mut self, kind: Kind, text: impl Into<Cow<'a, str>>) -> Option<Id> {
        self.push(kind, text.into(), 0, &[])
    }

    pub(super) fn number(&mut self, kind: Kind, number: u64, children: &[Id]) -> Option<Id> {
        self.push(kind, Cow::Borrowed(""), number, children)
    }

    pub(super) fn text_with(
        &mut self,
        kind: Kind,
        text: impl Into<Cow<'a, str>>,
        children: &[Id],
    ) -> Option<Id> {
        self.push(kind, text.into(), 0, children)
    }

    /// Adds a node like another one, of another kind.
    pub(super) fn with_kind(&mut self, id: Id, kind: Kind) -> Option<Id> {
        let node = self.get(id).clone();
        let children = self.children(id).to_vec();
        self.push(kind, node.text, node.number, &children)
    }

    pub(super) fn get(&self, id: Id) -> &Node<'a> {
        &self.nodes[id.0 as usize]
    }

    pub(super) fn kind(&self, id: Id) -> Kind {
        self.get(id).kind
    }

    pub(super) fn children(&self, id: Id) -> &[Id] {
        let node = self.get(id);
        let first = node.first as usize;
        &self.children[first..first + node.count as usize]
    }

    pub(super) fn child(&self, id: Id, index: usize) -> Option<Id> {
        self.children(id).get(index).copied()
    }

    pub(super) fn last(&self, id: Id) -> Option<Id> {
        self.children(id).last().copied()
    }

    /// Returns the first child of a kind.
    pub(super) fn child_of(&self, id: Id, kind: Kind) -> Option<Id> {
        let mut children = self.children(id).iter().copied();
        children.find(|child| self.kind(*child) == kind)
    }

    /// Returns what a type is, without the node that marks it as a type.
    pub(super) fn unwrapped(&self, id: Id) -> Id {
        match self.kind(id) {
            Kind::Type => self.child(id, 0).unwrap_or(id),
            _ => id,
        }
    }

    /// Returns whether a node is the declaration of that name in the standard library.
    pub(super) fn is_of_library(&self, id: Id, name: &str) -> bool {
        let [module, own] = self.children(id) else {
            return false;
        };
        self.kind(*module) == Kind::Module
            && self.get(*module).text == "Swift"
            && self.get(*own).text == name
    }
}
