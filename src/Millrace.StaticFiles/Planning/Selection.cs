using Millrace.Http;
using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// Selects what of a resource is sent: the representation (RFC 9110, section 12), whether the conditions allow it (section 13.2.2), and
/// its ranges (section 14). In this order, as conditions and ranges are about the representation selected.
/// </summary>
internal static class Selection
{
    /// <summary>The status of the answer; the asset becomes the variant it is about.</summary>
    /// <param name="request">The request.</param>
    /// <param name="asset">In: the file found. Out: the representation of it.</param>
    /// <param name="scratch">Takes the ranges of a 206 and the Content-Range of a 206 or 416.</param>
    /// <param name="rangeCount">How many ranges a 206 has.</param>
    public static int Select(scoped in PlanRequest request, ref Asset asset, PlanScratch scratch, out int rangeCount)
    {
        rangeCount = 0;
        if (!TryNegotiate(request, ref asset))
        {
            return PlanStatus.NotAcceptable;
        }

        ConditionFields conditions = request.Conditions;
        if (conditions.IsEmpty)
        {
            return PlanStatus.Ok;
        }

        Validators current = ValidatorsOf(asset);
        switch (Preconditions.Evaluate(conditions, current))
        {
            case PreconditionOutcome.Failed:
                return PlanStatus.PreconditionFailed;
            case PreconditionOutcome.NotModified:
                return PlanStatus.NotModified;
        }

        // Only GET has ranges (section 14.2): nginx, Caddy and Apache answer HEAD with 206, which nothing defines.
        bool hasRanges = request.Method == RequestMethod.Get && !conditions.Range.IsEmpty;
        return hasRanges && Preconditions.RangeApplies(conditions, current)
            ? SelectRanges(conditions.Range, asset.Size, scratch, out rangeCount)
            : PlanStatus.Ok;
    }

    /// <summary>The representation of an error's page that the client likes best; the plain one where it likes none.</summary>
    public static Asset ForError(Asset page, scoped in PlanRequest request)
    {
        Asset chosen = page;
        return TryChoose(request.AcceptEncoding, ref chosen) ? chosen : page;
    }

    /// <summary>
    /// A part belongs to the representation the client has others of. If-Range names that one, or If-Match does; without them the plain
    /// bytes are the safer choice, as a coded variant may have come since. But a client that has what would be sent whole is told so:
    /// Range does not change what a condition says (section 14.2).
    /// </summary>
    private static bool TryNegotiate(scoped in PlanRequest request, ref Asset asset)
    {
        if (!asset.IsNegotiable)
        {
            // What has one form is sent in it, unless the client rules that out.
            return TryChoose(request.AcceptEncoding, ref asset);
        }

        if (request.Conditions.Range.IsEmpty || request.Method != RequestMethod.Get)
        {
            return TryChoose(request.AcceptEncoding, ref asset);
        }

        return TryFindByTag(request, ref asset)
            || TryFindKnown(request, ref asset)
            || AcceptEncoding.TryChoose(request.AcceptEncoding, CodingSet.Identity, out _)
            || TryChoose(request.AcceptEncoding, ref asset);
    }

    private static bool TryFindByTag(scoped in PlanRequest request, ref Asset asset)
    {
        ReadOnlySpan<byte> tag = request.Conditions.IfRange;
        ReadOnlySpan<byte> tags = request.Conditions.IfMatch;
        if (tag.IsEmpty && (tags.IsEmpty || tags.SequenceEqual("*"u8)))
        {
            return false;
        }

        for (ContentCoding coding = ContentCoding.Identity; coding <= ContentCoding.Zstd; coding++)
        {
            if (asset.VariantFor(coding) is Asset variant
                && (tag.IsEmpty
                    ? EntityTags.Matches(tags, variant.EntityTag, TagComparison.Strong)
                    : tag.SequenceEqual(variant.EntityTag))
                && AcceptEncoding.TryChoose(request.AcceptEncoding, ContentCodings.SetOf(coding), out _))
            {
                asset = variant;
                return true;
            }
        }

        return false;
    }

    /// <summary>Whether the client has the variant that would be sent without Range.</summary>
    private static bool TryFindKnown(scoped in PlanRequest request, ref Asset asset)
    {
        ReadOnlySpan<byte> tags = request.Conditions.IfNoneMatch;
        Asset whole = asset;
        if (tags.IsEmpty
            || !TryChoose(request.AcceptEncoding, ref whole)
            || !EntityTags.Matches(tags, whole.EntityTag, TagComparison.Weak))
        {
            return false;
        }

        asset = whole;
        return true;
    }

    private static bool TryChoose(scoped ReadOnlySpan<byte> acceptEncoding, ref Asset asset)
    {
        if (acceptEncoding.IsEmpty)
        {
            return true;
        }

        // A file asked for by its own name has no coding, whatever is in it: "app.js.gz" is a gzip file.
        if (!AcceptEncoding.TryChoose(acceptEncoding, asset.Codings, out ContentCoding coding))
        {
            return false;
        }

        asset = asset.VariantFor(coding) ?? asset;
        return true;
    }

    private static int SelectRanges(scoped ReadOnlySpan<byte> range, long size, PlanScratch scratch, out int rangeCount)
    {
        Span<byte> value = scratch.ValueRoom(ContentRange.MaxBytes);
        switch (ByteRanges.Select(range, size, scratch.Ranges, out rangeCount))
        {
            case RangeOutcome.Partial:
                if (rangeCount == 1)
                {
                    scratch.Commit(PlanFieldName.ContentRange, ContentRange.Write(value, scratch.Ranges[0], size));
                }

                return PlanStatus.PartialContent;
            case RangeOutcome.Unsatisfiable:
                scratch.Commit(PlanFieldName.ContentRange, ContentRange.WriteUnsatisfied(value, size));
                return PlanStatus.RangeNotSatisfiable;
            default:
                return PlanStatus.Ok;
        }
    }

    private static Validators ValidatorsOf(Asset asset) => new()
    {
        EntityTag = asset.EntityTag,
        LastModified = asset.LastModified,
        IsDateStrong = asset.IsDateStrong,
    };
}
