using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Millrace.Http;

namespace Millrace.AspNetCore.StaticFiles;

/// <summary>
/// The path of a request below its PathBase, percent-encoded as it was sent. The server has decoded it by rules of its own (it resolves
/// ".." before middleware runs, and keeps "%2F"), so the raw target is read, and decoded as everywhere in Millrace. If middleware has
/// changed the path, the changed path is used.
/// </summary>
internal static class RequestPath
{
    /// <summary>Returns the path in the memory of <paramref name="text"/>; false if the target is not valid.</summary>
    public static bool TryRead(HttpRequest request, RequestText text, out ReadOnlySpan<byte> path)
    {
        string target = request.HttpContext.Features.Get<IHttpRequestFeature>()?.RawTarget ?? "";
        ReadOnlySpan<char> sent = PathOf(target);
        ReadOnlySpan<char> pathBase = request.PathBase.Value;
        ReadOnlySpan<char> known = request.Path.Value;
        if (IsPlain(sent))
        {
            // The common case: nothing to decode, so the server's path shows whether middleware has changed it since.
            bool isAsSent = sent.Length == pathBase.Length + known.Length && sent.StartsWith(pathBase) && sent.EndsWith(known);
            path = isAsSent ? text.Add(sent[pathBase.Length..]) : Encode(known, text);
            return !path.ContainsAnyExcept(ByteClasses.Target);
        }

        path = text.Add(sent);
        if (path[0] != '/' || path.ContainsAnyExcept(ByteClasses.Target))
        {
            return false;
        }

        string understood = pathBase.IsEmpty ? request.Path.Value ?? "" : string.Concat(pathBase, known);
        bool isChanged = !IsDecoded(path, understood, text) && DecodeAsServer(sent) != understood;
        path = isChanged || !TryCountBase(path, pathBase, out int baseBytes) ? Encode(known, text) : path[baseBytes..];
        return true;
    }

    /// <summary>The path of a target: up to its query, and after the authority of an absolute form (RFC 9112, section 3.2).</summary>
    private static ReadOnlySpan<char> PathOf(ReadOnlySpan<char> target)
    {
        int query = target.IndexOf('?');
        ReadOnlySpan<char> path = query < 0 ? target : target[..query];
        int authority = path is ['/', ..] ? -1 : path.IndexOf("://");
        if (authority >= 0)
        {
            int slash = path[(authority + 3)..].IndexOf('/');
            path = slash < 0 ? "/" : path[(authority + 3 + slash)..];
        }

        return path is "*" ? default : path;
    }

    private static bool IsPlain(ReadOnlySpan<char> path) => !path.Contains('%') && path.IndexOf("/.") < 0;

    /// <summary>Whether the path as sent, decoded by Millrace's rules, equals this path.</summary>
    private static bool IsDecoded(ReadOnlySpan<byte> sent, string understood, RequestText text) =>
        TargetPath.Decode(sent, text.Reserve(sent.Length), out ReadOnlySpan<byte> decoded) == PathResult.Ok
        && decoded.SequenceEqual(text.Add(understood));

    /// <summary>
    /// Counts the bytes of the sent path that are the base: as many segments as the base has. False if dot segments may have led there.
    /// </summary>
    private static bool TryCountBase(ReadOnlySpan<byte> sent, ReadOnlySpan<char> pathBase, out int bytes)
    {
        bytes = 0;
        if (pathBase.IsEmpty)
        {
            return true;
        }

        for (int segments = pathBase.Count('/'); segments > 0 && bytes < sent.Length; segments--)
        {
            int next = sent[(bytes + 1)..].IndexOf((byte)'/');
            bytes = next < 0 ? sent.Length : bytes + 1 + next;
        }

        return sent.IndexOf("/."u8) < 0 && sent.IndexOf("%2e"u8) < 0 && sent.IndexOf("%2E"u8) < 0;
    }

    /// <summary>
    /// Decodes a path as ASP.NET Core's servers do: an invalid escape and "%2F" stay unchanged; then dot segments are resolved, and those
    /// that lead above the root are dropped.
    /// </summary>
    private static string DecodeAsServer(ReadOnlySpan<char> path)
    {
        string decoded = PathString.FromUriComponent(path.ToString()).Value ?? "";
        var segments = new List<string>();
        string[] read = decoded.Split('/')[1..];
        for (int i = 0; i < read.Length; i++)
        {
            bool isDots = read[i] is "." or "..";
            if (read[i] == ".." && segments.Count > 0)
            {
                segments.RemoveAt(segments.Count - 1);
            }

            if (!isDots)
            {
                segments.Add(read[i]);
            }
            else if (i == read.Length - 1)
            {
                segments.Add("");
            }
        }

        return "/" + string.Join('/', segments);
    }

    private static ReadOnlySpan<byte> Encode(ReadOnlySpan<char> decoded, RequestText text)
    {
        ReadOnlySpan<byte> bytes = text.Add(decoded);
        Span<byte> room = text.Reserve(bytes.Length * PercentEncoding.BytesMaxPerByte);
        return room[..PercentEncoding.Encode(bytes, ByteClasses.Path, room)];
    }
}
