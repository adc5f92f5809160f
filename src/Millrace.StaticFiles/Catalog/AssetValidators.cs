using System.Diagnostics.CodeAnalysis;
using Millrace.Http;
using Millrace.StaticFiles.Building;

namespace Millrace.StaticFiles.Catalog;

/// <summary>
/// What a client may know a representation by again (RFC 9110 section 8.8): an entity-tag and a date, each only as far as it can be
/// trusted at the moment the file was looked at.
/// </summary>
internal readonly struct AssetValidators
{
    /// <summary>Reproducible builds (Nix, OSTree, Bazel) set every file to 0 or 1 s after 1970: such a time tells nothing.</summary>
    private const long LastMeaninglessNs = 1_000_000_000;

    /// <summary>RFC 9110 section 8.8.2.2 wants a second between them; a second more covers that both are cut to whole ones.</summary>
    private const long StrongDateAgeNs = 2_000_000_000;

    private readonly EntityTag _tag;
    private readonly bool _hasDate;

    private AssetValidators(EntityTag tag, bool isOfContent, bool hasDate, bool isDateStrong)
    {
        IsOfContent = isOfContent;
        _tag = tag;
        _hasDate = hasDate;
        IsDateStrong = isDateStrong;
    }

    /// <summary>With quotes; empty where there is none.</summary>
    [UnscopedRef]
    public ReadOnlySpan<byte> EntityTag => _tag.Bytes;

    public bool IsDateStrong { get; }

    /// <summary>Whether the tag is made of the bytes.</summary>
    public bool IsOfContent { get; }

    /// <summary>Whether another content had the same size and time before, see <see cref="OfState"/>.</summary>
    public bool IsTimeReused { get; private init; }

    /// <summary>Of a file whose bytes were read.</summary>
    public static AssetValidators OfContent(UInt128 digest, in FileState state, long lookedAtNs) =>
        With(Catalog.EntityTag.OfContent(digest), isOfContent: true, state, lookedAtNs);

    /// <summary>Of a file by its size and time alone.</summary>
    /// <param name="state">The file.</param>
    /// <param name="lookedAtNs">When it was looked at.</param>
    /// <param name="before">
    /// What had its name before. A write and a time set back (touch -r, rsync -t of an equal size) must not look like no change.
    /// </param>
    public static AssetValidators OfState(in FileState state, long lookedAtNs, Asset? before)
    {
        bool isReused = before is not null
            && before.State.Size == state.Size
            && before.State.ModifiedAtNs == state.ModifiedAtNs
            && (before.State != state || before.IsTimeReused);
        bool isWeak = !state.IsSettledAt(lookedAtNs);
        EntityTag tag = state.ModifiedAtNs <= LastMeaninglessNs ? default
            : isReused ? Catalog.EntityTag.OfReusedState(state, isWeak)
            : Catalog.EntityTag.OfState(state, isWeak);
        return With(tag, isOfContent: false, state, lookedAtNs) with { IsTimeReused = isReused };
    }

    /// <summary>Of the same file as a variant in a coding.</summary>
    public AssetValidators For(ContentCoding coding) => new(_tag.For(coding), IsOfContent, _hasDate, IsDateStrong);

    /// <summary>The date in seconds since 1970, or <see cref="Validators.NoDate"/>.</summary>
    public long LastModified(in FileState state) => _hasDate ? state.ModifiedAtNs / 1_000_000_000 : Validators.NoDate;

    private static AssetValidators With(EntityTag tag, bool isOfContent, in FileState state, long lookedAtNs)
    {
        bool hasDate = state.ModifiedAtNs > LastMeaninglessNs && state.ModifiedAtNs <= lookedAtNs;
        return new(tag, isOfContent, hasDate, hasDate && lookedAtNs - state.ModifiedAtNs >= StrongDateAgeNs);
    }
}
