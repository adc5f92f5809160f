using System.Text;
using Millrace.Http;

namespace Millrace.StaticFiles.Rules;

/// <summary>
/// The Location of a redirect, with placeholders for captures. A path stays on the site, whatever is captured; another host comes only from
/// the rule itself, never from the request. Immutable.
/// </summary>
internal sealed class LocationTemplate(
    byte[] authority, TargetPart[] pathParts, TargetPart[] queryParts, TargetPart[] fragmentParts, bool hasQuery, bool keepsQuery)
{
    /// <summary>Whether the target has its own query, even an empty one; otherwise the request's query is passed on.</summary>
    public bool HasQuery => hasQuery;

    /// <summary>Whether it leads to this site, at any host.</summary>
    public bool IsOnSite => authority.Length == 0;

    /// <summary>Throws <see cref="SiteException"/> for a text that is not a Location.</summary>
    /// <param name="text">The text.</param>
    /// <param name="captureNames">The names that it may use.</param>
    /// <param name="keepsQuery">Whether a request's query is passed on byte by byte, as for an application.</param>
    public static LocationTemplate Parse(string text, List<string> captureNames, bool keepsQuery = false)
    {
        if (!UrlHost.TryEncode(text, out text, out string? reason))
        {
            throw new SiteException(
                $"The host of the target '{FieldValidation.Shown(text)}' cannot be sent: {reason}.", "Write its A-labels (xn--...).");
        }

        int authorityEnd = FindAuthorityEnd(text);
        (string remaining, string? fragment) = Cut(text[authorityEnd..], '#');
        (string path, string? query) = Cut(remaining, '?');
        return new LocationTemplate(
            Encoding.ASCII.GetBytes(text[..authorityEnd]),
            TargetPart.Split(path, captureNames, UrlText.EncodePath),
            TargetPart.Split(query ?? "", captureNames, UrlText.EncodeQuery),
            TargetPart.Split(fragment ?? "", captureNames, UrlText.EncodeQuery),
            hasQuery: query is not null,
            keepsQuery);
    }

    /// <summary>
    /// Writes the Location. False if <paramref name="scratch"/> is too short. <paramref name="path"/> and <paramref name="query"/> are
    /// parts of it, the latter without '?'.
    /// </summary>
    public bool TryWrite(
        scoped RouteCaptures captures,
        scoped ReadOnlySpan<byte> passedQuery,
        scoped ReadOnlySpan<RequiredQuery> consumed,
        Span<byte> scratch,
        out ReadOnlySpan<byte> location,
        out ReadOnlySpan<byte> path,
        out ReadOnlySpan<byte> query)
    {
        var text = new UrlText(scratch);
        text.Literal(authority);
        Write(ref text, pathParts, isPath: true, captures);
        int pathEnd = text.Length;

        text.Literal("?"u8);
        if (HasQuery)
        {
            Write(ref text, queryParts, isPath: false, captures);
        }
        else
        {
            WriteRemainingQuery(ref text, passedQuery, consumed);
        }

        if (text.Length == pathEnd + 1)
        {
            text.Truncate(pathEnd);
        }

        int queryEnd = text.Length;
        if (fragmentParts.Length > 0)
        {
            text.Literal("#"u8);
            Write(ref text, fragmentParts, isPath: false, captures);
        }

        location = path = query = default;
        if (text.Overflowed)
        {
            return false;
        }

        ReadOnlySpan<byte> written = text.Written;
        int doubled = IsOnSite ? TargetPart.DoubledSlashes(written[..pathEnd]) : 0;
        location = written[doubled..];
        path = written[(authority.Length + doubled)..pathEnd];
        query = queryEnd > pathEnd ? written[(pathEnd + 1)..queryEnd] : default;
        return true;
    }

    public static SiteException NoTarget(string text) => new(
        $"The target '{FieldValidation.Shown(text)}' is neither a path nor an http(s) URL.",
        "Write /path for a place on this site, https://host/path for another.");

    private static void Write(ref UrlText text, TargetPart[] parts, bool isPath, scoped RouteCaptures captures)
    {
        foreach (ref readonly TargetPart part in parts.AsSpan())
        {
            if (part.Literal is not null)
            {
                text.Literal(part.Literal);
                continue;
            }

            ReadOnlySpan<byte> captured = captures[part.Capture];
            switch (captures.IsOfPath(part.Capture), isPath)
            {
                case (true, true):
                    text.Path(captured);
                    break;
                case (true, false):
                    text.Value(captured);
                    break;
                case (false, true):
                    text.RawValueAsSegment(captured);
                    break;
                default:
                    text.RawValue(captured);
                    break;
            }
        }
    }

    /// <summary>Writes the request's query without the parameters that the rule consumed.</summary>
    private void WriteRemainingQuery(ref UrlText text, scoped ReadOnlySpan<byte> query, scoped ReadOnlySpan<RequiredQuery> consumed)
    {
        if (consumed.IsEmpty)
        {
            WriteQuery(ref text, query);
            return;
        }

        int at = 0;
        int start = 0;
        bool isFirst = true;
        while (QueryText.TryNext(query, ref at, out TextRange name, out TextRange value))
        {
            if (!RequiredQuery.Names(consumed, name.In(query)))
            {
                text.Literal(isFirst ? default : "&"u8);
                WriteQuery(ref text, query[start..value.End]);
                isFirst = false;
            }

            start = at;
        }
    }

    private void WriteQuery(ref UrlText text, scoped ReadOnlySpan<byte> query)
    {
        if (keepsQuery)
        {
            text.Literal(query);
        }
        else
        {
            text.Query(query);
        }
    }

    private static (string Before, string? After) Cut(string text, char separator)
    {
        int at = text.IndexOf(separator, StringComparison.Ordinal);
        return at < 0 ? (text, null) : (text[..at], text[(at + 1)..]);
    }

    /// <summary>The end of scheme and host: 0 for a path on the site.</summary>
    private static int FindAuthorityEnd(string text)
    {
        if (TargetPart.IsPath(text))
        {
            return 0;
        }

        int host = UrlHost.IndexOfHost(text);
        if (host == 0)
        {
            throw NoTarget(text);
        }

        int length = text.AsSpan(host).IndexOfAny('/', '?', '#');
        int end = length < 0 ? text.Length : host + length;
        string authority = text[host..end];
        bool isFixed = !authority.Contains('*', StringComparison.Ordinal)
            && Ascii.IsValid(authority)
            && UriHost.IsValidAuthority(Encoding.ASCII.GetBytes(authority));
        return isFixed
            ? end
            : throw new SiteException(
                $"The host of the target '{FieldValidation.Shown(text)}' is not a fixed name.",
                "Write it without user and placeholders: a request must not choose where it is sent.");
    }
}
