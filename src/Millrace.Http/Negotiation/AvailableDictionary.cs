using System.Buffers;
using System.Buffers.Text;

namespace Millrace.Http;

/// <summary>
/// Reads Available-Dictionary (RFC 9842, section 2.2): a byte sequence of structured fields (RFC 9651, section 3.3.5) with the SHA-256 of
/// one dictionary. Any other value, parameters included, names no dictionary. Pure; allocates nothing.
/// </summary>
internal static class AvailableDictionary
{
    public const int HashBytes = 32;

    /// <summary>The characters of base64 for 32 bytes.</summary>
    private const int TextBytes = 44;

    public static bool TryRead(ReadOnlySpan<byte> value, Span<byte> hash)
    {
        if (value.Length != TextBytes + 2 || value[0] != ':' || value[^1] != ':')
        {
            return false;
        }

        // The decoder skips white space, which is not part of a byte sequence.
        ReadOnlySpan<byte> text = value[1..^1];
        return !text.ContainsAny(" \t\r\n"u8)
            && Base64.DecodeFromUtf8(text, hash, out int consumed, out int written) == OperationStatus.Done
            && consumed == TextBytes
            && written == HashBytes;
    }
}
