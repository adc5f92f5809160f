using System.Diagnostics;
using Millrace.Http;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Scanning;

namespace Millrace.StaticFiles.Snapshots;

/// <summary>
/// A representation: a file of the site as it was loaded, or a coded variant of one. It is part of consecutive snapshots, from the one it
/// was loaded for to the last before it changed. Immutable except for its published variants, the cached fields of the protocols and
/// <see cref="HasHashedName"/>. Use its memory and descriptor only under a lease on a snapshot that contains it.
/// </summary>
internal sealed unsafe class Asset
{
    /// <summary>The value of <see cref="Descriptor"/> for an asset without one.</summary>
    public const int NoDescriptor = -1;

    private readonly SitePath _path;
    private readonly byte* _bytes;
    private readonly FileState _state;
    private readonly AssetValidators _validators;
    private VariantSet? _variants;
    private AssetDictionary? _dictionary;

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
    /// The file's path from the root with a leading '/', for rules and for opening it. A published variant has the path of its original.
    /// </summary>
    public ReadOnlySpan<byte> Path => _path.Bytes;

    public SitePath SitePath => _path;

    /// <summary>
    /// The file's bytes when it was read or opened. The file of a SingleRead, Streamed or SendFile asset may have changed in place since.
    /// </summary>
    public long Size { get; }

    /// <summary>Nanoseconds since 1970, from the same statx as <see cref="Size"/>.</summary>
    public long ModifiedAtNs => _state.ModifiedAtNs;

    /// <summary>The file when it was read or opened, to compare with a later stat.</summary>
    public ref readonly FileState State => ref _state;

    public ContentType ContentType { get; }

    public BodyStrategy Strategy { get; }

    /// <summary>
    /// An open descriptor, shared by all readers (positional reads only; never close it). For an asset read from its file it is that file,
    /// or <see cref="NoDescriptor"/>, and then <see cref="CatalogSnapshot.OpenOnDemand"/> applies; for an in-memory asset it is the memory
    /// file behind <see cref="InMemoryBody"/>, or <see cref="NoDescriptor"/> for ordinary memory.
    /// </summary>
    public int Descriptor { get; }

    /// <summary>The coding of its bytes. Its <see cref="ContentType"/> is that of the decoded content.</summary>
    public ContentCoding Coding { get; private init; }

    public AssetOrigin Origin { get; private init; }

    /// <summary>The asset of the file that this is a variant of; null for other assets.</summary>
    public Asset? Original { get; private init; }

    /// <summary>
    /// Whether its name contains a content hash. The other names of the directory decide this too, so it is set whenever the directory is
    /// listed, and older snapshots see it as well.
    /// </summary>
    public bool HasHashedName { get; set; }

    /// <summary>As in the field, with quotes; empty if there is none.</summary>
    public ReadOnlySpan<byte> EntityTag => _validators.EntityTag;

    /// <summary>Seconds since 1970, or <see cref="Http.Validators.NoDate"/>.</summary>
    public long LastModified => _validators.LastModified(_state);

    public ref readonly AssetValidators Validators => ref _validators;

    /// <summary>Whether its date is a strong validator at the given time, in nanoseconds since 1970.</summary>
    public bool IsDateStrongAt(long nowNs) => _validators.IsDateStrongAt(nowNs, _state);

    /// <summary>Whether it has variants or may get some. Then every response carries Vary, also one without a coding.</summary>
    public bool IsNegotiable { get; private set; }

    /// <summary>Identity and the codings of its variants. A variant has only its own.</summary>
    public CodingSet Codings =>
        Coding != ContentCoding.Identity ? (CodingSet)(1 << (int)Coding) : Variants?.Codings ?? CodingSet.Identity;

    /// <summary>The order in which they are preferred if a client is indifferent.</summary>
    public ReadOnlySpan<ContentCoding> PreferredCodings => Variants?.BySize ?? CodingOrder.Usual;

    /// <summary>Whether its type and size promise a gain from compression, and the site compresses.</summary>
    public bool MayBeCompressed { get; private set; }

