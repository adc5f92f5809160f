namespace Millrace.Http;

/// <summary>
/// Evaluates the conditions of a GET or HEAD whose representation exists, in the order of RFC 9110 section 13.2.2. Do not evaluate them if
/// the response without them would be neither a 2xx nor a 412 (section 13.2.1).
/// </summary>
internal static class Preconditions
{
    public static PreconditionOutcome Evaluate(in ConditionFields fields, in Validators current)
        => !IsExpected(fields, current) ? PreconditionOutcome.Failed
            : !IsNews(fields, current) ? PreconditionOutcome.NotModified
            : PreconditionOutcome.Proceed;

    /// <summary>
    /// Whether Range applies: If-Range is absent or true (RFC 9110 section 13.1.5). If-Range must identify the bytes, so a weak validator
    /// on either side makes it false. So does a value that is neither a single tag nor a date.
    /// </summary>
    public static bool RangeApplies(in ConditionFields fields, in Validators current)
        => fields.IfRange.IsEmpty
            || EntityTags.AreEqual(fields.IfRange, current.EntityTag, TagComparison.Strong)
            || (current.IsDateStrong && TryGetDate(fields.IfRange, current, out long date) && date == current.LastModified);

    // Steps 1 and 2: the client expects this representation, or one at most this new.
    private static bool IsExpected(in ConditionFields fields, in Validators current)
        => !fields.IfMatch.IsEmpty
            ? EntityTags.Matches(fields.IfMatch, current.EntityTag, TagComparison.Strong)
            : !TryGetDate(fields.IfUnmodifiedSince, current, out long date) || current.LastModified <= date;

    // Steps 3 and 4: the client has this representation already.
    private static bool IsNews(in ConditionFields fields, in Validators current)
        => !fields.IfNoneMatch.IsEmpty
            ? !EntityTags.Matches(fields.IfNoneMatch, current.EntityTag, TagComparison.Weak)
            : !TryGetDate(fields.IfModifiedSince, current, out long date) || current.LastModified > date;

    // A condition by date is ignored if its date is not valid, or the representation has none (RFC 9110 sections 13.1.3 and 13.1.4).
    private static bool TryGetDate(ReadOnlySpan<byte> fieldValue, in Validators current, out long date)
    {
        date = 0;
        return !fieldValue.IsEmpty && current.LastModified != Validators.NoDate && HttpDate.TryParse(fieldValue, out date);
    }
}

/// <summary>
/// The values of a request's conditional fields and of Range. An absent field is empty; several lines of one field are joined by ", ".
/// </summary>
internal readonly ref struct ConditionFields
{
    public ReadOnlySpan<byte> IfMatch { get; init; }

    public ReadOnlySpan<byte> IfNoneMatch { get; init; }

    public ReadOnlySpan<byte> IfModifiedSince { get; init; }

    public ReadOnlySpan<byte> IfUnmodifiedSince { get; init; }

    public ReadOnlySpan<byte> IfRange { get; init; }

    public ReadOnlySpan<byte> Range { get; init; }

    /// <summary>Whether a request has none of them, as nearly all requests.</summary>
    public bool IsEmpty =>
        (IfMatch.Length | IfNoneMatch.Length | IfModifiedSince.Length | IfUnmodifiedSince.Length | IfRange.Length | Range.Length) == 0;
}

/// <summary>The result of the preconditions of a GET or HEAD (RFC 9110 section 13.2.2).</summary>
internal enum PreconditionOutcome
{
    /// <summary>Answer as without conditions; for Range see <see cref="Preconditions.RangeApplies"/>.</summary>
    Proceed,

    /// <summary>304.</summary>
    NotModified,

    /// <summary>412.</summary>
    Failed,
}

/// <summary>The validators of the selected representation (RFC 9110 section 8.8), with which its conditions are evaluated.</summary>
internal readonly ref struct Validators
{
    /// <summary>The value for a representation without a modification date.</summary>
    public const long NoDate = long.MinValue;

    /// <summary>As in the field: quoted, with W/ in front if weak; empty if there is none.</summary>
    public required ReadOnlySpan<byte> EntityTag { get; init; }

    /// <summary>In seconds since the Unix epoch, or <see cref="NoDate"/>.</summary>
    public required long LastModified { get; init; }

    /// <summary>Whether no other representation can have existed in the same second (RFC 9110 section 8.8.2.2).</summary>
    public required bool IsDateStrong { get; init; }
}
