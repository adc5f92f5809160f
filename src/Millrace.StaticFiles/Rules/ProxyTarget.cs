using System.Globalization;
using System.Text;
using Millrace.Http;

namespace Millrace.StaticFiles.Rules;

/// <summary>The place of an upstream, without a path: a host and port, or a unix socket. Immutable.</summary>
/// <param name="IsTls">Whether it is https.</param>
/// <param name="Host">The host's name or address, without brackets; empty for a unix socket.</param>
/// <param name="Port">The port; 0 for a unix socket.</param>
/// <param name="SocketPath">The absolute path of the unix socket; otherwise null.</param>
internal sealed record ProxyTarget(bool IsTls, string Host, int Port, string? SocketPath)
{
    private const string Unix = "unix:";
    private const int HttpPort = 80;
    private const int HttpsPort = 443;

    /// <summary>sun_path, without its zero byte.</summary>
    private const int SocketPathBytesMax = 107;

    /// <summary>Parses a target without a path. Throws <see cref="SiteException"/>.</summary>
    public static ProxyTarget Parse(string text) => Parse(text, out string? path) is var target && path is null
        ? target
        : throw new SiteException($"The upstream '{FieldValidation.Shown(text)}' has a path.", $"Write {target}.");

    /// <summary>Parses a target, and what follows its authority, if anything does. Throws <see cref="SiteException"/>.</summary>
    public static ProxyTarget Parse(string text, out string? path)
    {
        if (text.StartsWith(Unix, StringComparison.OrdinalIgnoreCase))
        {
            return ParseSocket(text, out path);
        }

        if (!UrlHost.TryEncode(text, out string encoded, out string? reason))
        {
            throw Refuse(text, $"has a host that cannot be looked up: {reason}");
        }

        int host = UrlHost.IndexOfHost(encoded);
        if (host == 0)
        {
            throw Refuse(text, "is neither an http(s) URL nor a unix socket");
        }

        int length = encoded.AsSpan(host).IndexOfAny('/', '?', '#');
        string authority = length < 0 ? encoded[host..] : encoded.Substring(host, length);
        path = length < 0 ? null : encoded[(host + length)..];
        bool isTls = host == "https://".Length;
        (string name, int port) = Split(authority, isTls ? HttpsPort : HttpPort);
        return Ascii.IsValid(authority) && UriHost.IsValidHostAndPort(Encoding.ASCII.GetBytes($"{Bracketed(name)}:{port}"))
            && Uri.CheckHostName(name) != UriHostNameType.Unknown && port is > 0 and <= 65535
            ? new ProxyTarget(isTls, name.ToLowerInvariant(), port, null)
            : throw RefuseAuthority(text, authority);
    }

    /// <summary>Host and port as a Host field has them: in brackets, and without the default port.</summary>
    public string Authority => Port == (IsTls ? HttpsPort : HttpPort)
        ? Bracketed(Host)
        : string.Create(CultureInfo.InvariantCulture, $"{Bracketed(Host)}:{Port}");

    /// <summary>The canonical text: equal targets have the same.</summary>
    public override string ToString() => SocketPath is not null
        ? Unix + SocketPath
        : string.Create(CultureInfo.InvariantCulture, $"{(IsTls ? "https" : "http")}://{Bracketed(Host)}:{Port}");

    private static ProxyTarget ParseSocket(string text, out string? path)
    {
        // As nginx writes it: unix:/run/app.sock:/path.
        string rest = text[Unix.Length..];
        int end = rest.IndexOf(":/", StringComparison.Ordinal);
        path = end < 0 ? null : rest[(end + 1)..];
        string file = end < 0 ? rest : rest[..end];
        bool isFile = file is ['/', _, ..]
            && !file.Contains('\0', StringComparison.Ordinal)
            && Encoding.UTF8.GetByteCount(file) <= SocketPathBytesMax;
        return isFile
            ? new ProxyTarget(false, "", 0, file)
            : throw Refuse(text, "is not the absolute path of a socket");
    }

    private static (string Host, int Port) Split(string authority, int defaultPort)
    {
        int colon = authority.LastIndexOf(':');
        bool hasPort = colon > authority.LastIndexOf(']');
        string host = (hasPort ? authority[..colon] : authority).Trim('[', ']');
        return !hasPort ? (host, defaultPort)
            : int.TryParse(authority.AsSpan(colon + 1), NumberStyles.None, CultureInfo.InvariantCulture, out int port) ? (host, port)
            : (host, -1);
    }

    private static string Bracketed(string host) => host.Contains(':', StringComparison.Ordinal) ? $"[{host}]" : host;

    /// <summary>A text with a user and a password is not repeated.</summary>
    private static SiteException RefuseAuthority(string text, string authority) =>
        authority.Contains('@', StringComparison.Ordinal)
            ? new SiteException("The URL of an upstream has a user or a password, which is not supported.", "Leave both out.")
        : authority[(authority.LastIndexOf(':') + 1)..] is { Length: > 0 } port && port.All(char.IsAsciiDigit)
            ? Refuse(text, "has a port that is not between 1 and 65535")
            : Refuse(text, "has no valid host and port");

    private static SiteException Refuse(string text, string why) => new(
        $"'{FieldValidation.Shown(text)}' {why}.",
        "Write http://127.0.0.1:5000, https://app.example or unix:/run/app.sock.");
}
