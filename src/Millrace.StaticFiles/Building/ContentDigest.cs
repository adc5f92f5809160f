using System.Buffers.Binary;
using System.Security.Cryptography;

namespace Millrace.StaticFiles.Building;

/// <summary>
/// 128 bits that stand for a content: SHA-256, cut. Not for secrecy, but so that nobody who may write one file of a site can make it
/// pass for another, and that replicas agree. One thread at a time.
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

    /// <summary>The digest of what was appended, which begins anew.</summary>
    public UInt128 Finish()
    {
        Span<byte> digest = stackalloc byte[SHA256.HashSizeInBytes];
        _hash.GetHashAndReset(digest);
        return Cut(digest);
    }

    public void Dispose() => _hash.Dispose();

    private static UInt128 Cut(ReadOnlySpan<byte> digest) => BinaryPrimitives.ReadUInt128LittleEndian(digest);
}
