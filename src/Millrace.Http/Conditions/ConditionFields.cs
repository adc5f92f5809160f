namespace Millrace.Http;

/// <summary>
/// The values of a request's conditional fields and of Range, which one of them guards. An absent field is empty; several lines of
/// one field are joined by ", ".
/// </summary>
internal readonly ref struct ConditionFields
{
    public ReadOnlySpan<byte> IfMatch { get; init; }

    public ReadOnlySpan<byte> IfNoneMatch { get; init; }

    public ReadOnlySpan<byte> IfModifiedSince { get; init; }

    public ReadOnlySpan<byte> IfUnmodifiedSince { get; init; }

    public ReadOnlySpan<byte> IfRange { get; init; }

    public ReadOnlySpan<byte> Range { get; init; }
}
