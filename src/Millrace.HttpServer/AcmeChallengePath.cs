using System.Buffers;

namespace Millrace.HttpServer;

/// <summary>The path by which a certificate authority validates a host over plain HTTP (RFC 8555, section 8.3). Pure.</summary>
internal static class AcmeChallengePath
{
    /// <summary>The characters of base64url, so that a token cannot contain a path to another place.</summary>
    private static readonly SearchValues<byte> TokenBytes =
        SearchValues.Create("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"u8);

    private static ReadOnlySpan<byte> Prefix => "/.well-known/acme-challenge/"u8;

    /// <summary>The token of such a path; empty for any other path.</summary>
    public static ReadOnlySpan<byte> TokenOf(ReadOnlySpan<byte> path) =>
        path.StartsWith(Prefix) && !path[Prefix.Length..].ContainsAnyExcept(TokenBytes) ? path[Prefix.Length..] : default;
}

/// <summary>Finds what proves to a certificate authority that this server answers for a host. Any thread.</summary>
/// <param name="token">From the path.</param>
/// <param name="keyAuthorization">The response's body.</param>
internal delegate bool ChallengeLookup(ReadOnlySpan<byte> token, out ReadOnlyMemory<byte> keyAuthorization);
