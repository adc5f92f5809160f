using System.Diagnostics;
using Millrace.Http;
using Millrace.StaticFiles.Building;
using Millrace.StaticFiles.Content;

namespace Millrace.StaticFiles.Catalog;

/// <summary>
/// A representation: a file of the site as it was when it was loaded, or a coded variant of one. Part of every snapshot from the one it
/// was loaded for to the one before it changed; immutable, but for its published variants and the fronts' caches. Its memory and its
/// descriptor may be used only under a lease on a snapshot that holds it.
/// </summary>
internal sealed unsafe class Asset
{
    /// <summary>What <see cref="Descriptor"/> is for an asset that holds none.</summary>
    public const int NoDescriptor = -1;

    private readonly SitePath _path;
    private readonly byte* _bytes;
    private readonly FileState _state;
    private readonly AssetValidators _validators;
    private VariantSet? _variants;

    private Asset(
        SitePath path,
        ContentType type,
        in FileState state,
        in AssetValidators validators,
        BodyStrategy strategy,
        byte* bytes,
        int descriptor,
        long size)
    {
        _path = path;
        ContentType = type;
        _state = state;
        _validators = validators;
        Strategy = strategy;
        _bytes = bytes;
        Descriptor = descriptor;
        Size = size;
    }

    /// <summary>
    /// The path of its file from the root with a leading '/', for rules and for opening it. A published variant has that of the file it
    /// was made of.
    /// </summary>
    public ReadOnlySpan<byte> Path => _path.Bytes;

    /// <summary>The path as a key.</summary>
    public SitePath SitePath => _path;

    /// <summary>
    /// The bytes of the file when it was read or opened. Of a Ring or Stream asset the file may have changed in place
    /// since.
    /// </summary>
    public long Size { get; }

    /// <summary>Nanoseconds since 1970, from the same statx as <see cref="Size"/>.</summary>
    public long ModifiedAtNs => _state.ModifiedAtNs;

    /// <summary>The file when it was read or opened. To compare with another look at it.</summary>
    public ref readonly FileState State => ref _state;

    public ContentType ContentType { get; }

    public BodyStrategy Strategy { get; }

    /// <summary>
    /// An open descriptor, shared by all who read (positional reads only, never close it): of a Ring or Stream asset that of its file, or
    /// <see cref="NoDescriptor"/>, and then <see cref="CatalogSnapshot.OpenOnDemand"/>; of a Baked one that of the pages that
    /// <see cref="BakedBody"/> is, or <see cref="NoDescriptor"/> where that is ordinary memory.
    /// </summary>
    public int Descriptor { get; }

    /// <summary>What its bytes are coded with; its <see cref="ContentType"/> is of what they decode to.</summary>
    public ContentCoding Coding { get; private init; }

    public AssetOrigin Origin { get; private init; }

    /// <summary>As in the field, with quotes; empty where there is none.</summary>
    public ReadOnlySpan<byte> EntityTag => _validators.EntityTag;

    /// <summary>Seconds since 1970, or <see cref="Validators.NoDate"/>.</summary>
    public long LastModified => _validators.LastModified(_state);

    /// <summary>Whether it was modified at least 2 s before it was looked at (RFC 9110 section 8.8.2.2).</summary>
    public bool IsDateStrong => _validators.IsDateStrong;

    /// <summary>Whether it has variants or may get them: then every answer owes Vary, also one without a coding.</summary>
    public bool IsNegotiable { get; private set; }

    /// <summary>Identity, and its variants'. An asset that is a variant has itself only.</summary>
    public CodingSet Codings =>
        Coding != ContentCoding.Identity ? (CodingSet)(1 << (int)Coding) : Variants?.Codings ?? CodingSet.Identity;

    /// <summary>Whether its type and size promise that a coding saves something, and the site compresses.</summary>
    public bool MayBeCompressed { get; private set; }

    public VariantSet? Variants => Volatile.Read(ref _variants);

    /// <summary>
    /// The siblings that what had its name before was shown with, and that are not of this content. Null: none. Set before it is part of
    /// a snapshot, and before it is given siblings.
    /// </summary>
    public FileState[]? ForeignSiblings { get; set; }

    /// <summary>Whether background compression has had its say, also if that was that nothing is gained.</summary>
    public bool IsPublished { get; private set; }

    /// <summary>The memory its body takes, what alignment costs included.</summary>
    public long BakedBytes => Strategy == BodyStrategy.Baked ? BodyMemory.Taken(Size) : 0;

    /// <summary>Whether its size and time are known to have been another content's too.</summary>
    public bool IsTimeReused => _validators.IsTimeReused;

    /// <summary>Whether its tag is made of its bytes.</summary>
    public bool HasTagOfContent => _validators.IsOfContent;

