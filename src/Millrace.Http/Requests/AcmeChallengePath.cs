using System.Buffers;
using System.Text;

namespace Millrace.Http;

/// <summary>The path by which a certificate authority validates a host over plain HTTP (RFC 8555, section 8.3). Pure.</summary>
internal static class AcmeChallengePath
{
    private const string Prefix = "/.well-known/acme-challenge/";

    /// <summary>Authorities make tokens of some 43 characters.</summary>
    private const int TokenMax = 256;

    /// <summary>The characters of Base64Url, so that a token cannot contain a path to another place.</summary>
    private static readonly SearchValues<byte> TokenBytes =
        SearchValues.Create("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"u8);

    private static ReadOnlySpan<byte> PrefixBytes => "/.well-known/acme-challenge/"u8;

    /// <summary>The token of such a path; null for any other path.</summary>
    public static string? TokenOf(ReadOnlySpan<byte> path) =>
        path.StartsWith(PrefixBytes) && path[PrefixBytes.Length..] is { Length: > 0 and <= TokenMax } token
        && !token.ContainsAnyExcept(TokenBytes) ? Encoding.ASCII.GetString(token) : null;

    /// <summary>The token of a path that is decoded; null for any other path.</summary>
    public static string? TokenOf(string path) =>
        path.StartsWith(Prefix, StringComparison.Ordinal) ? TokenOf(Encoding.UTF8.GetBytes(path)) : null;
}
