using Millrace.Http;

namespace Millrace.Models;

/// <summary>The steps of RFC 9110 section 13.2.2, written down one after the other, over strings and regular expressions.</summary>
internal static class ReferenceConditions
{
    public static PreconditionOutcome Evaluate(Conditional request)
    {
        int step = 1;
        while (true)
        {
            switch (step)
            {
                // "1. When recipient is the origin server and If-Match is present, evaluate the If-Match precondition:
                // if true, continue to step 3; if false, respond 412"
                case 1 when request.IfMatch is not null:
                    if (!Matches(request.IfMatch, request.Tag, isStrong: true))
                    {
                        return PreconditionOutcome.Failed;
                    }

                    step = 3;
                    break;

                // "2. When ... If-Match is not present, and If-Unmodified-Since is present, evaluate the If-Unmodified-Since
                // precondition: if true, continue to step 3; if false, respond 412"
                case 2 when request.IfMatch is null && DateOf(request.IfUnmodifiedSince, request) is { } date:
                    if (request.LastModified > date)
                    {
                        return PreconditionOutcome.Failed;
                    }

                    step = 3;
                    break;

                // "3. When If-None-Match is present, evaluate the If-None-Match precondition:
                // if true, continue to step 5; if false for GET/HEAD, respond 304"
                case 3 when request.IfNoneMatch is not null:
                    if (Matches(request.IfNoneMatch, request.Tag, isStrong: false))
                    {
                        return PreconditionOutcome.NotModified;
                    }

                    step = 5;
                    break;

                // "4. When the method is GET or HEAD, If-None-Match is not present, and If-Modified-Since is present, evaluate the
                // If-Modified-Since precondition: if true, continue to step 5; if false, respond 304"
                case 4 when request.IfNoneMatch is null && DateOf(request.IfModifiedSince, request) is { } date:
                    if (request.LastModified <= date)
                    {
                        return PreconditionOutcome.NotModified;
                    }

                    step = 5;
                    break;

                // Step 5 is If-Range, which another method asks for.
                case 5:
                    return PreconditionOutcome.Proceed;

                default:
                    step++;
                    break;
            }
        }
    }

    public static bool RangeApplies(Conditional request)
    {
        if (request.IfRange is null)
        {
            return true;
        }

        // "A valid entity-tag can be distinguished from a valid HTTP-date by examining the first three characters for a DQUOTE."
        return request.IfRange[..Math.Min(3, request.IfRange.Length)].Contains('"', StringComparison.Ordinal)
            ? ReferenceEntityTags.IsTag(request.IfRange) && ReferenceEntityTags.AreEqual(request.IfRange, request.Tag, isStrong: true)
            : request.IsDateStrong && DateOf(request.IfRange, request) == request.LastModified;
    }

    private static bool Matches(string value, string current, bool isStrong)
        => value == "*" || (ReferenceEntityTags.Read(value) is { } tags && tags.Exists(tag => ReferenceEntityTags.AreEqual(tag, current, isStrong)));

    private static long? DateOf(string? text, Conditional request)
        => text is null || request.LastModified == Validators.NoDate
            ? null
            : ReferenceDate.Read(text, DateTimeOffset.UtcNow.ToUnixTimeSeconds());
}
