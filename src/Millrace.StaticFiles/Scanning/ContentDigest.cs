using System.Buffers.Binary;
using System.Security.Cryptography;

namespace Millrace.StaticFiles.Scanning;

/// <summary>
/// A 128-bit digest of content: truncated SHA-256. Cryptographic so that a user who can write one file of a site cannot make it pass for
/// another; deterministic so that replicas agree. One thread at a time.
/// </summary>
internal sealed class ContentDigest : IDisposable
{
    private readonly IncrementalHash _hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);

    public static UInt128 Of(ReadOnlySpan<byte> content)
    {
        Span<byte> digest = stackalloc byte[SHA256.HashSizeInBytes];
        SHA256.HashData(content, digest);
        return Cut(digest);
    }

    public void Append(ReadOnlySpan<byte> part) => _hash.AppendData(part);

    /// <summary>The digest of the appended parts; resets the state.</summary>
    public UInt128 Finish()
    {
        Span<byte> digest = stackalloc byte[SHA256.HashSizeInBytes];
        _hash.GetHashAndReset(digest);
        return Cut(digest);
    }

    public void Dispose() => _hash.Dispose();

    private static UInt128 Cut(ReadOnlySpan<byte> digest) => BinaryPrimitives.ReadUInt128LittleEndian(digest);
}
