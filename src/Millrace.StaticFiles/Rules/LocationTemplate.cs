using System.Text;
using Millrace.Http;

namespace Millrace.StaticFiles.Rules;

/// <summary>
/// The Location of a redirect, with placeholders for captures. A path stays on the site, whatever is captured; another host comes only from
/// the rule itself, never from the request. Immutable.
/// </summary>
internal sealed class LocationTemplate(
    byte[] authority, TargetPart[] pathParts, TargetPart[] queryParts, TargetPart[] fragmentParts, bool hasQuery)
{
    /// <summary>Whether the target has its own query, even an empty one; otherwise the request's query is passed on.</summary>
    public bool HasQuery => hasQuery;

    /// <summary>Whether it leads to this site, at any host.</summary>
    public bool IsOnSite => authority.Length == 0;

    /// <summary>Null, or why the text is not a Location.</summary>
    public static RuleProblem? Parse(string text, List<string> captureNames, out LocationTemplate? template)
    {
        template = null;
        if (!UrlHost.TryEncode(text, out text, out string? reason))
        {
            return new RuleProblem(
                $"The host of the target '{FieldValidation.Shown(text)}' cannot be sent: {reason}.", "Write its A-labels (xn--...).");
        }

        RuleProblem? problem = FindAuthority(text, out int authorityEnd);
        string remaining = text[authorityEnd..];
        int hash = remaining.IndexOf('#', StringComparison.Ordinal);
        string fragment = hash < 0 ? "" : remaining[(hash + 1)..];
        remaining = hash < 0 ? remaining : remaining[..hash];
        int question = remaining.IndexOf('?', StringComparison.Ordinal);
        string query = question < 0 ? "" : remaining[(question + 1)..];
        string path = question < 0 ? remaining : remaining[..question];

        TargetPart[] ofPath = [], ofQuery = [], ofFragment = [];
        problem ??= TargetPart.Split(path, captureNames, EncodePath, out ofPath)
            ?? TargetPart.Split(query, captureNames, EncodeQuery, out ofQuery)
            ?? TargetPart.Split(fragment, captureNames, EncodeQuery, out ofFragment);
        byte[] ofAuthority = Encoding.ASCII.GetBytes(text[..authorityEnd]);
        template = problem is null ? new LocationTemplate(ofAuthority, ofPath, ofQuery, ofFragment, hasQuery: question >= 0) : null;
        return problem;
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

    public static RuleProblem NoTarget(string text) => new(
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
            switch (captures.SourceOf(part.Capture), isPath)
            {
                case (CaptureSource.Path, true):
                    text.Path(captured);
                    break;
                case (CaptureSource.Path, false):
                    text.Value(captured);
                    break;
                case (_, true):
                    text.RawValueAsSegment(captured);
                    break;
                default:
                    text.RawValue(captured);
                    break;
            }
        }
    }

    /// <summary>Writes the request's query without the parameters that the rule consumed.</summary>
    private static void WriteRemainingQuery(ref UrlText text, scoped ReadOnlySpan<byte> query, scoped ReadOnlySpan<RequiredQuery> consumed)
    {
        if (consumed.IsEmpty)
        {
            text.Query(query);
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
                text.Query(query[start..value.End]);
                isFirst = false;
            }

            start = at;
        }
    }

    /// <summary>Finds the end of scheme and host: 0 for a path on the site.</summary>
    private static RuleProblem? FindAuthority(string text, out int end)
    {
        end = 0;
        if (TargetPart.IsPath(text))
        {
            return null;
        }

        int host = UrlHost.IndexOfHost(text);
        if (host == 0)
        {
            return NoTarget(text);
        }

        int length = text.AsSpan(host).IndexOfAny('/', '?', '#');
        end = length < 0 ? text.Length : host + length;
        string authority = text[host..end];
        bool isFixed = !authority.Contains('*', StringComparison.Ordinal)
            && Ascii.IsValid(authority)
            && UriHost.IsValidAuthority(Encoding.ASCII.GetBytes(authority));
        return isFixed
            ? null
            : new RuleProblem(
                $"The host of the target '{FieldValidation.Shown(text)}' is not a fixed name.",
                "Write it without user and placeholders: a request must not choose where it is sent.");
    }

    private static byte[] EncodePath(byte[] utf8)
    {
        var text = new UrlText(new byte[3 * utf8.Length]);
        text.RawPath(utf8);
        return text.Written.ToArray();
    }

    private static byte[] EncodeQuery(byte[] utf8)
    {
        var text = new UrlText(new byte[3 * utf8.Length]);
        text.Query(utf8);
        return text.Written.ToArray();
    }
}
