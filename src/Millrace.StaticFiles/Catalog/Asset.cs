using System.Diagnostics;
using Millrace.StaticFiles.Building;
using Millrace.StaticFiles.Content;

namespace Millrace.StaticFiles.Catalog;

/// <summary>
/// A file of the site as it was when its snapshot was built. Immutable, but for the fronts' caches. Its memory and its descriptor
/// belong to the snapshot: they may be used only under a lease on it.
/// </summary>
internal sealed unsafe class Asset
{
    /// <summary>What <see cref="Descriptor"/> is for an asset that holds none.</summary>
    public const int NoDescriptor = -1;

    private readonly byte* _bytes;

    private Asset(int pathIndex, ContentType type, in FileState state, BodyStrategy strategy, byte* bytes, int descriptor)
    {
        PathIndex = pathIndex;
        ContentType = type;
        Size = state.Size;
        ModifiedAtNs = state.ModifiedAtNs;
        Strategy = strategy;
        _bytes = bytes;
        Descriptor = descriptor;
    }

    /// <summary>
    /// The bytes of the file when it was read or opened. Of a Ring or Stream asset the file may have changed in place
    /// since.
    /// </summary>
    public long Size { get; }

    /// <summary>Nanoseconds since 1970, from the same statx as <see cref="Size"/>.</summary>
    public long ModifiedAtNs { get; }

    public ContentType ContentType { get; }

    public BodyStrategy Strategy { get; }

    /// <summary>
    /// An open descriptor of a Ring or Stream asset, shared by all who read (positional reads only, never close it), or
    /// <see cref="NoDescriptor"/>: then <see cref="CatalogSnapshot.OpenOnDemand"/>.
    /// </summary>
    public int Descriptor { get; }

    /// <summary>Its place in the snapshot's <see cref="PathTable"/>.</summary>
    public int PathIndex { get; }

    /// <summary>
    /// HTTP/1.1's own encoding of the fields of this asset, null until somebody asked for it. Any thread may set it: two that race
    /// make two equal values and one is dropped (a reference is published after what it refers to, by .NET's memory model).
    /// </summary>
    public object? Http1Fields { get; set; }

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

    public static Asset Baked(int pathIndex, ContentType type, in FileState state, byte* bytes) =>
        new(pathIndex, type, state, BodyStrategy.Baked, bytes, NoDescriptor);

    public static Asset OnFile(int pathIndex, ContentType type, in FileState state, BodyStrategy strategy, int descriptor)
    {
        Debug.Assert(strategy != BodyStrategy.Baked, "a baked asset has bytes");
        return new(pathIndex, type, state, strategy, null, descriptor);
    }
}
