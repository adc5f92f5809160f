using Microsoft.AspNetCore.Http;
using Millrace.Http;
using Millrace.Interop;
using Millrace.StaticFiles.Planning;

namespace Millrace.AspNetCore.StaticFiles;

/// <summary>
/// Scratch memory for planning one request: the planner's, and the request's fields as bytes. One per thread, as nothing is awaited between
/// reading a request and writing the head of its response.
/// </summary>
internal sealed class PlanThreadState
{
    [ThreadStatic]
    private static PlanThreadState? Current;

    private readonly Boundary _boundary = new(KernelRandom.NextUInt64());

    public static PlanThreadState OfThisThread => Current ??= new PlanThreadState();

    public PlanScratch Scratch { get; } = new();

    public RequestText Text { get; } = new();

    public byte[] NextBoundary() => _boundary.Next();

    /// <summary>Converts the request for the planner, in the memory of <see cref="Text"/>; false if its target is not valid.</summary>
    public bool TryRead(HttpRequest request, out PlanRequest result)
    {
        Text.Reset();
        result = default;
        if (!RequestPath.TryRead(request, Text, out ReadOnlySpan<byte> path))
        {
            return false;
        }

        IHeaderDictionary fields = request.Headers;
        ReadOnlySpan<byte> query = Text.Add(request.QueryString.Value);
        if (query.ContainsAnyExcept(ByteClasses.Target))
        {
            return false;
        }

        result = new PlanRequest
        {
            Method = Methods.Of(Text.Add(request.Method)),
            Path = path,
            Query = query.IsEmpty ? query : query[1..],
            Base = path.IsEmpty ? Text.Add(LastSegment(request.PathBase.Value)) : default,
            Conditions = new ConditionFields
            {
                IfMatch = Text.Add(fields.IfMatch),
                IfNoneMatch = Text.Add(fields.IfNoneMatch),
                IfModifiedSince = Text.Add(fields.IfModifiedSince),
                IfUnmodifiedSince = Text.Add(fields.IfUnmodifiedSince),
                IfRange = Text.Add(fields.IfRange),
                Range = Text.Add(fields.Range),
            },
            Accept = Text.Add(fields.Accept),
            AcceptEncoding = Text.Add(fields.AcceptEncoding),
            Origin = Text.Add(fields.Origin),
            AccessControlRequestMethod = Text.Add(fields.AccessControlRequestMethod),
            UnixSeconds = fields.IfRange.Count > 0 ? DateTimeOffset.UtcNow.ToUnixTimeSeconds() : 0,
        };
        return true;
    }

    /// <summary>Converts what decides about dictionaries.</summary>
    public DictionaryFields ReadDictionary(HttpRequest request) => new()
    {
        // Patterns of dictionaries are about paths from the root: a site below it has none.
        IsHttps = request is { IsHttps: true, PathBase.HasValue: false },
        Available = Text.Add(request.Headers["Available-Dictionary"]),
        SecFetchMode = Text.Add(request.Headers["Sec-Fetch-Mode"]),
        SecFetchSite = Text.Add(request.Headers["Sec-Fetch-Site"]),
    };

    /// <summary>Empty if the base ends with a slash: then no slash is missing.</summary>
    private static ReadOnlySpan<char> LastSegment(ReadOnlySpan<char> pathBase) => pathBase[(pathBase.LastIndexOf('/') + 1)..];
}