    /// <summary>The bytes that were read for its tag.</summary>
    public long HashedBytes => HasTagOfContent ? Size : 0;

    /// <summary>No snapshot to come holds it. Guarded by the catalogue's lock.</summary>
    public bool IsRetired { get; set; }

    /// <summary>Whether an equal state later means equal content, see <see cref="FileState.IsSettledAt"/>.</summary>
    public bool IsSettled { get; private init; }

    /// <summary>
    /// HTTP/1.1's own encoding of the fields of this asset, null until somebody asked for it. Any thread may set it: two that race
    /// make two equal values and one is dropped (a reference is published after what it refers to, by .NET's memory model).
    /// </summary>
    public object? Http1Fields { get; set; }

    /// <summary>The same of HTTP/2.</summary>
    public object? Http2Fields { get; set; }

    /// <summary>The same of ASP.NET Core's front, which sets texts and leaves their encoding to the server below it.</summary>
    public object? HostedFields { get; set; }

    /// <summary>The body of a Baked asset: <see cref="Size"/> bytes, aligned to 64.</summary>
    public ReadOnlySpan<byte> BakedBody
    {
        get
        {
            Debug.Assert(Strategy == BodyStrategy.Baked, "only a baked asset has its bytes in memory");
            return new ReadOnlySpan<byte>(_bytes, (int)Size);
        }
    }

    /// <summary>The address of <see cref="BakedBody"/>, for a send that takes memory by reference.</summary>
    public byte* BakedBodyAddress => _bytes;

    /// <summary>The asset itself for identity, its variant for a coding it has, or null.</summary>
    public Asset? VariantFor(ContentCoding coding) => coding == Coding ? this : Variants?.For(coding);

    public static Asset Baked(in LoadedFile file, in BodyMemory body) =>
        new(file.Path, file.Type, file.State, file.Validators, BodyStrategy.Baked, body.Address, body.Pages, file.State.Size)
        {
            IsSettled = file.State.IsSettledAt(file.LookedAtNs),
        };

    public static Asset OnFile(in LoadedFile file, BodyStrategy strategy, int descriptor)
    {
        Debug.Assert(strategy != BodyStrategy.Baked, "a baked asset has bytes");
        return new(file.Path, file.Type, file.State, file.Validators, strategy, null, descriptor, file.State.Size)
        {
            IsSettled = file.State.IsSettledAt(file.LookedAtNs),
        };
    }

    /// <summary>This file as a coded variant of another, whose type it then has.</summary>
    public Asset AsSiblingOf(Asset original, ContentCoding coding) =>
        new(_path, original.ContentType, _state, _validators.For(coding), Strategy, _bytes, Descriptor, Size)
        {
            Coding = coding,
            Origin = AssetOrigin.Sibling,
            IsNegotiable = true,
            IsSettled = IsSettled,
        };

    /// <summary>A coded variant of this asset that was made in memory, which it takes over.</summary>
    public Asset WithCodedBody(ContentCoding coding, UInt128 digest, in BodyMemory body, long nowNs) =>
        new(_path, ContentType, _state, ValidatorsOf(coding, digest, nowNs), BodyStrategy.Baked, body.Address, body.Pages, body.Bytes)
        {
            Coding = coding,
            Origin = AssetOrigin.Published,
            IsNegotiable = true,
            IsSettled = IsSettled,
        };

    /// <summary>Whether a variant shows the bytes of this asset, and not of one that had its name before.</summary>
    public bool IsShownBy(Asset variant) =>
        variant.Origin == AssetOrigin.Sibling && variant._state == _state && variant._bytes == _bytes && variant.Descriptor == Descriptor;

    /// <summary>Before it is part of a snapshot: the siblings found beside it, and whether compression may add to them.</summary>
    public void BeginWith(VariantSet? siblings, bool mayBeCompressed)
    {
        _variants = siblings;
        MayBeCompressed = mayBeCompressed;
        IsNegotiable = siblings is not null || mayBeCompressed;
    }

    /// <summary>Adds variants at any time; readers see all of them or none. Under the catalogue's lock.</summary>
    public void Publish(IReadOnlyCollection<Asset> variants)
    {
        Debug.Assert(IsNegotiable && !IsRetired, "Vary was said from the start, and nobody frees variants of what is gone");
        IsPublished = true;
        if (variants.Count > 0)
        {
            Volatile.Write(ref _variants, _variants?.With(variants) ?? new VariantSet(variants));
        }
    }

    private AssetValidators ValidatorsOf(ContentCoding coding, UInt128 digest, long nowNs) =>
        AssetValidators.OfContent(digest, _state, nowNs).For(coding);
}