    public VariantSet? Variants => Volatile.Read(ref _variants);

    /// <summary>
    /// Whether it may get variants for the dictionaries of clients: by its name or type, so that all its versions have the same Vary. Set
    /// before it is part of a snapshot.
    /// </summary>
    public bool MayUseDictionary { get; set; }

    /// <summary>What it is to clients with dictionaries; null until the background has looked at it.</summary>
    public AssetDictionary? Dictionary => Volatile.Read(ref _dictionary);

    /// <summary>The coded files beside it. Those that are proven are among <see cref="Variants"/>.</summary>
    public IReadOnlyList<Sibling> Siblings { get; private set; } = [];

    /// <summary>Whether it has siblings that were not decoded yet.</summary>
    public bool HasUndecidedSiblings
    {
        get
        {
            for (int i = 0; i < Siblings.Count; i++)
            {
                if (Siblings[i].Verdict == SiblingVerdict.Undecided)
                {
                    return true;
                }
            }

            return false;
        }
    }

    /// <summary>Whether background compression is done with it, also if nothing was gained.</summary>
    public bool IsBackgroundCompressed { get; private set; }

    /// <summary>
    /// Whether its interim coding was requested, which happens once, also if nothing comes of it. Set under the requester's lock.
    /// </summary>
    public bool IsInterimQueued { get; set; }

    /// <summary>Whether an interim coding would serve its clients until background compression is done with it.</summary>
    public bool WantsInterim => MayBeCompressed && !IsBackgroundCompressed && !IsInterimQueued && Size <= BodyCoder.BytesMax
        && AcceptsVariant(AssetOrigin.Interim, ContentCoding.Gzip);

    /// <summary>The memory its body takes, alignment included.</summary>
    public long InMemoryBytes => Strategy == BodyStrategy.InMemory ? BodyMemory.AllocatedBytes(Size) : 0;

    /// <summary>Whether its tag derives from its bytes.</summary>
    public bool HasTagOfContent => _validators.IsOfContent;

    public long HashedBytes => HasTagOfContent ? Size : 0;

    /// <summary>Whether no later snapshot contains it. Guarded by the catalog's lock.</summary>
    public bool IsRetired { get; set; }

    /// <summary>Whether an equal state later means equal content, see <see cref="FileState.IsSettledAt"/>.</summary>
    public bool IsSettled { get; private init; }

    /// <summary>
    /// The HTTP/1.1 encoding of this asset's fields, null until first used. Any thread may set it: racing threads create equal values and
    /// one is dropped (.NET's memory model publishes a reference after the object it refers to).
    /// </summary>
    public object? Http1Fields { get; set; }

    /// <summary>The HTTP/2 and HTTP/3 encodings, as <see cref="Http1Fields"/>. One reference: a site may have a million assets.</summary>
    public object? StreamFields { get; set; }

    /// <summary>The fields as strings for ASP.NET Core, which leaves their encoding to the server, as <see cref="Http1Fields"/>.</summary>
    public object? HostedFields { get; set; }

    /// <summary>The body of an in-memory asset: <see cref="Size"/> bytes, aligned to 64.</summary>
    public ReadOnlySpan<byte> InMemoryBody
    {
        get
        {
            Debug.Assert(Strategy == BodyStrategy.InMemory, "only an in-memory asset has its bytes in memory");
            return new ReadOnlySpan<byte>(_bytes, (int)Size);
        }
    }

    /// <summary>Whether its content could not be read; requests for it get 500.</summary>
    public bool IsUnreadable { get; private init; }

    /// <summary>The address of <see cref="InMemoryBody"/>, for a send by reference.</summary>
    public byte* InMemoryBodyAddress => _bytes;

    /// <summary>The asset itself for its own coding, its variant for another, or null.</summary>
    public Asset? VariantFor(ContentCoding coding) => coding == Coding ? this : Variants?.For(coding);

