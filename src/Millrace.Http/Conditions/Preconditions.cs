namespace Millrace.Http;

/// <summary>
/// Judges the conditions of a GET or HEAD whose representation exists, in the order of RFC 9110 section 13.2.2. They are not to be
/// asked where the answer without them would be neither a 2xx nor a 412 (section 13.2.1).
/// </summary>
internal static class Preconditions
{
    public static PreconditionOutcome Evaluate(in ConditionFields fields, in Validators current)
        => !IsExpected(fields, current) ? PreconditionOutcome.Failed
            : !IsNews(fields, current) ? PreconditionOutcome.NotModified
            : PreconditionOutcome.Proceed;

    /// <summary>
    /// Whether Range may be heeded: If-Range is absent or true (RFC 9110 section 13.1.5). What it says must identify the bytes, so
    /// a weak validator, of either side, makes it false. So does a value that is no single tag and no date.
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

    // A condition by date is ignored if it is no date, or the representation has none (RFC 9110 sections 13.1.3 and 13.1.4).
    private static bool TryGetDate(ReadOnlySpan<byte> fieldValue, in Validators current, out long date)
    {
        date = 0;
        return !fieldValue.IsEmpty && current.LastModified != Validators.NoDate && HttpDate.TryParse(fieldValue, out date);
    }
}
