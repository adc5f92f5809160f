namespace Millrace.StaticFiles.Catalog;

/// <summary>Equality of paths and names by their bytes; a look-up by a span allocates nothing.</summary>
internal sealed class PathBytes : IEqualityComparer<byte[]>, IAlternateEqualityComparer<ReadOnlySpan<byte>, byte[]>
{
    public static readonly PathBytes Comparer = new();

    public bool Equals(byte[]? x, byte[]? y) => x.AsSpan().SequenceEqual(y);

    public int GetHashCode(byte[] path) => GetHashCode(path.AsSpan());

    public bool Equals(ReadOnlySpan<byte> alternate, byte[] other) => alternate.SequenceEqual(other);

    public byte[] Create(ReadOnlySpan<byte> alternate) => alternate.ToArray();

    /// <summary>Seeded per process: who may name files must not be able to make them collide.</summary>
    public int GetHashCode(ReadOnlySpan<byte> path)
    {
        var hash = default(HashCode);
        hash.AddBytes(path);
        return hash.ToHashCode();
    }
}