    public static Asset InMemory(in LoadedFile file, in BodyMemory body) =>
        new(file.Path, file.Type, file.State, file.Validators, BodyStrategy.InMemory, body.Address, body.Pages, body.Bytes)
        {
            Coding = file.Coding,

            // A file whose size is untrue does not show changes in its state either.
            IsSettled = body.Bytes == file.State.Size && !file.Validators.IsOfUntrueState && file.State.IsSettledAt(file.CheckedAtNs),
        };

    public static Asset Unreadable(in LoadedFile file) =>
        new(file.Path, file.Type, file.State, file.Validators, BodyStrategy.InMemory, null, NoDescriptor, 0) { IsUnreadable = true };

    public static Asset OnFile(in LoadedFile file, BodyStrategy strategy, int descriptor)
    {
        Debug.Assert(strategy != BodyStrategy.InMemory, "an in-memory asset has no file");
        return new(file.Path, file.Type, file.State, file.Validators, strategy, null, descriptor, file.State.Size)
        {
            Coding = file.Coding,
            IsSettled = file.State.IsSettledAt(file.CheckedAtNs),
        };
    }

    /// <summary>This file as a coded variant of <paramref name="original"/>, with its content type.</summary>
    public Asset AsSiblingOf(Asset original, ContentCoding coding) =>
        new(_path, original.ContentType, _state, _validators.For(coding), Strategy, _bytes, Descriptor, Size)
        {
            Coding = coding,
            Origin = AssetOrigin.Sibling,
            Original = original,
            IsNegotiable = true,
            IsSettled = IsSettled,
            MayUseDictionary = original.MayUseDictionary,
        };

    /// <summary>A coded variant of this asset, made in memory. Takes over <paramref name="body"/>.</summary>
    public Asset WithCodedBody(ContentCoding coding, AssetOrigin origin, UInt128 digest, in BodyMemory body, long nowNs) =>
        new(_path, ContentType, _state, ValidatorsOf(coding, digest, nowNs), BodyStrategy.InMemory, body.Address, body.Pages, body.Bytes)
        {
            Coding = coding,
            Origin = origin,
            Original = this,
            IsNegotiable = true,
            IsSettled = IsSettled,
            MayUseDictionary = MayUseDictionary,
        };

    /// <summary>
    /// Sets the siblings found beside it, and whether compression may add variants. Called before it is part of a snapshot.
    /// </summary>
    public void SetSiblings(IReadOnlyList<Sibling> siblings, bool mayBeCompressed)
    {
        Siblings = siblings;
        Asset[] proven =
            [.. from sibling in siblings where sibling.Verdict == SiblingVerdict.Proven select sibling.Variant];
        _variants = proven.Length > 0 ? new VariantSet(proven) : null;
        MayBeCompressed = mayBeCompressed;
        IsNegotiable = siblings.Count > 0 || mayBeCompressed;
    }

    /// <summary>
    /// Records what the decoding of a sibling has shown; a proven one is sent from now on. Call under the catalog's lock.
    /// </summary>
    public void Decide(Sibling sibling, SiblingVerdict verdict)
    {
        Debug.Assert(!IsRetired && VariantFor(sibling.Variant.Coding) is null, "no variant is made in the coding of an undecided sibling");
        if (verdict == SiblingVerdict.Proven)
        {
            Asset[] proven = [sibling.Variant];
            Volatile.Write(ref _variants, _variants?.With(proven) ?? new VariantSet(proven));
        }

        sibling.Verdict = verdict;
    }

    /// <summary>Whether a later asset of the same name has the same bytes.</summary>
    public bool HasSameContent(Asset later) =>
        later == this
        || (IsSettled && later._state == _state)
        || (HasTagOfContent && later.HasTagOfContent && later.EntityTag.SequenceEqual(EntityTag));

    /// <summary>
    /// Whether a made variant may be published to it. An interim one gives way to that of background compression; no other is replaced, and
    /// none is made in the coding of a sibling that may still be proven.
    /// </summary>
    public bool AcceptsVariant(AssetOrigin origin, ContentCoding coding)
    {
        for (int i = 0; i < Siblings.Count; i++)
        {
            if (Siblings[i].Variant.Coding == coding && Siblings[i].Verdict == SiblingVerdict.Undecided)
            {
                return false;
            }
        }

        return VariantFor(coding) switch
        {
            null => true,
            Asset present => present.Origin == AssetOrigin.Interim && origin == AssetOrigin.Background,
        };
    }

