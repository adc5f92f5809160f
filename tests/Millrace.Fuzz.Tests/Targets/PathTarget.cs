using Millrace.Fuzz.Tests.Kit;
using Millrace.Http;

namespace Millrace.Fuzz.Tests.Targets;

/// <summary>Paths of targets (RFC 3986 sections 5.2.4 and 6.2.2): whatever is asked for, nothing leads out.</summary>
internal sealed class PathTarget : FuzzTarget
{
    private readonly GuardedMemory _destination = new(4096);

    public override string Name => "path";

    public override int OutcomesMin => 6;

    public override IReadOnlyList<string> Words =>
    [
        "/", "//", "/.", "/..", "/./", "/../", "%2e", "%2E", "%2f", "%5c", "%00", "%", "%4", "%zz", "%25", "%252e", "..;", "\\", "...",
        "a", "é", "%c0%ae", "\0", "/.well-known", "?", "#",
    ];

    public override byte[] Generate(Random random)
    {
        IEnumerable<string> pieces = Enumerable.Range(0, random.Next(12)).Select(_ =>
            random.Pick("/", "/", ".", "..", "%2e", "%2E.", "a", "bc", "\\", "%41", "%20", "%25", "+", "%ff", "/.", "/../", "//", "%2f", "%00", "%"));
        return Latin1.Bytes("/" + string.Concat(pieces));
    }

    public override string Check(ReadOnlySpan<byte> input)
    {
        // What has no slash in front is no path: the parser never hands it over.
        ReadOnlySpan<byte> raw = input.IsEmpty || input[0] == '/' ? input : default;
        PathResult result = TargetPath.Decode(raw, _destination.Take(raw.Length), out ReadOnlySpan<byte> path);
        string decoded = Latin1.Text(path);
        Agree($"{ReferencePath.Decode(Latin1.Text(raw))}", $"{(result, path.IsEmpty ? null : decoded)}", "path");
        if (result is not (PathResult.Ok or PathResult.EmptySegment))
        {
            return $"{result}";
        }

        string[] segments = decoded.Split('/');
        Require(segments[0] == "" && segments.Length > 1, "a path does not begin with a slash");
        Require(!segments.Contains(".") && !segments.Contains(".."), "a dot segment is left");
        Require(result == PathResult.EmptySegment || !segments.AsSpan(1, segments.Length - 2).Contains(""), "an empty segment is left");

        if (!decoded.Contains('\0'))
        {
            CheckRoundTrip(decoded, result);
        }

        return $"{result} {Math.Min(segments.Length, 4)} {path.Overlaps(raw)}";
    }

    /// <summary>A path percent-encoded again is the same path: decoding happens once.</summary>
    private void CheckRoundTrip(string decoded, PathResult result)
    {
        byte[] encoded = Latin1.Bytes(string.Concat(decoded.Select(letter => letter == '/' ? "/" : $"%{(int)letter:X2}")));
        PathResult again = TargetPath.Decode(encoded, _destination.Take(encoded.Length), out ReadOnlySpan<byte> path);
        Agree($"{result} {decoded}", $"{again} {Latin1.Text(path)}", "encoded anew");
    }
}
