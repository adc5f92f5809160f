namespace Millrace.StaticFiles.Snapshots;

/// <summary>Equality of paths and names by their bytes; a lookup by a span allocates nothing.</summary>
internal sealed class PathBytes : IEqualityComparer<byte[]>, IAlternateEqualityComparer<ReadOnlySpan<byte>, byte[]>
{
    public static readonly PathBytes Comparer = new();

    public bool Equals(byte[]? x, byte[]? y) => x.AsSpan().SequenceEqual(y);

    public int GetHashCode(byte[] path) => GetHashCode(path.AsSpan());

    public bool Equals(ReadOnlySpan<byte> alternate, byte[] other) => alternate.SequenceEqual(other);

    public byte[] Create(ReadOnlySpan<byte> alternate) => alternate.ToArray();

    /// <summary>Seeded per process, so that users who can name files cannot cause collisions.</summary>
    public int GetHashCode(ReadOnlySpan<byte> path)
    {
        var hash = default(HashCode);
        hash.AddBytes(path);
        return hash.ToHashCode();
    }
}
