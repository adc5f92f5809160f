using Millrace.Http;

namespace Millrace.Models;

/// <summary>Conditions written as strings, checked for a representation written as one; null is a field that is not there.</summary>
internal sealed record Conditional
{
    public const long Modified = 784111777;
    public const string Equal = "Sun, 06 Nov 1994 08:49:37 GMT";
    public const string Earlier = "Sun, 06 Nov 1994 08:49:36 GMT";
    public const string Later = "Sun, 06 Nov 1994 08:49:38 GMT";

    public string? IfMatch { get; init; }

    public string? IfUnmodifiedSince { get; init; }

    public string? IfNoneMatch { get; init; }

    public string? IfModifiedSince { get; init; }

    public string? IfRange { get; init; }

    public string Tag { get; init; } = "\"x\"";

    public long LastModified { get; init; } = Modified;

    public bool IsDateStrong { get; init; } = true;

    public PreconditionOutcome Evaluate() => Preconditions.Evaluate(Fields(), Current());

    public int Status() => Evaluate() switch
    {
        PreconditionOutcome.Failed => 412,
        PreconditionOutcome.NotModified => 304,
        _ => 200,
    };

    public bool RangeApplies() => Preconditions.RangeApplies(Fields(), Current());

    private ConditionFields Fields() => new()
    {
        IfMatch = Latin1.Bytes(IfMatch ?? ""),
        IfUnmodifiedSince = Latin1.Bytes(IfUnmodifiedSince ?? ""),
        IfNoneMatch = Latin1.Bytes(IfNoneMatch ?? ""),
        IfModifiedSince = Latin1.Bytes(IfModifiedSince ?? ""),
        IfRange = Latin1.Bytes(IfRange ?? ""),
        Range = "bytes=0-0"u8,
    };

    private Validators Current() => new()
    {
        EntityTag = Latin1.Bytes(Tag),
        LastModified = LastModified,
        IsDateStrong = IsDateStrong,
    };
}
