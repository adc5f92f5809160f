namespace Millrace.Http;

/// <summary>The target of a request, as ranges of its head.</summary>
internal readonly struct RequestTarget
{
    public TargetForm Form { get; private init; }

    public TextRange Text { get; private init; }

    /// <summary>The path, still percent-encoded. Empty for <c>http://host</c>, which means "/", and in the forms without a path.</summary>
    public TextRange Path { get; private init; }

    /// <summary>The query with its question mark, so that path and query can be joined again; empty if there is none.</summary>
    public TextRange Query { get; private init; }

    /// <summary>The authority in the target itself: absolute and authority form.</summary>
    public TextRange Authority { get; private init; }

    /// <summary>The scheme of an absolute form; Unknown for the forms without one.</summary>
    public UriScheme Scheme { get; private init; }

    /// <summary>
    /// Reads a target that holds bytes of <see cref="ByteClasses.Target"/> only. <paramref name="question"/> is the first '?'
    /// or -1.
    /// </summary>
    public static bool TryRead(ReadOnlySpan<byte> bytes, TextRange text, int question, Method method, out RequestTarget target)
    {
        byte first = bytes[text.Start];
        if (method == Method.Connect)
        {
            target = new RequestTarget { Form = TargetForm.Authority, Text = text, Authority = text };
            return UriHost.IsValidHostAndPort(text.In(bytes));
        }

        if (first == '/')
        {
            int pathEnd = question < 0 ? text.End : question;
            target = new RequestTarget
            {
                Form = TargetForm.Origin,
                Text = text,
                Path = TextRange.Between(text.Start, pathEnd),
                Query = TextRange.Between(pathEnd, text.End),
            };
            return true;
        }

        if (first == '*')
        {
            target = new RequestTarget { Form = TargetForm.Asterisk, Text = text };
            return method == Method.Options && text.Length == 1;
        }

        return TryReadAbsolute(bytes, text, question, out target);
    }

    private static bool TryReadAbsolute(ReadOnlySpan<byte> bytes, TextRange text, int question, out RequestTarget target)
    {
        target = default;
        int colon = text.In(bytes).IndexOf("://"u8);
        UriScheme scheme = colon < 0 ? UriScheme.Unknown : UriSchemes.Of(text.In(bytes)[..colon]);
        int authority = text.Start + colon + 3;
        int pathEnd = question < 0 ? text.End : question;
        if (scheme == UriScheme.Unknown || authority > pathEnd)
        {
            return false;
        }

        int slash = bytes[authority..pathEnd].IndexOf((byte)'/');
        int path = slash < 0 ? pathEnd : authority + slash;
        target = new RequestTarget
        {
            Form = TargetForm.Absolute,
            Text = text,
            Path = TextRange.Between(path, pathEnd),
            Query = TextRange.Between(pathEnd, text.End),
            Authority = TextRange.Between(authority, path),
            Scheme = scheme,
        };
        return UriHost.IsValidAuthority(target.Authority.In(bytes));
    }
}

/// <summary>The four forms of a request target, RFC 9112 section 3.2.</summary>
internal enum TargetForm : byte
{
    Origin,
    Absolute,
    Authority,
    Asterisk,
}

/// <summary>Recognizes the scheme of a target, which is case-insensitive (RFC 3986 section 3.1).</summary>
internal static class UriSchemes
{
    public static UriScheme Of(ReadOnlySpan<byte> text)
        => Words.EqualsIgnoreCase(text, "https"u8) ? UriScheme.Https
            : Words.EqualsIgnoreCase(text, "http"u8) ? UriScheme.Http
            : UriScheme.Unknown;
}

/// <summary>The schemes that an HTTP server supports.</summary>
internal enum UriScheme : byte
{
    Unknown,
    Http,
    Https,
}
