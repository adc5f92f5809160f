using System.Buffers;
using System.Buffers.Text;

namespace Millrace.Http;

/// <summary>Reads the credentials of the Basic scheme (RFC 7617 section 2). Checks only their form.</summary>
internal static class BasicCredentials
{
    private static ReadOnlySpan<byte> Scheme => "basic"u8;

    /// <summary>
    /// Decodes an Authorization value into <paramref name="destination"/>, of which both results are slices. False if it has another
    /// scheme, is malformed, or is longer than the destination.
    /// </summary>
    public static bool TryDecode(
        ReadOnlySpan<byte> authorization, Span<byte> destination, out ReadOnlySpan<byte> user, out ReadOnlySpan<byte> password)
    {
        user = default;
        password = default;
        if (!TryReadToken(authorization, out ReadOnlySpan<byte> token)
            || Base64.DecodeFromUtf8(token, destination, out _, out int written) != OperationStatus.Done)
        {
            return false;
        }

        ReadOnlySpan<byte> decoded = destination[..written];
        int colon = decoded.IndexOf((byte)':');

        // "The user-id and password MUST NOT contain any control characters", RFC 7617 section 2. HTAB is one.
        if (colon < 0 || decoded.ContainsAnyInRange((byte)0, (byte)0x1F) || decoded.Contains((byte)0x7F))
        {
            return false;
        }

        user = decoded[..colon];
        password = decoded[(colon + 1)..];
        return true;
    }

    // credentials = auth-scheme 1*SP token68. The decoder skips whitespace, so none may remain.
    private static bool TryReadToken(ReadOnlySpan<byte> authorization, out ReadOnlySpan<byte> token)
    {
        token = default;
        if (authorization.Length <= Scheme.Length
            || authorization[Scheme.Length] != ' '
            || !Words.EqualsIgnoreCase(authorization[..Scheme.Length], Scheme))
        {
            return false;
        }

        token = authorization[Scheme.Length..].TrimStart((byte)' ');
        return !token.ContainsAny(" \t\r\n"u8);
    }
}
