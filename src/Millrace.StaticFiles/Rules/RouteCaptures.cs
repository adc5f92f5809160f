using Millrace.Http;

namespace Millrace.StaticFiles.Rules;

/// <summary>What a route captured of a request: the decoded path, the raw query, and where in which of them each capture lies.</summary>
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
    /// <summary>Bytes as they are.</summary>
    Path,

    /// <summary>A parameter's value, still percent-encoded.</summary>
    Query,
}
