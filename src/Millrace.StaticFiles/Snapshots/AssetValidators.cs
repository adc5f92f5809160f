using System.Diagnostics.CodeAnalysis;
using Millrace.Http;
using Millrace.StaticFiles.Scanning;

namespace Millrace.StaticFiles.Snapshots;

/// <summary>
/// The validators of a representation (RFC 9110 section 8.8): an entity-tag and a date, each only as strong as the state of the file at its
/// stat allows.
/// </summary>
internal readonly struct AssetValidators
{
    /// <summary>
    /// Reproducible builds (Nix, OSTree, Bazel) set every file to 0 or 1 s after 1970; such a time carries no information.
    /// </summary>
    private const long LastMeaninglessNs = 1_000_000_000;

    /// <summary>
    /// RFC 9110 section 8.8.2.2 requires one second between them; one more covers that both are truncated to whole seconds.
    /// </summary>
    private const long StrongDateAgeNs = 2_000_000_000;

    private readonly EntityTag _tag;
    private readonly bool _hasDate;

    private AssetValidators(EntityTag tag, bool isOfContent, bool hasDate)
    {
        IsOfContent = isOfContent;
        _tag = tag;
        _hasDate = hasDate;
    }

    /// <summary>With quotes; empty if there is none.</summary>
    [UnscopedRef]
    public ReadOnlySpan<byte> EntityTag => _tag.Bytes;

    /// <summary>Whether no other content under this name is known to have had this date.</summary>
    public bool IsDateUnique { get; private init; } = true;

    /// <summary>Whether no content under this name is known to have had a later date. Without a date: whether none had one.</summary>
    public bool IsDateLatest { get; init; } = true;

    /// <summary>Whether the tag derives from the bytes.</summary>
    public bool IsOfContent { get; }

    /// <summary>Whether another content had the same size and time before, see <see cref="OfState"/>.</summary>
    public bool IsTimeReused { get; private init; }

    /// <summary>The validators of a file whose bytes were read.</summary>
    /// <param name="digest">The digest of the bytes.</param>
    /// <param name="state">The file.</param>
    /// <param name="checkedAtNs">When its state was taken.</param>
    /// <param name="before">The previous asset of this name, or null.</param>
    public static AssetValidators OfContent(UInt128 digest, in FileState state, long checkedAtNs, Asset? before)
    {
        AssetValidators own = With(Snapshots.EntityTag.OfContent(digest), isOfContent: true, state, checkedAtNs);
        bool isSame = before is { HasTagOfContent: true } && before.EntityTag.SequenceEqual(own.EntityTag);
        return own.After(before, state, isSame);
    }

    /// <summary>The validators of a coding of these bytes, which shares their history.</summary>
    public AssetValidators OfCoded(UInt128 digest, in FileState state, long checkedAtNs) => IsOfUntrueState
        ? OfUntrueState(digest)
        : With(Snapshots.EntityTag.OfContent(digest), isOfContent: true, state, checkedAtNs) with
        {
            IsDateUnique = IsDateUnique,
            IsDateLatest = IsDateLatest,
        };

    /// <summary>Whether the file's state says nothing about its content.</summary>
    public bool IsOfUntrueState { get; private init; }

    /// <summary>The validators of a file whose bytes were read, and whose size and times say nothing about its content.</summary>
    public static AssetValidators OfUntrueState(UInt128 digest) =>
        new(Snapshots.EntityTag.OfContent(digest), isOfContent: true, hasDate: false) { IsOfUntrueState = true };

    /// <summary>The validators of a file by its size and time alone.</summary>
    /// <param name="state">The file.</param>
    /// <param name="checkedAtNs">When its state was taken.</param>
    /// <param name="before">
    /// The previous asset of this name. A write whose time was set back (touch -r, rsync -t of an equal size) must not look unchanged.
    /// </param>
    public static AssetValidators OfState(in FileState state, long checkedAtNs, Asset? before)
    {
        bool isReused = before is not null
            && before.State.Size == state.Size
            && before.State.ModifiedAtNs == state.ModifiedAtNs
            && (before.State != state || before.IsTimeReused);
        bool isWeak = !state.IsSettledAt(checkedAtNs);
        EntityTag tag = state.ModifiedAtNs <= LastMeaninglessNs ? default
            : isReused ? Snapshots.EntityTag.OfReusedState(state, isWeak)
            : Snapshots.EntityTag.OfState(state, isWeak);
        AssetValidators own = With(tag, isOfContent: false, state, checkedAtNs) with { IsTimeReused = isReused };
        return own.After(before, state, isSame: before is not null && before.State == state);
    }

    /// <summary>The validators of the same file as a variant in a coding.</summary>
    public AssetValidators For(ContentCoding coding) => new(_tag.For(coding), IsOfContent, _hasDate)
    {
        IsDateUnique = IsDateUnique,
        IsDateLatest = IsDateLatest,
    };

    /// <summary>
    /// Whether the date is a strong validator at the given time (RFC 9110 section 8.8.2.2): the second it names is over, and only this
    /// content is known to have been served under this name in it. A later change has another date, or is seen and becomes another asset.
    /// </summary>
    public bool IsDateStrongAt(long nowNs, in FileState state) =>
        _hasDate && IsDateUnique && nowNs - state.ModifiedAtNs >= StrongDateAgeNs;

    /// <summary>The date in seconds since 1970, or <see cref="Validators.NoDate"/>.</summary>
    public long LastModified(in FileState state) => _hasDate ? state.ModifiedAtNs / 1_000_000_000 : Validators.NoDate;

    private static AssetValidators With(EntityTag tag, bool isOfContent, in FileState state, long checkedAtNs)
    {
        bool hasDate = state.ModifiedAtNs > LastMeaninglessNs && state.ModifiedAtNs <= checkedAtNs;
        return new(tag, isOfContent, hasDate);
    }

    /// <summary>
    /// These validators given the previous asset of the name. Dates only rise unless somebody sets them back; after that it is unknown
    /// which later dates existed before.
    /// </summary>
    private AssetValidators After(Asset? before, in FileState state, bool isSame)
    {
        if (before is null)
        {
            return this;
        }

        long date = LastModified(state);
        bool isLatest = before.IsDateLatest && date >= before.LastModified;
        return isSame && date == before.LastModified
            ? this with { IsDateUnique = before.IsDateUnique, IsDateLatest = before.IsDateLatest }
            : this with { IsDateUnique = isLatest && date > before.LastModified, IsDateLatest = isLatest };
    }
}
