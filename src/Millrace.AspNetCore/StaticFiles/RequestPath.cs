using System.Buffers;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Millrace.Http;

namespace Millrace.AspNetCore.StaticFiles;

/// <summary>
/// The path of a request below its PathBase, percent-encoded as it was sent. The server below has decoded it already, after rules of its
/// own (it resolves ".." before anybody sees them, and keeps "%2F"): so the target itself is read, and decoded as everywhere in Millrace.
/// Where a middleware has changed the path, that one holds.
/// </summary>
internal static class RequestPath
{
    /// <summary>What a decoded path is encoded back to: pchar and '/'.</summary>
    private static readonly SearchValues<byte> PathBytes =
        SearchValues.Create("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/"u8);

    /// <summary>Gives the path in the memory of <paramref name="text"/>; false where the target cannot be one.</summary>
    public static bool TryRead(HttpRequest request, RequestText text, out ReadOnlySpan<byte> path)
    {
        string target = request.HttpContext.Features.Get<IHttpRequestFeature>()?.RawTarget ?? "";
        ReadOnlySpan<char> sent = PathOf(target);
        ReadOnlySpan<char> pathBase = request.PathBase.Value;
        ReadOnlySpan<char> known = request.Path.Value;
        if (IsPlain(sent))
        {
            // Nearly all: nothing to decode, so what the server made of it says whether somebody changed it since.
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
        bool isChanged = !IsDecoded(path, understood, text) && ServerPath.Decode(sent) != understood;
        path = isChanged || !TryCountBase(path, pathBase, out int baseBytes) ? Encode(known, text) : path[baseBytes..];
        return true;
    }

    /// <summary>The path in a target: up to its query, and behind the authority of an absolute form (RFC 9112, section 3.2).</summary>
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

    /// <summary>Whether the path that was sent, decoded by our rules, is this.</summary>
    private static bool IsDecoded(ReadOnlySpan<byte> sent, string understood, RequestText text) =>
        TargetPath.Decode(sent, text.Reserve(sent.Length), out ReadOnlySpan<byte> decoded) == PathResult.Ok
        && decoded.SequenceEqual(text.Add(understood));

    /// <summary>
    /// How much of the path as it was sent is the base: as many segments as that has. Not where dot segments may have led there.
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

    private static ReadOnlySpan<byte> Encode(ReadOnlySpan<char> decoded, RequestText text)
    {
        ReadOnlySpan<byte> bytes = text.Add(decoded);
        Span<byte> room = text.Reserve(bytes.Length * PercentEncoding.BytesMaxPerByte);
        return room[..PercentEncoding.Encode(bytes, PathBytes, room)];
    }
}
