using System.Diagnostics;

namespace Millrace.Http;

/// <summary>
/// Converts the path of a request target: percent-decoded exactly once, split, dot segments resolved (RFC 3986 sections 5.2.4 and 6.2.2).
/// The result is absolute and may contain any bytes but NUL; backslashes are ordinary bytes.
/// </summary>
/// <remarks>
/// If several results apply, the first in the order of <see cref="PathResult"/> is returned. A "//" that a later ".." removes does not
/// count.
/// </remarks>
internal static class TargetPath
{
    /// <summary>
    /// Returns the decoded path: the input itself if nothing had to change, else a part of <paramref name="destination"/>, which must be as
    /// long as the input. An empty path means "/" (RFC 9110 section 4.2.3); any other starts with a slash.
    /// </summary>
    public static PathResult Decode(ReadOnlySpan<byte> rawPath, Span<byte> destination, out ReadOnlySpan<byte> path)
    {
        Debug.Assert(rawPath.IsEmpty || rawPath[0] == '/');
        path = rawPath.IsEmpty ? "/"u8 : rawPath;
        if (!path.Contains((byte)'%') && path.IndexOf("/."u8) < 0)
        {
            return path.IndexOf("//"u8) < 0 ? PathResult.Ok : PathResult.EmptySegment;
        }

        ArgumentOutOfRangeException.ThrowIfLessThan(destination.Length, rawPath.Length);
        path = default;
        PathResult escapes = DecodeEscapes(rawPath, destination, out int decodedBytes);
        if (escapes != PathResult.Ok)
        {
            return escapes;
        }

        int bytes = ResolveDots(destination[..decodedBytes]);
        if (bytes < 0)
        {
            return PathResult.OutsideRoot;
        }

        path = destination[..bytes];
        return path.IndexOf("//"u8) < 0 ? PathResult.Ok : PathResult.EmptySegment;
    }

    /// <summary>
    /// Writes a decoded path with each run of slashes merged into one, and returns its length. The destination is as long, and may be the
    /// path's own memory.
    /// </summary>
    public static int MergeSlashes(ReadOnlySpan<byte> path, Span<byte> destination)
    {
        int written = 0;
        byte before = 0;
        foreach (byte value in path)
        {
            if (value != '/' || before != '/')
            {
                destination[written++] = value;
            }

            before = value;
        }

        return written;
    }

    /// <summary>
    /// Whether a path has a "." or ".." segment, encoded or not. Encoded slashes count as slashes here: some readers split there, to which
    /// such a segment means another place than to the others.
    /// </summary>
    public static bool HasDotSegment(ReadOnlySpan<byte> rawPath)
    {
        if (!rawPath.Contains((byte)'%') && rawPath.IndexOf("/."u8) < 0)
        {
            return false;
        }

        int dots = 0;
        int others = 1;
        for (int at = 0; at < rawPath.Length; at++)
        {
            int decoded = rawPath[at] == '%' ? PercentEncoding.ByteAt(rawPath, at) : rawPath[at];
            at += rawPath[at] == '%' && decoded >= 0 ? 2 : 0;
            if (decoded != '/')
            {
                dots += decoded == '.' ? 1 : 0;
                others += decoded == '.' ? 0 : 1;
                continue;
            }

            if (others == 0 && dots is 1 or 2)
            {
                return true;
            }

            dots = others = 0;
        }

        return others == 0 && dots is 1 or 2;
    }

    /// <summary>
    /// Decodes a path of <see cref="PathResult.SlashInSegment"/> for rules, which see an encoded slash as a slash, as most applications do.
    /// False if it has a dot segment. The destination is as long as the path.
    /// </summary>
    public static bool TryDecodeSlashes(ReadOnlySpan<byte> rawPath, Span<byte> destination, out ReadOnlySpan<byte> path)
    {
        _ = DecodeEscapes(rawPath, destination, out int bytes);
        path = destination[..bytes];
        return !HasDotSegment(rawPath);
    }

    private static PathResult DecodeEscapes(ReadOnlySpan<byte> raw, Span<byte> destination, out int bytes)
    {
        bytes = 0;
        bool hasNul = false;
        bool hasSlash = false;
        for (int at = 0; at < raw.Length; at++)
        {
            byte value = raw[at];
            if (value == '%')
            {
                int decoded = PercentEncoding.ByteAt(raw, at);
                if (decoded < 0)
                {
                    return PathResult.BadEscape;
                }

                value = (byte)decoded;
                at += 2;
                hasNul |= value == 0;
                hasSlash |= value == '/';
            }

            destination[bytes++] = value;
        }

        return hasNul ? PathResult.NulByte
            : hasSlash ? PathResult.SlashInSegment
            : PathResult.Ok;
    }

    /// <summary>Removes "." and ".." segments in place. Returns the remaining length, or -1 if ".." leads above the root.</summary>
    private static int ResolveDots(Span<byte> path)
    {
        int written = 0;
        int at = 0;
        while (at < path.Length)
        {
            // path[at] is the slash that opens a segment.
            int next = path[(at + 1)..].IndexOf((byte)'/');
            int end = next < 0 ? path.Length : at + 1 + next;
            ReadOnlySpan<byte> segment = path[(at + 1)..end];
            bool isParent = segment.SequenceEqual(".."u8);
            if (isParent || segment.SequenceEqual("."u8))
            {
                if (isParent && written == 0)
                {
                    return -1;
                }

                written = isParent ? path[..written].LastIndexOf((byte)'/') : written;
                if (end == path.Length)
                {
                    // A final dot segment leaves a directory.
                    path[written++] = (byte)'/';
                }
            }
            else
            {
                path[at..end].CopyTo(path[written..]);
                written += end - at;
            }

            at = end;
        }

        return written;
    }
}

/// <summary>The result of decoding a path.</summary>
internal enum PathResult : byte
{
    /// <summary>A path that may name a file: no escapes, no dot segments, no empty segments.</summary>
    Ok,

    /// <summary>A '%' without two hexadecimal digits after it: 400.</summary>
    BadEscape,

    /// <summary>A "%00", which would end the name for the kernel: 400.</summary>
    NulByte,

    /// <summary>A "%2F": data inside a segment, and no file name contains a slash: 404. It never becomes a separator.</summary>
    SlashInSegment,

    /// <summary>More ".." than segments before them: 400. RFC 3986 would stop at the root, but only an attacker sends this.</summary>
    OutsideRoot,

    /// <summary>A "//": an empty segment names no file: 404. Merging would give one file many URLs. The path is still returned.</summary>
    EmptySegment,
}
