using System.IO.Hashing;

namespace Millrace.StaticFiles.Scanning;

/// <summary>
/// A 128-bit digest of content (XXH3): the same on every replica. It tells versions of one file apart and never finds content, so it need
/// not withstand an attacker (ADR 0003). One thread at a time.
/// </summary>
internal sealed class ContentDigest
{
    private readonly XxHash128 _hash = new();

    public static UInt128 Of(ReadOnlySpan<byte> content) => XxHash128.HashToUInt128(content);

    public void Append(ReadOnlySpan<byte> part) => _hash.Append(part);

    /// <summary>The digest of the appended parts; resets the state.</summary>
    public UInt128 Finish()
    {
        UInt128 digest = _hash.GetCurrentHashAsUInt128();
        _hash.Reset();
        return digest;
    }
}
