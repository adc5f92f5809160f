using Millrace.Http;

namespace Millrace.StaticFiles.Rules;

/// <summary>
/// The captures of a route in a request: the decoded path, the raw query, and the position of each capture in one of them.
/// </summary>
internal readonly ref struct RouteCaptures(ReadOnlySpan<byte> path, ReadOnlySpan<byte> query, ReadOnlySpan<TextRange> ranges, int inPath)
{
    private readonly ReadOnlySpan<byte> _path = path;
    private readonly ReadOnlySpan<byte> _query = query;
    private readonly ReadOnlySpan<TextRange> _ranges = ranges;

    public CaptureSource SourceOf(int capture) => capture < inPath ? CaptureSource.Path : CaptureSource.Query;

    public ReadOnlySpan<byte> this[int capture] => _ranges[capture].In(capture < inPath ? _path : _query);
}

internal enum CaptureSource
{
    /// <summary>Decoded bytes of the path.</summary>
    Path,

    /// <summary>A parameter's value, still percent-encoded.</summary>
    Query,
}