    /// <summary>Adds or replaces variants; readers see all of them or none. Call under the catalog's lock.</summary>
    public void Publish(AssetOrigin origin, IReadOnlyCollection<Asset> variants)
    {
        Debug.Assert(IsNegotiable && !IsRetired, "the asset must be negotiable from the start, and a retired one would leak its variants");
        IsBackgroundCompressed |= origin == AssetOrigin.Background;
        if (variants.Count > 0)
        {
            Volatile.Write(ref _variants, _variants?.With(variants) ?? new VariantSet(variants));
        }
    }

    /// <summary>Sets what it is to clients with dictionaries. Call under the catalog's lock.</summary>
    public void SetDictionary(AssetDictionary dictionary)
    {
        Debug.Assert(MayUseDictionary && !IsRetired, "Vary must name the field from the start, and a retired asset would leak variants");
        Volatile.Write(ref _dictionary, dictionary);
    }

    private AssetValidators ValidatorsOf(ContentCoding coding, UInt128 digest, long nowNs) =>
        _validators.OfCoded(digest, _state, nowNs).For(coding);
}

/// <summary>The source of an asset's bytes, which decides who owns them.</summary>
internal enum AssetOrigin : byte
{
    /// <summary>A file of the site under its own name. Owns its memory or descriptor.</summary>
    File,

    /// <summary>A coded file, as the variant of the file beside it. Its bytes are owned by the coded file's own asset.</summary>
    Sibling,

    /// <summary>A variant compressed in the background. Owns its memory; has no file.</summary>
    Background,

    /// <summary>A variant compressed quickly because a request asked for it, until the one of background compression replaces it.</summary>
    Interim,
}

/// <summary>How the body of an asset is read and sent.</summary>
internal enum BodyStrategy : byte
{
    /// <summary>In native memory, owned by the catalog's resources.</summary>
    InMemory,

    /// <summary>In the file; one read, sent after the head.</summary>
    SingleRead,

    /// <summary>In the file; sent in chunks.</summary>
    Streamed,

    /// <summary>As <see cref="Streamed"/>, with pages sent by reference if the connection allows it.</summary>
    SendFile,
}

/// <summary>
/// A file from which an asset is made: its state by the descriptor that its bytes are read from, a time before that, and the validators
/// from the state or the bytes.
/// </summary>
internal readonly record struct LoadedFile(
    SitePath Path, ContentType Type, FileState State, long CheckedAtNs, AssetValidators Validators)
{
    /// <summary>The coding that its name implies, in which it is sent whatever the client accepts, as there is no other.</summary>
    public ContentCoding Coding { get; init; }
}

/// <summary>The coded variants of an asset, at most one per coding. Immutable.</summary>
internal sealed class VariantSet
{
    private readonly Asset?[] _byCoding = new Asset?[4];

    public VariantSet(IEnumerable<Asset> variants)
    {
        Codings = CodingSet.Identity;
        foreach (Asset variant in variants)
        {
            _byCoding[(int)variant.Coding] = variant;
            Codings |= (CodingSet)(1 << (int)variant.Coding);
        }

        BySize = CodingOrder.BySize(BytesOf(ContentCoding.Brotli), BytesOf(ContentCoding.Zstd), BytesOf(ContentCoding.Gzip));
    }

    /// <summary>Their codings, and identity.</summary>
    public CodingSet Codings { get; }

    /// <summary>All codings, the smallest of its variants first.</summary>
    public ContentCoding[] BySize { get; }

    public Asset? For(ContentCoding coding) => _byCoding[(int)coding];

    public IEnumerable<Asset> All => _byCoding.OfType<Asset>();

    /// <summary>A set with more variants. Of two in the same coding, the new one stays.</summary>
    public VariantSet With(IEnumerable<Asset> more) => new(All.Concat(more));

    private long BytesOf(ContentCoding coding) => For(coding)?.Size ?? long.MaxValue;
}
