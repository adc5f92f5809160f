using System.Diagnostics;
using System.Text;
using Millrace.StaticFiles.Rules;

namespace Millrace.StaticFiles.Snapshots;

/// <summary>
/// A path of the site from its root, with a leading '/'; empty for the root. Stored with a trailing zero, so that it can be passed to the
/// kernel as it is. Bytes, not characters: Linux file names need not be valid text.
/// </summary>
internal readonly struct SitePath : IEquatable<SitePath>
{
    /// <summary>
    /// PATH_MAX. It counts the trailing zero, which replaces the leading '/'; no longer path can be opened through the root.
    /// </summary>
    public const int BytesMax = 4096;

    /// <summary>NAME_MAX of every Linux file system.</summary>
    public const int NameBytesMax = 255;

    /// <summary>MAXSYMLINKS: as many as the kernel follows in one path.</summary>
    public const int SymlinksMax = 40;

    public static readonly SitePath Root = new([0]);

    /// <summary>The order of listings; within one directory it is the order of names.</summary>
    public static readonly IComparer<SitePath> ByBytes =
        Comparer<SitePath>.Create(static (left, right) => left.Bytes.SequenceCompareTo(right.Bytes));

    private readonly byte[] _pathZ;

    private SitePath(byte[] pathZ) => _pathZ = pathZ;

    public ReadOnlySpan<byte> Bytes => _pathZ.AsSpan(0, _pathZ.Length - 1);

    /// <summary>The path below the root for the kernel: no leading '/', a trailing zero. "." for the root.</summary>
    public ReadOnlySpan<byte> RelativeZ => IsRoot ? ".\0"u8 : _pathZ.AsSpan(1);

    /// <summary>What follows the last '/'.</summary>
    public ReadOnlySpan<byte> Name => LastSegment(Bytes);

    public ReadOnlyMemory<byte> NameMemory => _pathZ.AsMemory(Bytes.LastIndexOf((byte)'/') + 1, Name.Length);

    /// <summary>The name with a trailing zero.</summary>
    public ReadOnlySpan<byte> NameZ => _pathZ.AsSpan(Bytes.LastIndexOf((byte)'/') + 1);

    public bool IsRoot => _pathZ.Length == 1;

    /// <summary>For logs and messages: "/" for the root, and no control characters.</summary>
    public string ToText() => IsRoot ? "/" : FieldValidation.WithoutControls(Encoding.UTF8.GetString(Bytes));

    public static ReadOnlySpan<byte> LastSegment(ReadOnlySpan<byte> path) => path[(path.LastIndexOf((byte)'/') + 1)..];

    /// <summary>What precedes the first '/'; all of it if there is none.</summary>
    public static ReadOnlySpan<byte> FirstSegment(ReadOnlySpan<byte> path)
    {
        int slash = path.IndexOf((byte)'/');
        return slash < 0 ? path : path[..slash];
    }

    public static SitePath Of(ReadOnlySpan<byte> path)
    {
        Debug.Assert(path.IsEmpty || path[0] == '/', "a path starts at the root");
        byte[] pathZ = new byte[path.Length + 1];
        path.CopyTo(pathZ);
        return new SitePath(pathZ);
    }

    /// <summary>Appends the name of an entry. False if the path would be too long.</summary>
    public bool TryAppend(ReadOnlySpan<byte> name, out SitePath path)
    {
        if (Bytes.Length + 1 + name.Length > BytesMax)
        {
            path = this;
            return false;
        }

        byte[] pathZ = new byte[_pathZ.Length + 1 + name.Length];
        Bytes.CopyTo(pathZ);
        pathZ[Bytes.Length] = (byte)'/';
        name.CopyTo(pathZ.AsSpan(Bytes.Length + 1));
        path = new SitePath(pathZ);
        return true;
    }

    /// <summary>The path of the directory that contains the entry. Not for the root.</summary>
    public ReadOnlySpan<byte> Parent
    {
        get
        {
            Debug.Assert(!IsRoot, "the root is in no directory of the site");
            return Bytes[..Bytes.LastIndexOf((byte)'/')];
        }
    }

    /// <summary>
    /// The index of a name among items ordered by the names of their paths; without such an item, the complement of the index where it
    /// belongs.
    /// </summary>
    public static int IndexOfName<T>(IReadOnlyList<T> items, Func<T, SitePath> pathOf, ReadOnlySpan<byte> name)
    {
        int low = 0;
        int high = items.Count - 1;
        while (low <= high)
        {
            int middle = (low + high) / 2;
            int order = pathOf(items[middle]).Name.SequenceCompareTo(name);
            if (order == 0)
            {
                return middle;
            }

            (low, high) = order < 0 ? (middle + 1, high) : (low, middle - 1);
        }

        return ~low;
    }

    public bool Equals(SitePath other) => Bytes.SequenceEqual(other.Bytes);

    public override bool Equals(object? obj) => obj is SitePath other && Equals(other);

    public override int GetHashCode() => (int)PathHash.Of(Bytes);
}

/// <summary>Equality of byte strings; a lookup by a span allocates nothing.</summary>
internal sealed class BytesComparer : IEqualityComparer<byte[]>, IAlternateEqualityComparer<ReadOnlySpan<byte>, byte[]>
{
    public static readonly BytesComparer Instance = new();

    public bool Equals(byte[]? x, byte[]? y) => x.AsSpan().SequenceEqual(y);

    public int GetHashCode(byte[] bytes) => GetHashCode(bytes.AsSpan());

    public bool Equals(ReadOnlySpan<byte> alternate, byte[] other) => alternate.SequenceEqual(other);

    public byte[] Create(ReadOnlySpan<byte> alternate) => alternate.ToArray();

    /// <summary>Seeded per process, so that users who can name files cannot cause collisions.</summary>
    public int GetHashCode(ReadOnlySpan<byte> bytes)
    {
        var hash = default(HashCode);
        hash.AddBytes(bytes);
        return hash.ToHashCode();
    }
}
