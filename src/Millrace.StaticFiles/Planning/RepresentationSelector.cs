using Millrace.Http;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// Selects what is sent of a resource: the representation (RFC 9110, section 12), then whether the conditions allow it (section 13.2.2),
/// then its ranges (section 14), because conditions and ranges refer to the selected representation.
/// </summary>
internal static class RepresentationSelector
{
    /// <summary>
    /// Returns the status of the response; the asset becomes the selected variant. The scratch memory receives the ranges of a 206, and the
    /// Content-Range of a 206 or 416.
    /// </summary>
    /// <param name="request">The request.</param>
    /// <param name="asset">The file.</param>
    /// <param name="ofClient">Its variants for the dictionary that the client has, as far as they may be sent.</param>
    /// <param name="scratch">The scratch memory.</param>
    /// <param name="rangeCount">The number of ranges.</param>
    public static int Select(
        scoped in PlanRequest request, ref Asset asset, DictionaryVariants ofClient, PlanScratch scratch, out int rangeCount)
    {
        rangeCount = 0;
        if (!TryNegotiate(request, ref asset, ofClient))
        {
            return PlanStatus.NotAcceptable;
        }

        ConditionFields conditions = request.Conditions;
        if (conditions.IsEmpty)
        {
            return PlanStatus.Ok;
        }

        Validators current = ValidatorsOf(asset, request.UnixSeconds);
        switch (Preconditions.Evaluate(conditions, current))
        {
            case PreconditionOutcome.Failed:
                return PlanStatus.PreconditionFailed;
            case PreconditionOutcome.NotModified:
                return PlanStatus.NotModified;
        }

        // Only GET supports ranges (section 14.2); nginx, Caddy and Apache answer HEAD with 206, which the RFC does not define.
        bool hasRanges = request.Method == Method.Get && !conditions.Range.IsEmpty;
        return hasRanges && Preconditions.RangeApplies(conditions, current)
            ? SelectRanges(conditions.Range, asset.Size, scratch, out rangeCount)
            : PlanStatus.Ok;
    }

    /// <summary>The preferred representation of an error's page; the uncoded one if the client accepts none.</summary>
    public static Asset ForError(Asset page, scoped in PlanRequest request)
    {
        Asset chosen = page;
        return TryChoose(request.AcceptEncoding, ref chosen, ofClient: default) ? chosen : page;
    }

    /// <summary>
    /// A range must be part of the representation whose other parts the client has. If-Range or If-Match names it; without them the uncoded
    /// bytes are the safer choice, as a coded variant may have been added since. A client that already has the variant that would be sent
    /// without Range gets a 304: Range does not change the result of a condition (section 14.2).
    /// </summary>
    private static bool TryNegotiate(scoped in PlanRequest request, ref Asset asset, DictionaryVariants ofClient)
    {
        if (!asset.IsNegotiable)
        {
            // A file with one representation is sent in it, unless the client excludes it.
            return TryChoose(request.AcceptEncoding, ref asset, ofClient: default);
        }

        if (request.Conditions.Range.IsEmpty || request.Method != Method.Get)
        {
            return TryChoose(request.AcceptEncoding, ref asset, ofClient);
        }

        return TryFindByTag(request, ref asset, ofClient)
            || TryFindKnown(request, ref asset, ofClient)
            || AcceptEncoding.TryChoose(request.AcceptEncoding, CodingSet.Identity, out _)
            || TryChoose(request.AcceptEncoding, ref asset, ofClient);
    }

    private static bool TryFindByTag(scoped in PlanRequest request, ref Asset asset, DictionaryVariants ofClient)
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
                && IsNamed(variant, tag, tags)
                && AcceptEncoding.TryChoose(request.AcceptEncoding, ContentCodings.SetOf(coding), out _))
            {
                asset = variant;
                return true;
            }
        }

        Asset? named = IfNamed(request, ofClient.Brotli) ?? IfNamed(request, ofClient.Zstd);
        asset = named ?? asset;
        return named is not null;
    }

    private static Asset? IfNamed(scoped in PlanRequest request, Asset? variant) =>
        variant is not null
        && IsNamed(variant, request.Conditions.IfRange, request.Conditions.IfMatch)
        && AcceptEncoding.PrefersDictionary(request.AcceptEncoding, variant.Coding, variant.Coding)
            ? variant
            : null;

    private static bool IsNamed(Asset variant, scoped ReadOnlySpan<byte> tag, scoped ReadOnlySpan<byte> tags) => tag.IsEmpty
        ? EntityTags.Matches(tags, variant.EntityTag, TagComparison.Strong)
        : tag.SequenceEqual(variant.EntityTag);

    /// <summary>Whether the client has the variant that would be sent without Range.</summary>
    private static bool TryFindKnown(scoped in PlanRequest request, ref Asset asset, DictionaryVariants ofClient)
    {
        ReadOnlySpan<byte> tags = request.Conditions.IfNoneMatch;
        Asset whole = asset;
        if (tags.IsEmpty
            || !TryChoose(request.AcceptEncoding, ref whole, ofClient)
            || !EntityTags.Matches(tags, whole.EntityTag, TagComparison.Weak))
        {
            return false;
        }

        asset = whole;
        return true;
    }

    /// <summary>Chooses a coding that the client accepts: one with its dictionary if it is the smallest and not less wanted.</summary>
    private static bool TryChoose(scoped ReadOnlySpan<byte> acceptEncoding, ref Asset asset, DictionaryVariants ofClient)
    {
        bool isChosen = TryChoosePlain(acceptEncoding, ref asset);
        Asset? plain = isChosen ? asset : null;
        Asset? brotli = InPlaceOf(plain, ofClient.Brotli, acceptEncoding);
        Asset? zstd = InPlaceOf(plain, ofClient.Zstd, acceptEncoding);
        bool isZstd = zstd is not null && (brotli is null || InPlaceOf(brotli, zstd, acceptEncoding) is not null
            || !AcceptEncoding.PrefersDictionary(acceptEncoding, brotli.Coding, zstd.Coding));
        if ((isZstd ? zstd : brotli) is not { } chosen)
        {
            return isChosen;
        }

        asset = chosen;
        return true;
    }

    /// <summary>A variant for a dictionary, if it is smaller than what else would be sent, and not less wanted; null otherwise.</summary>
    private static Asset? InPlaceOf(Asset? other, Asset? variant, scoped ReadOnlySpan<byte> acceptEncoding) =>
        variant is not null
        && (other is null || variant.Size < other.Size)
        && AcceptEncoding.PrefersDictionary(acceptEncoding, variant.Coding, (other ?? variant).Coding)
            ? variant
            : null;

    private static bool TryChoosePlain(scoped ReadOnlySpan<byte> acceptEncoding, ref Asset asset)
    {
        // A file that has the coding of its own name exists in no other.
        if (acceptEncoding.IsEmpty || asset.Coding != ContentCoding.Identity)
        {
            return true;
        }

        // Otherwise a file that is requested by its own name has no coding, whatever its content is: "app.js.gz" is a gzip file.
        if (!AcceptEncoding.TryChoose(acceptEncoding, asset.Codings, asset.PreferredCodings, out ContentCoding coding))
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

    private static Validators ValidatorsOf(Asset asset, long unixSeconds) => new()
    {
        EntityTag = asset.EntityTag,
        LastModified = asset.LastModified,
        IsDateStrong = asset.IsDateStrongAt(unixSeconds * 1_000_000_000),
    };
}
