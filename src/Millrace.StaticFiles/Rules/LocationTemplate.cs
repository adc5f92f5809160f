using System.Diagnostics.CodeAnalysis;
using System.Text;
using Millrace.Http;

namespace Millrace.StaticFiles.Rules;

/// <summary>
/// The Location of a redirect, with places for captures. A path stays on the site whatever is captured; another host is only what the
/// rule itself names, never what the request says. Immutable.
/// </summary>
internal sealed class LocationTemplate
{
    private readonly byte[] _authority;
    private readonly Part[] _path;
    private readonly Part[] _query;
    private readonly Part[] _fragment;

    private LocationTemplate(byte[] authority, Part[] path, Part[] query, Part[] fragment, bool hasQuery)
    {
        _authority = authority;
        _path = path;
        _query = query;
        _fragment = fragment;
        HasQuery = hasQuery;
    }

    /// <summary>Whether the target has a query of its own, if only an empty one; if not, the request's goes on.</summary>
    public bool HasQuery { get; }

    /// <summary>Whether it leads to this site, wherever that is.</summary>
    public bool IsOnSite => _authority.Length == 0;

    public static bool TryParse(
        string text,
        IReadOnlyList<string> captureNames,
        [NotNullWhen(true)] out LocationTemplate? template,
        [NotNullWhen(false)] out RuleProblem? problem)
    {
        template = null;
        problem = FindAuthority(text, out int authorityEnd);
        if (problem is not null)
        {
            return false;
        }

        string rest = text[authorityEnd..];
        int hash = rest.IndexOf('#', StringComparison.Ordinal);
        string fragment = hash < 0 ? "" : rest[(hash + 1)..];
        rest = hash < 0 ? rest : rest[..hash];
        int question = rest.IndexOf('?', StringComparison.Ordinal);
        string query = question < 0 ? "" : rest[(question + 1)..];
        string path = question < 0 ? rest : rest[..question];

        if (!TryReadParts(path, captureNames, Place.Path, out Part[] pathParts, out problem)
            || !TryReadParts(query, captureNames, Place.Query, out Part[] queryParts, out problem)
            || !TryReadParts(fragment, captureNames, Place.Fragment, out Part[] fragmentParts, out problem))
        {
            return false;
        }

        byte[] authority = Encoding.ASCII.GetBytes(text[..authorityEnd]);
        template = new LocationTemplate(authority, pathParts, queryParts, fragmentParts, question >= 0);
        return true;
    }

    /// <summary>
    /// Writes the Location. False if <paramref name="scratch"/> is too short. <paramref name="path"/> and <paramref name="query"/> are
    /// its parts, the latter without '?'.
    /// </summary>
    public bool TryWrite(
        scoped RouteCaptures captures,
        scoped ReadOnlySpan<byte> passedQuery,
        scoped ReadOnlySpan<QueryDemand> consumed,
        Span<byte> scratch,
        out ReadOnlySpan<byte> location,
        out ReadOnlySpan<byte> path,
        out ReadOnlySpan<byte> query)
    {
        var text = new UrlText(scratch);
        text.Literal(_authority);
        Write(ref text, _path, captures);
        int pathEnd = text.Length;

        text.Literal("?"u8);
        if (HasQuery)
        {
            Write(ref text, _query, captures);
        }
        else
        {
            PassOn(ref text, passedQuery, consumed);
        }

        if (text.Length == pathEnd + 1)
        {
            text.Truncate(pathEnd);
        }

        int queryEnd = text.Length;
        if (_fragment.Length > 0)
        {
            text.Literal("#"u8);
            Write(ref text, _fragment, captures);
        }

        location = path = query = default;
        if (text.Overflowed)
        {
            return false;
        }

        ReadOnlySpan<byte> written = text.Written;
        int doubled = IsOnSite ? DoubledSlashes(written[..pathEnd]) : 0;
        location = written[doubled..];
        path = written[(_authority.Length + doubled)..pathEnd];
        query = queryEnd > pathEnd ? written[(pathEnd + 1)..queryEnd] : default;
        return true;
    }

    /// <summary>
    /// How many slashes too many a path starts with: "/:splat" with "/evil.example" would be "//evil.example", another host.
    /// </summary>
    public static int DoubledSlashes(ReadOnlySpan<byte> path)
    {
        int first = path.IndexOfAnyExcept((byte)'/');
        return (first < 0 ? path.Length : first) - 1;
    }

    public static RuleProblem NoTarget(string text) => new(
        $"The target '{FieldRefusals.Shown(text)}' is neither a path nor an http(s) URL.",
        "Write /path for a place on this site, https://host/path for another.");

    private static void Write(ref UrlText text, Part[] parts, scoped RouteCaptures captures)
    {
        foreach (ref readonly Part part in parts.AsSpan())
        {
            if (part.Literal is not null)
            {
                text.Literal(part.Literal);
                continue;
            }

            ReadOnlySpan<byte> captured = captures[part.Capture];
            switch (captures.SourceOf(part.Capture), part.Place)
            {
                case (CaptureSource.Path, Place.Path):
                    text.Path(captured);
                    break;
                case (CaptureSource.Path, _):
                    text.Value(captured);
                    break;
                case (_, Place.Path):
                    text.RawValueAsSegment(captured);
                    break;
                default:
                    text.RawValue(captured);
                    break;
            }
        }
    }

    /// <summary>The request's query but for the parameters the rule asked for.</summary>
    private static void PassOn(ref UrlText text, scoped ReadOnlySpan<byte> query, scoped ReadOnlySpan<QueryDemand> consumed)
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
            if (!QueryDemand.Names(consumed, name.In(query)))
            {
                text.Literal(isFirst ? default : "&"u8);
                text.Query(query[start..value.End]);
                isFirst = false;
            }

            start = at;
        }
    }

    /// <summary>Where scheme and host end: 0 for a path on the site.</summary>
    private static RuleProblem? FindAuthority(string text, out int end)
    {
        end = 0;
        if (text is ['/', not ('/' or '\\'), ..] or "/")
        {
            return null;
        }

        int host = text.StartsWith("https://", StringComparison.OrdinalIgnoreCase) ? 8
            : text.StartsWith("http://", StringComparison.OrdinalIgnoreCase) ? 7
            : 0;
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
                $"The host of the target '{FieldRefusals.Shown(text)}' is not a fixed name.",
                "Write it in ASCII, without user and placeholders: a request must not choose where it is sent.");
    }

    private static bool TryReadParts(
        string text, IReadOnlyList<string> captureNames, Place place, out Part[] parts, [NotNullWhen(false)] out RuleProblem? problem)
    {
        var split = new List<TargetPart>();
        problem = TargetPart.Split(text, captureNames, split);
        parts = [.. split.Select(part => new Part(part.Literal is null ? null : Encode(part.Literal, place), part.Capture, place))];
        return problem is null;
    }

    private static byte[] Encode(string literal, Place place)
    {
        byte[] utf8 = Encoding.UTF8.GetBytes(literal);
        var text = new UrlText(new byte[3 * utf8.Length]);
        if (place == Place.Path)
        {
            text.RawPath(utf8);
        }
        else
        {
            text.Query(utf8);
        }

        return text.Written.ToArray();
    }

    private readonly record struct Part(byte[]? Literal, int Capture, Place Place);

    private enum Place
    {
        Path,
        Query,
        Fragment,
    }
}
